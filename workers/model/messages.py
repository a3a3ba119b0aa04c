"""Messages in the form of OpenAI's chat completions: plain JSON objects, made by small functions."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import JsonValue

from shared.models import JsonObject

if TYPE_CHECKING:
    from workers.model.reply import Reply, ToolCall

_SIGNATURES = ((b"\x89PNG", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))


def system(text: str) -> JsonObject:
    """What the model is told before everything else."""
    return {"role": "system", "content": text}


def user(text: str, images: Sequence[bytes] = ()) -> JsonObject:
    """What the model is asked.

    Args:
        images: PNG, JPEG, GIF or WebP files, sent inside the message (base64 ``image_url`` parts).
    """
    if not images:
        return {"role": "user", "content": text}
    parts: list[JsonValue] = [{"type": "text", "text": text}]
    parts += [{"type": "image_url", "image_url": {"url": _data_url(image)}} for image in images]
    return {"role": "user", "content": parts}


def assistant(reply: Reply) -> JsonObject:
    """What the model said, for the next round of a conversation."""
    spoken = (
        reply.text or reply.refusal or ("" if reply.tool_calls else "(nothing)")
    )  # some refuse empty texts
    message: JsonObject = {"role": "assistant", "content": spoken}
    if reply.tool_calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in reply.tool_calls
        ]
    return message


def tool_result(call: ToolCall, result: JsonValue) -> JsonObject:
    """What a tool that the model asked for answered; text as it is, all else as JSON."""
    content = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
    return {"role": "tool", "tool_call_id": call.id, "content": content}


def tool(name: str, description: str, parameters: JsonObject) -> JsonObject:
    """A tool that the model may ask for. ``parameters``: JSON schema of its arguments, an object."""
    function: JsonObject = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


def _data_url(image: bytes) -> str:
    kinds = [kind for signature, kind in _SIGNATURES if image.startswith(signature)]
    kind = kinds[0] if kinds else "image/webp"
    return f"data:{kind};base64,{base64.b64encode(image).decode()}"
