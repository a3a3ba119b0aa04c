"""What is read from a request for a chat completion."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shared.errors import Refused


@dataclass(frozen=True)
class ChatRequest:
    """One request.

    Args:
        model: the name that was asked for.
        texts: the texts of all messages, in order.
        images: sha256 of every image in them, in order.
        schema: of the answer wanted, None: plain text.
        tools: name → JSON schema of its arguments.
        providers: that may answer; empty: any.
        digest: names the request; the same request has the same.
    """

    model: str
    texts: tuple[str, ...]
    images: tuple[str, ...]
    schema: Mapping[str, Any] | None
    tools: Mapping[str, Mapping[str, Any]]
    providers: tuple[str, ...]
    digest: str

    @property
    def prompt(self) -> str:
        return "\n".join(self.texts)

    @classmethod
    def read(cls, raw: bytes) -> ChatRequest:
        """Read a body. Raises Refused (400) that says what is wrong."""
        try:
            body = json.loads(raw)
        except ValueError:
            raise Refused("the body is not JSON", status=400) from None
        if not isinstance(body, dict) or not isinstance(body.get("messages"), list) or not body["messages"]:
            raise Refused("messages: a list of at least one message is needed", status=400)
        texts: list[str] = []
        images: list[str] = []
        for message in body["messages"]:
            content = message.get("content") if isinstance(message, dict) else None
            for part in content if isinstance(content, list) else [{"type": "text", "text": content or ""}]:
                if part.get("type") == "image_url":
                    images.append(_image(part))
                else:
                    texts.append(str(part.get("text", "")))
        return cls(
            model=str(body.get("model", "")),
            texts=tuple(texts),
            images=tuple(images),
            schema=_schema(body.get("response_format")),
            tools={tool["function"]["name"]: tool["function"] for tool in body.get("tools") or ()},
            providers=_providers(body.get("provider")),
            digest=hashlib.blake2b(raw, digest_size=16).hexdigest(),
        )


def _image(part: Mapping[str, Any]) -> str:
    url = part.get("image_url")
    text = url.get("url", "") if isinstance(url, dict) else ""
    try:
        data = base64.b64decode(text.partition(";base64,")[2], validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if not data:
        raise Refused("image_url: only data:image/…;base64,… is understood here", status=400)
    return hashlib.sha256(data).hexdigest()


def _schema(form: Any) -> Mapping[str, Any] | None:
    if not isinstance(form, dict) or form.get("type") in {None, "text"}:
        return None
    wanted = form.get("json_schema")
    schema = wanted.get("schema") if isinstance(wanted, dict) else None
    return schema if isinstance(schema, dict) else {}


def _providers(provider: Any) -> tuple[str, ...]:
    if not isinstance(provider, dict) or provider.get("allow_fallbacks", True):
        return ()
    return tuple(map(str, provider.get("order") or ()))
