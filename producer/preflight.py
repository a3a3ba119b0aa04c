"""Go or no-go before the final run: one line for each thing that has spoilt such a run, checked for real.

Nothing here starts anything. The lines of ``PLATFORM`` are the platform's own word and cannot be argued with;
any other that says no can be accepted by name, by whoever knows better than the check.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from producer.eval_model import model_checks
from producer.health import Check
from producer.rehearsal import Rehearsal, fingerprint_of
from shared.deadline import Deadline
from shared.errors import Refused, ScrimmageError
from shared.models import RunRequest
from shared.platforms.base import Finals, Standing
from shared.pool.connection import Patient, connect
from shared.pool.fleet import Heartbeat
from shared.pool.pool import Pool
from shared.settings import Settings, fingerprint

PLATFORM = ("account", "window", "final run", "minutes")
"""Names of the lines that only the platform can change."""

LEAST_SECONDS = 60.0
"""With less time than this a final run is not begun."""

CLOCK_SECONDS = 5.0
"""The two clocks may differ by so much: ``Date`` has whole seconds, and requests take a while."""

LEAST_FREE = 500 * 2**20

_SAFE_EVICTION = ("noeviction", "volatile-")


class Preflight:
    """The checks for one final run.

    Args:
        settings: of this machine; ``pool`` and ``platform`` were made with them.
        request: the final run that is to be started.
        waits: the start may wait for the window.
        rehearsal: False for the rehearsal itself, which needs none before it.
    """

    def __init__(
        self,
        settings: Settings,
        pool: Pool,
        platform: Finals,
        request: RunRequest,
        *,
        waits: bool = False,
        rehearsal: bool = True,
    ) -> None:
        self._settings = settings
        self._pool = pool
        self._platform = platform
        self._request = request
        self._waits = waits
        self._rehearsal = rehearsal
        self.standing: Standing | None = None
        """What the platform said of the account, once it was asked."""
        self.facts: dict[str, str] = {}
        """What the receipt tells beside the run: team, commit, the solver's fingerprint."""

    def run(self) -> list[Check]:
        """All lines, in the order in which a person reads them. A check that fails by itself says no."""
        parts: list[Callable[[], Iterator[Check]]] = [
            self._account, self._model, self._redis, self._workers, self._tree, self._disk,
        ]  # fmt: skip
        if self._rehearsal:
            parts.append(self._rehearsed)
        found: list[Check] = []
        for part in parts:
            try:
                found += part()
            except ScrimmageError as error:
                found.append(Check(part.__name__.strip("_"), False, str(error)))
        return found

    def _account(self) -> Iterator[Check]:
        asked = time.time()
        try:
            standing = self.standing = self._platform.standing(Deadline.after(20))
        except Refused as error:
            yield Check("account", False, f"the platform refuses the key: {error}")
            return
        self.facts["team"] = standing.team or "unknown"
        yield Check("account", True, f"team {standing.team or 'unknown'}; the key is valid")
        yield self._window(standing)
        yield _unused(standing)
        yield _minutes(standing)
        yield _clock(standing, (asked + time.time()) / 2)

    def _window(self, standing: Standing) -> Check:
        if standing.window_open:
            return Check("window", True, "open")
        opens = seconds_to_opening(standing)
        if opens is None or opens <= 0:
            return Check("window", False, "closed, and no later opening is announced")
        told = f"opens in {_span(opens)} ({standing.opens_at:%Y-%m-%d %H:%M:%S %Z})"
        return Check("window", self._waits, told + ("" if self._waits else "; --wait waits for it"))

    def _model(self) -> Iterator[Check]:
        yield from model_checks(self._settings)

    def _redis(self) -> Iterator[Check]:
        yield _persistence("redis", self._pool.redis)
        broker = self._settings.broker_url
        if broker and broker != self._settings.redis_url and urlsplit(broker).scheme in {"redis", "rediss"}:
            client = connect(broker)
            try:
                yield _persistence("broker", Patient(client))
            finally:
                client.close()
        else:
            self._pool.jobs.ping()
            yield Check("broker", True, "answers")

    def _workers(self) -> Iterator[Check]:
        live = self._pool.fleet.live()
        ours = version("scrimmage")
        others = sorted({beat.version for beat in live} - {ours})
        hosts = len({beat.host for beat in live})
        detail = f"{len(live)} nodes on {hosts} machine{'s' * (hosts != 1)}, version {ours}"
        if others:
            detail = (
                f"version {ours} here, also {', '.join(others)} among the workers: use one version everywhere"
            )
        elif not live:
            detail = "none alive: start `scrimmage worker`, or `scrimmage up`"
        yield Check("workers", bool(live) and not others, detail)
        yield self._slots(live)
        yield self._solver(live)
        yield self._keys(live)

    def _slots(self, live: list[Heartbeat]) -> Check:
        slots = sum(beat.slots for beat in live if beat.role == "final")
        busy = sum(beat.busy for beat in live if beat.role == "final")
        finishing = any(beat.role in {"finish", "both"} for beat in live)
        detail = f"{slots - busy} of {slots} slots for the final run are free"
        if not slots:
            detail = "no worker has slots for a final run: start one with `--role final`"
        elif not finishing:
            detail = "no worker finishes: start one with `--role finish`"
        return Check("final slots", slots > busy and finishing, detail)

    def _solver(self, live: list[Heartbeat]) -> Check:
        name = self._request.solver
        playing = [beat for beat in live if beat.role in {"final", "both"}]
        prints = {beat.solvers.get(name) for beat in playing}
        if not playing or None in prints:
            lacking = ", ".join(sorted(beat.node for beat in playing if name not in beat.solvers)[:4])
            return Check("solver", False, f"{name!r} is missing on {lacking or 'every worker'}")
        if len(prints) > 1:
            shown = ", ".join(sorted(filter(None, prints)))
            return Check("solver", False, f"workers have different code of {name!r}: {shown}")
        self.facts["solver_fingerprint"] = str(prints.pop())
        return Check(
            "solver", True, f"{name}, fingerprint {self.facts['solver_fingerprint']} on every worker"
        )

    def _keys(self, live: list[Heartbeat]) -> Check:
        wanted = {self._platform.name: self._platform.account()}
        if self._settings.model is not None and self._settings.eval_model_key is not None:
            wanted["eval_model"] = fingerprint(self._settings.eval_model_key.get_secret_value())
        wrong = [
            f"{beat.node} ({purpose})"
            for beat in live
            for purpose, expected in wanted.items()
            if beat.keys.get(purpose) != expected
        ]
        if wrong or not live:
            return Check("keys", False, f"other keys than here: {', '.join(wrong[:6]) or 'no worker to ask'}")
        shown = ", ".join(f"{purpose} {expected}" for purpose, expected in wanted.items())
        return Check("keys", True, f"the same on every worker: {shown}")

    def _tree(self) -> Iterator[Check]:
        own = [self._settings.data, self._settings.archive]
        commit, changes = working_tree(own)
        self.facts["commit"] = commit or "unknown"
        if commit is None:
            yield Check(
                "working tree", False, f"{Path.cwd()} is in no git repository: the commit is not known"
            )
        elif changes:
            yield Check("working tree", False, f"commit {commit}, with changes: {', '.join(changes[:5])}")
        else:
            yield Check("working tree", True, f"clean, commit {commit}")

    def _disk(self) -> Iterator[Check]:
        for name, folder in (("archive", self._settings.archive), ("data", self._settings.data)):
            base = next(path for path in (folder, *folder.absolute().parents) if path.exists())
            free = shutil.disk_usage(base).free
            writable = os.access(base, os.W_OK)
            detail = f"{free / 2**30:.1f} GiB free for {folder}" + ("" if writable else ", not writable")
            yield Check(f"disk {name}", writable and free >= LEAST_FREE, detail)

    def _rehearsed(self) -> Iterator[Check]:
        last = Rehearsal.last(self._settings)
        solver, commit = self.facts.get("solver_fingerprint", ""), self.facts.get("commit", "")
        if last is None:
            yield Check("rehearsal", False, "none yet: `scrimmage final --rehearse`")
        elif last.fingerprint != fingerprint_of(self._settings, self._request, solver, commit):
            yield Check("rehearsal", False, f"that of {last.at} had another solver, commit or settings")
        else:
            yield Check("rehearsal", last.passed, f"{last.at}: {last.detail}")


def seconds_to_opening(standing: Standing) -> float | None:
    """Seconds until the window opens, by the platform's clock; None where no time is announced."""
    return None if standing.opens_at is None else standing.opens_at.timestamp() - standing.now


def _unused(standing: Standing) -> Check:
    if standing.used:
        return Check("final run", False, "it was used already: there is one for each team")
    return Check(
        "final run",
        True,
        "not used" if standing.used is False else "the platform does not say: taken as not used",
    )


def _minutes(standing: Standing) -> Check:
    """How long the run would really have: the window may close before its time is over."""
    begins = max(0.0, seconds_to_opening(standing) or 0.0)
    whole = standing.seconds
    closes = None if standing.closes_at is None else standing.closes_at.timestamp() - standing.now - begins
    real = whole if closes is None else min(whole, closes)
    detail = f"{real / 60:.1f} minutes until the deadline"
    if real < whole:
        detail += f": the window closes before the {whole / 60:.0f} minutes are over"
    return Check("minutes", real >= LEAST_SECONDS, detail)


def _clock(standing: Standing, here: float) -> Check:
    if not standing.told_clock:
        return Check("clock", None, "the platform names no time")
    ahead = here - standing.now
    detail = f"{abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} the platform's"
    return Check("clock", abs(ahead) <= CLOCK_SECONDS, detail)


def _persistence(name: str, patient: Patient) -> Check:
    """Whether this Redis keeps what it is told, and evicts nothing but what has a TTL: blobs, documents."""
    info: Any = patient.do(lambda client: client.info(), deadline=Deadline.after(10))
    policy = str(info.get("maxmemory_policy", "unknown"))
    problems = []
    if not info.get("aof_enabled"):
        problems.append("AOF is off: a restart would lose the run (appendonly yes)")
    elif info.get("aof_last_write_status") not in {None, "ok"}:
        problems.append("its last write to the AOF failed")
    if info.get("maxmemory") and not policy.startswith(_SAFE_EVICTION):
        problems.append(f"maxmemory-policy is {policy}: set volatile-lru or noeviction")
    room = int(info.get("maxmemory") or 0)
    used = int(info.get("used_memory", 0))
    if room and used > 0.9 * room and not policy.startswith("volatile-"):
        problems.append(f"{used / room:.0%} of its memory is used")
    return Check(name, not problems, "; ".join(problems) or f"AOF on, {policy}, {used / 2**20:.0f} MiB used")


def working_tree(leaving_out: list[Path]) -> tuple[str | None, list[str]]:
    """The commit of the working folder (None: no repository), and what differs from it.

    Args:
        leaving_out: folders that Scrimmage itself writes.
    """
    commit = _git("rev-parse", "HEAD")
    if commit is None:
        return None, []
    here = Path.cwd()
    own = [path.absolute() for path in leaving_out]
    excluded = [f":(exclude){path.relative_to(here)}" for path in own if path.is_relative_to(here)]
    status = _git("status", "--porcelain", "--", ".", *excluded)
    return commit.strip(), [line[3:] for line in (status or "").splitlines()]


def _git(*arguments: str) -> str | None:
    git = shutil.which("git")
    if git is None:
        return None
    done = subprocess.run(  # noqa: S603 - constant words and our own folders
        [git, *arguments], capture_output=True, text=True, check=False, timeout=30
    )
    return done.stdout if done.returncode == 0 else None


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
