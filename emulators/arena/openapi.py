"""The emulator's own description, served at ``/openapi.json``: the API under the default choices.

Paths and statuses are written down here, schemas come from `wire`. A test holds both against the routes and
against real answers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, TypeAdapter

from emulators.arena import wire

_REF = "#/components/schemas/{model}"
_JSON = "application/json"
_TASK = "/runs/{run_id}/tasks/{task_id}"


@dataclass(frozen=True)
class Operation:
    """One endpoint.

    Args:
        answers: the types of a 200's JSON body; empty: raw bytes.
        statuses: errors beside 401 and 429, which every endpoint has.
        body: model of the request's body, ``dict`` for any object, None for no body.
        query: optional query parameters and what they are.
    """

    summary: str
    answers: tuple[type, ...] = ()
    statuses: tuple[int, ...] = ()
    body: type[BaseModel] | type[dict[str, Any]] | None = None
    query: tuple[tuple[str, str], ...] = ()


OPERATIONS: dict[tuple[str, str], Operation] = {
    ("GET", "/me"): Operation("The team and the final window", (wire.Me,)),
    ("GET", "/tools"): Operation("The tools, with arguments and results", (wire.Tools,)),
    ("POST", "/runs"): Operation("Start a run", (wire.NewRun,), (400, 403, 409, 413), wire.RunBody),
    ("GET", "/runs"): Operation(
        "The team's runs", (wire.Runs,), (400,), query=(("cursor", "next_cursor of the page before"),)
    ),
    ("GET", "/runs/{run_id}"): Operation("One run", (wire.RunDetail,), (404,)),
    ("POST", _TASK + "/tools/{tool}"): Operation(
        "Call a tool", (wire.ToolOk, wire.ToolFailed), (400, 404, 409, 413), dict[str, Any]
    ),
    ("GET", _TASK + "/files/{path}"): Operation("One file of the workspace", (), (404, 409)),
    ("GET", _TASK + "/workspace.zip"): Operation("The whole workspace", (), (404, 409)),
    ("GET", "/runs/{run_id}/manifest"): Operation(
        "All files in their initial state", (wire.RunManifest,), (404, 409)
    ),
    ("GET", _TASK + "/manifest"): Operation(
        "A task's files in their current state", (wire.TaskManifest,), (404, 409)
    ),
    ("GET", "/runs/{run_id}/blobs/{sha256}"): Operation(
        "One file by its hash", (), (404, 409), query=(("task", "a task whose manifest lists the hash"),)
    ),
    ("POST", _TASK + "/submit"): Operation(
        "Submit a task's answer",
        (wire.Feedback, wire.Received),
        (400, 404, 409, 413),
        wire.SubmitBody,
    ),
    ("POST", "/runs/{run_id}/finish"): Operation(
        "Close a run", (wire.Finished, wire.FinalFinished), (404, 409)
    ),
}


def document(server: str) -> dict[str, Any]:
    """The OpenAPI 3.1 document.

    Args:
        server: path of the API, ``/api/v1``.
    """
    types: list[Any] = [wire.Error]
    for operation in OPERATIONS.values():
        types += [kind for kind in (*operation.answers, operation.body) if _is_model(kind)]
    adapters = {kind: TypeAdapter(kind) for kind in dict.fromkeys(types)}
    schemas, shared = TypeAdapter.json_schemas(
        [(kind, _mode(kind), adapter) for kind, adapter in adapters.items()], ref_template=_REF
    )
    paths: dict[str, Any] = {}
    for (method, path), operation in OPERATIONS.items():
        paths.setdefault(path, {})[method.lower()] = _operation(method, path, operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Harness Arena Task API (emulator)",
            "version": "v1",
            "description": "Describes the default choices; see docs/emulators.md for the others.",
        },
        "servers": [{"url": server}],
        "security": [{"key": []}],
        "paths": paths,
        "components": {
            "schemas": shared.get("$defs", {}),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(method: str, path: str, operation: Operation, schemas: Any) -> dict[str, Any]:
    error = {"content": {_JSON: {"schema": schemas[wire.Error, _mode(wire.Error)]}}}
    responses = {str(status): {"description": "Error", **error} for status in (401, *operation.statuses, 429)}
    responses["429"]["headers"] = {"Retry-After": {"schema": {"type": "string"}}}
    described: dict[str, Any] = {
        "operationId": re.sub(r"\W+", "_", f"{method.lower()}{path}").strip("_"),
        "summary": operation.summary,
        "parameters": _parameters(path, operation.query),
        "responses": {
            "200": {"description": "Done", "content": _content(operation.answers, schemas)},
            **responses,
        },
    }
    if operation.body is not None:
        content: dict[str, Any] = {"type": "object"}
        demanded = False
        if isinstance(operation.body, type) and issubclass(operation.body, BaseModel):
            content = schemas[operation.body, "validation"]
            demanded = any(field.is_required() for field in operation.body.model_fields.values())
        described["requestBody"] = {"required": demanded, "content": {_JSON: {"schema": content}}}
    return described


def _parameters(path: str, query: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    text = {"type": "string"}
    in_path: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": text}
        for name in re.findall(r"\{(\w+)\}", path)
    ]
    return in_path + [
        {"name": name, "in": "query", "description": description, "schema": text}
        for name, description in query
    ]


def _content(answers: Sequence[type], schemas: Any) -> dict[str, Any]:
    if not answers:
        return {"*/*": {}}
    found = [schemas[answer, _mode(answer)] for answer in answers]
    return {_JSON: {"schema": found[0] if len(found) == 1 else {"anyOf": found}}}


def _is_model(kind: Any) -> bool:
    return kind is not None and kind != dict[str, Any]


def _mode(kind: Any) -> Any:
    return "validation" if isinstance(kind, type) and issubclass(kind, BaseModel) else "serialization"
