"""Faults on purpose: a file of rules that says which requests go wrong, and how.

The file is TOML or JSON; the same file does the same to the same requests, run for run::

    seed = 7

    [[rules]]
    endpoint = "POST /runs/*/tasks/*/submit"    # method (or *) and the end of the path
    first = 1                                   # the first time …
    per = "path"                                # … for each task
    fault = "drop"
    when = "after"                              # handled, but the answer is lost

``*`` in a path stands for one segment, ``**`` for any number. Of the rules that match a request, the first
one whose occasion it is strikes; each rule counts the requests that match it. An occasion is at most one of
``nth`` (a number or a list, from 1), ``first`` (the first n), ``every`` (each n-th), ``probability``;
without any, each request. ``per`` counts for the rule as a whole, or for each path or key apart.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from shared.errors import SettingsError

_MOST_COUNTERS = 50_000

Seconds = Annotated[float, Field(ge=0, le=3600)]
WholeSeconds = Annotated[int, Field(ge=0, le=3600)]
When = Literal["before", "after"]


class Rule(BaseModel):
    """What all rules have."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    endpoint: str
    nth: Annotated[int, Field(ge=1)] | tuple[Annotated[int, Field(ge=1)], ...] | None = None
    first: Annotated[int, Field(ge=1)] | None = None
    every: Annotated[int, Field(ge=1)] | None = None
    probability: Annotated[float, Field(ge=0, le=1)] | None = None
    per: Literal["rule", "path", "account"] = "rule"

    @field_validator("endpoint")
    @classmethod
    def _has_method_and_path(cls, endpoint: str) -> str:
        if not re.fullmatch(r"(\*|[A-Z]+) /\S*", endpoint):
            raise ValueError('must be a method (or *) and a path: "GET /runs/*/blobs/*"')
        return endpoint

    @model_validator(mode="after")
    def _has_one_occasion(self) -> Self:
        given = [name for name in ("nth", "first", "every", "probability") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} exclude each other")
        return self

    def strikes(self, occurrence: int, chance: float) -> bool:
        """Whether the ``occurrence``-th matching request (from 1) is an occasion.

        Args:
            chance: 0…1, evenly spread and fixed for this occurrence.
        """
        if self.nth is not None:
            return occurrence == self.nth if isinstance(self.nth, int) else occurrence in self.nth
        if self.first is not None:
            return occurrence <= self.first
        if self.every is not None:
            return occurrence % self.every == 0
        return self.probability is None or chance < self.probability


class TooMany(Rule):
    """429, as if the limit were lower than it is."""

    fault: Literal["too_many"]
    retry_after: WholeSeconds = 1
    form: Literal["seconds", "date", "none"] = "seconds"


class Status(Rule):
    """An error of the server or of a gateway; ``after``: the request was carried out all the same."""

    fault: Literal["status"]
    status: Annotated[int, Field(ge=400, le=599)] = 500
    body: Literal["json", "html", "empty"] = "json"
    retry_after: WholeSeconds | None = None
    when: When = "before"


class Hang(Rule):
    """Nothing for a while: before the request is handled, or with the answer ready."""

    fault: Literal["hang"]
    seconds: Seconds
    when: When = "before"


class Drop(Rule):
    """The connection is closed without an answer."""

    fault: Literal["drop"]
    when: When = "before"


class Truncate(Rule):
    """Only a part of the body comes. ``length``: Content-Length says what was meant (``kept``: the client
    sees the connection break) or what comes (``cut``: the client sees a shorter body and nothing else)."""

    fault: Literal["truncate"]
    keep: Annotated[float, Field(ge=0, lt=1)] = 0.5
    length: Literal["kept", "cut"] = "kept"


class Corrupt(Rule):
    """Some bytes of the body are others."""

    fault: Literal["corrupt"]
    count: Annotated[int, Field(ge=1)] = 1


class Drip(Rule):
    """The body comes in small pieces over ``seconds``."""

    fault: Literal["drip"]
    seconds: Seconds
    pieces: Annotated[int, Field(ge=2, le=1000)] = 20


class Skew(Rule):
    """``Date`` is off by ``seconds``, and nothing else is."""

    fault: Literal["skew"]
    seconds: Annotated[float, Field(ge=-1e8, le=1e8)]


class Deadline(Rule):
    """Before it is handled, the run that the request is about gets ``seconds`` from now as its deadline."""

    fault: Literal["deadline"]
    seconds: Seconds


class Revoke(Rule):
    """Before it is handled, the key that the request carries is revoked."""

    fault: Literal["revoke"]


AnyRule = Annotated[
    TooMany | Status | Hang | Drop | Truncate | Corrupt | Drip | Skew | Deadline | Revoke,
    Field(discriminator="fault"),
]


class FaultFile(BaseModel):
    """A file of faults."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: int = 0
    rules: tuple[AnyRule, ...] = ()

    @classmethod
    def read(cls, path: Path) -> FaultFile:
        """Read a file: JSON where it is called ``.json``, else TOML.

        Raises:
            SettingsError: the file is missing or wrong; the message names the rule and the field.
        """
        try:
            text = path.read_text("utf-8")
            data = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
        except OSError as error:
            raise SettingsError(f"faults: cannot read {path}: {error.strerror}") from error
        except ValueError as error:
            raise SettingsError(f"faults: {path} is not {path.suffix or 'TOML'}: {error}") from error
        try:
            return _ADAPTER.validate_python(data)
        except ValidationError as error:
            rows = error.errors(include_url=False, include_context=False)
            raise SettingsError("; ".join(_explain(path, data, row) for row in rows)) from None


_ADAPTER = TypeAdapter(FaultFile)


def _explain(path: Path, data: Any, row: Any) -> str:
    """One error of a file: which rule (counted from 1), which field, what was wrong."""
    where = [str(part) for part in row["loc"]]
    place = str(path)
    if where[:1] == ["rules"] and len(where) > 1:
        number = int(where[1])
        rule = data["rules"][number]
        named = f" ({rule['endpoint']})" if isinstance(rule, dict) and "endpoint" in rule else ""
        place = f"{path}: rule {number + 1}{named}"
        kind = rule.get("fault") if isinstance(rule, dict) else None
        where = where[3:] if where[2:3] == [kind] else where[2:]
    field = f": {'.'.join(where)}" if where else ""
    return f"faults: {place}{field}: {row['msg'].removeprefix('Value error, ')}"


class FaultPlan:
    """Decides, request by request, which rule strikes. Counts on from request to request.

    Args:
        file: the rules.
    """

    def __init__(self, file: FaultFile) -> None:
        self._seed = file.seed
        self._rules = [(rule, _pattern(rule.endpoint)) for rule in file.rules]
        self._seen: Counter[tuple[int, str]] = Counter()
        self._matched = [0] * len(file.rules)

    def strike(self, method: str, path: str, account: str) -> tuple[AnyRule, int] | None:
        """The rule for this request and a number to draw from, the same in each run; None: all is well."""
        request = f"{method} {path}"
        found: tuple[AnyRule, int] | None = None
        for number, (rule, pattern) in enumerate(self._rules):
            if not pattern.fullmatch(request):
                continue
            self._matched[number] += 1
            apart = {"rule": "", "path": request, "account": account}[rule.per]
            if len(self._seen) >= _MOST_COUNTERS and (number, apart) not in self._seen:
                apart = "(others)"
            self._seen[number, apart] += 1
            draw = self._draw(number)
            if found is None and rule.strikes(self._seen[number, apart], draw / 2**64):
                found = rule, draw
        return found

    def _draw(self, number: int) -> int:
        """Drawn anew for each request that a rule matches; paths hold random ids and have no say in it."""
        text = f"{self._seed}/{number}/{self._matched[number]}"
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())


def _pattern(endpoint: str) -> re.Pattern[str]:
    method, _, path = endpoint.partition(" ")
    parts = {"**": ".*", "*": "[^/]*"}
    body = "".join(parts.get(piece) or re.escape(piece) for piece in re.split(r"(\*\*|\*)", path))
    return re.compile(f"{'[A-Z]+' if method == '*' else method} .*{body}", re.DOTALL)
