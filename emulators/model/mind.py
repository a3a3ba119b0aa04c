"""What the stand-in says to a request, with the troubles that its conduct asks for.

It answers four kinds of requests: for a plan (a schema or tool with ``steps``), for a finished answer (with
``outcome`` and ``answer``), for what stands in an image, and for anything else, where it says what it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from emulators.model import plans
from emulators.model.conduct import Chance, Conduct
from emulators.model.knowledge import Knowledge, Known
from emulators.model.request import ChatRequest

UNKNOWN = "This is a stand-in, not a language model. It knows no task that stands in this prompt."
UNSEEN = "(the stand-in knows no such image)"


@dataclass(frozen=True)
class Said:
    """An answer. ``call``: the tool that is called instead, and its arguments."""

    text: str = ""
    call: tuple[str, str] | None = None
    refusal: str | None = None

    @property
    def written(self) -> str:
        """All that it says, to count its tokens."""
        return self.text + "".join(self.call or ()) + (self.refusal or "")


class Mind:
    """Answers requests. ``conduct`` may be exchanged at any time."""

    def __init__(self, knowledge: Knowledge, chance: Chance, conduct: Conduct) -> None:
        self._knowledge = knowledge
        self._chance = chance
        self.conduct = conduct

    async def answer(self, request: ChatRequest) -> Said:
        """What it says."""
        known = await self._knowledge.find(request.prompt)
        about = known.name if known else request.digest
        if self._happens("refusing", about):
            return Said(refusal="The stand-in was told to refuse this.")
        if self._happens("empty", about):
            return Said()
        return self._spoiled(await self._answer(request, known), about)

    async def _answer(self, request: ChatRequest, known: Known | None) -> Said:
        asked = _properties(request.schema)
        if request.images and "steps" not in asked:
            return Said(_seen(asked, [await self._read(sha256) for sha256 in request.images]))
        if known is None:
            return Said(UNKNOWN)
        if asked:
            return Said(json.dumps(self._filled(asked, known), ensure_ascii=False))
        for name, tool in request.tools.items():
            wanted = _properties(tool.get("parameters"))
            if "steps" in wanted or {"outcome", "answer"} <= set(wanted):
                return Said(call=(name, json.dumps(self._filled(wanted, known), ensure_ascii=False)))
        return Said(json.dumps(known.task.expected_answer, ensure_ascii=False))

    def _filled(self, wanted: Mapping[str, Any], known: Known) -> dict[str, Any]:
        """A plan where one is wanted, else the finished answer; without fields that nobody asked for."""
        full = self._plan(known) if "steps" in wanted else _finished(known)
        return {name: value for name, value in full.items() if name in wanted}

    def _plan(self, known: Known) -> plans.Plan:
        if self.conduct.obedient:
            return plans.obedient(known)
        plan = plans.reference(known)
        first = self._chance.nth("plan", known.name) == 1
        if first and self._chance.draw("wrong", known.name) < self.conduct.wrong:
            return plans.mistaken(plan, self._chance.draw("mistake", known.name))
        return plan

    async def _read(self, sha256: str) -> str:
        return await self._knowledge.image_text(sha256) or UNSEEN

    def _happens(self, trouble: str, about: str) -> bool:
        rate: float = getattr(self.conduct, trouble)
        return rate > 0 and self._chance.draw(trouble, about, self._chance.nth(trouble, about)) < rate

    def _spoiled(self, said: Said, about: str) -> Said:
        if self._happens("malformed", about):
            if said.call:
                return Said(call=(said.call[0], _cut(said.call[1])))
            return Said(_cut(said.text))
        if said.text and self._happens("wrapped", about):
            return Said(f"Sure! Here is what you asked for:\n\n```json\n{said.text}\n```\n\nAnything else?")
        return said


def _properties(schema: Mapping[str, Any] | None) -> Mapping[str, Any]:
    properties = (schema or {}).get("properties")
    return properties if isinstance(properties, dict) else {}


def _finished(known: Known) -> dict[str, Any]:
    task = known.task
    return {
        "outcome": str(task.expected_outcome),
        "answer": task.expected_answer,
        "sources": [source.wire() for source in task.expected_sources],
        "effects": [effect.model_dump(mode="json") for effect in task.reference.effects],
    }


def _seen(asked: Mapping[str, Any], texts: list[str]) -> str:
    """The texts of images: as they are, or in the first field of the schema that takes them."""
    for name, kind in asked.items():
        if kind.get("type") == "string":
            return json.dumps({name: "\n".join(texts)}, ensure_ascii=False)
        if kind.get("type") == "array":
            return json.dumps({name: [line for text in texts for line in text.splitlines()]})
    return "\n".join(texts)


def _cut(text: str) -> str:
    return text[: len(text) * 3 // 5]
