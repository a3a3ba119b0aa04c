"""A local tool earns its trust: its first answers are compared with the platform's.

Per origin and theme, each read-only tool first goes out and is compared. After ``PROOFS`` different calls
that agreed it is answered locally, and a call that agreed itself is so at once. Once an answer differs, or is
in a shape that is not recognised, the tool goes out from then on. All of it is shared by the whole pool, and
one call of a tool is compared at a time, so that proving one costs ``PROOFS`` requests however many tasks
begin together. Answers are compared by what they say (``answers``), not by how they say it.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import structlog
from pydantic import JsonValue

from shared.deadline import Deadline
from shared.errors import ToolError
from shared.models import ToolResult
from shared.pool import keys
from shared.pool.connection import Patient
from shared.pool.flights import Flights
from shared.workspace.answers import differs

PROOFS = 3
"""So many different calls must agree before a tool is answered locally."""

VERSION = "1"
"""Changes with the local tools: another version has to earn its trust anew."""

log = structlog.get_logger(__name__)


class Local(Protocol):
    """Answers tools locally (``WorkspaceTools``)."""

    @property
    def names(self) -> Collection[str]: ...
    def call(self, name: str, args: Mapping[str, Any]) -> dict[str, Any]: ...


class Trust:
    """What the pool knows of its local tools' answers on one origin and theme. For several threads.

    Args:
        patient: the pool's Redis.
        origin: platform and fingerprint of the account ("arena:1f3a9c02").
        theme: of the run; None where the platform has none.
    """

    def __init__(self, patient: Patient, origin: str, theme: str | None) -> None:
        self._patient = patient  # with decoded replies
        self._flights = Flights(patient)
        self._key = keys.trust(origin)
        self._about = f"{VERSION}/{theme or ''}"
        self._settled: dict[str, bool] = {}
        self._lock = threading.Lock()

    def is_trusted(self, tool: str, args: Mapping[str, Any] | None = None) -> bool | None:
        """Whether a tool is answered locally: in general, or with ``args`` this very call of it.

        Returns:
            True: answer locally; False: go out; None: compare first.
        """
        with self._lock:
            if tool in self._settled:
                return self._settled[tool]
        held: dict[Any, Any] = self._patient.do(lambda client: client.hgetall(self._key))
        verdict: bool | None = None
        if self._field(tool) in held:
            verdict = False
        elif sum(name.startswith(self._field(tool) + "/") for name in held) >= PROOFS:
            verdict = True
        elif args is not None and self._call_field(tool, args) in held:
            return True
        if verdict is not None:
            with self._lock:
                self._settled[tool] = verdict
        return verdict

    def compared(
        self, tool: str, args: Mapping[str, Any], compare: Callable[[], Compared], deadline: Deadline
    ) -> Compared | bool:
        """Compare a call, unless others' comparisons settle meanwhile how it is answered.

        Returns:
            What ``compare`` returned, or as ``is_trusted`` what has been settled.
        """

        def settled() -> Compared | bool | None:
            return self.is_trusted(tool, args)

        def once_more() -> Compared | bool:
            found = settled()  # the one before may have given the last proof
            return compare() if found is None else found

        return self._flights.fly(f"{self._key}/{self._field(tool)}", once_more, settled, deadline)

    def agreed(self, tool: str, args: Mapping[str, Any]) -> None:
        """Note that a call was answered alike. The same call counts once."""
        self._patient.do(lambda client: client.hset(self._key, self._call_field(tool, args), "agreed"))

    def differed(self, tool: str, why: str) -> None:
        """Note that a tool's local answers are not the platform's."""
        log.warning("trust.lost", tool=tool, about=self._about, why=why)
        self._patient.do(lambda client: client.hset(self._key, self._field(tool), why[:500]))
        with self._lock:
            self._settled[tool] = False

    def _field(self, tool: str) -> str:
        return f"{self._about}/{tool}"

    def _call_field(self, tool: str, args: Mapping[str, Any]) -> str:
        call = hashlib.sha256(json.dumps(args, sort_keys=True, default=str).encode()).hexdigest()[:16]
        return f"{self._field(tool)}/{call}"


@dataclass(frozen=True)
class Compared:
    """A call that went out: the platform's answer, and the local one where the two agreed."""

    answer: ToolResult
    own: dict[str, Any] | None


class TrustedTools:
    """The read-only tools of a task: answered locally where that has proved right, else by the platform.

    Args:
        local: the tools over the task's workspace.
        remote: calls a tool on the platform.
        trust: of the platform's origin and the run's theme.
        paths: the workspace's files; places in the platform's answers are recognised by them.
        deadline: bounds the waiting for others who prove a tool.
    """

    def __init__(
        self,
        local: Local,
        remote: Callable[[str, Mapping[str, JsonValue]], ToolResult],
        trust: Trust,
        paths: Collection[str],
        deadline: Deadline,
    ) -> None:
        self._local = local
        self._remote = remote
        self._trust = trust
        self._paths = frozenset(paths)
        self._deadline = deadline

    def call(self, name: str, args: Mapping[str, JsonValue]) -> tuple[JsonValue, str]:
        """Call a read-only tool.

        Returns:
            The result and where it came from, "local" or "platform". While a tool is being proved, agreeing
            answers are given in the local shape, so that a solver sees one shape.

        Raises:
            ToolError: the tool's own no.
            Unavailable, …: the platform had to be asked and did not answer.
        """
        if name not in self._local.names:
            return _result(name, self._remote(name, args)), "platform"
        found = self._trust.compared(name, args, lambda: self._compare(name, args), self._deadline)
        if found is True:
            return self._local.call(name, args), "local"
        if found is False:
            return _result(name, self._remote(name, args)), "platform"
        return (_result(name, found.answer) if found.own is None else found.own), "platform"

    def _compare(self, name: str, args: Mapping[str, JsonValue]) -> Compared:
        answer = self._remote(name, args)
        try:
            own = self._local.call(name, args)
        except ToolError as error:
            if answer.ok:
                self._trust.differed(name, f"refused here, answered by the platform: {error}")
            return Compared(answer, None)
        why = differs(name, own, answer.result, self._paths) if answer.ok else f"refused: {answer.error}"
        if why is not None:
            self._trust.differed(name, why)
            return Compared(answer, None)
        self._trust.agreed(name, args)
        return Compared(answer, own)


def _result(name: str, answer: ToolResult) -> JsonValue:
    if not answer.ok:
        raise ToolError(answer.error or f"{name} failed without a reason")
    return answer.result
