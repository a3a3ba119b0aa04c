"""`scrimmage final`: the one run that counts. Preflight, confirmation, the run, a receipt."""

from __future__ import annotations

import json as jsonlib
import secrets
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from producer.cli.ending import INCOMPLETE, fail
from producer.cli.options import CapRun, CapTask, Json, PlatformName, SolverName, TaskSeconds
from producer.cli.output import clean, print_json, progress, say, typed, warn
from producer.interrupt import Interrupted
from shared.errors import Refused, ScrimmageError, SettingsError, UsageError
from shared.models import Kind, RunRequest
from shared.settings import Settings

if TYPE_CHECKING:
    from producer.final import FinalRun
    from producer.health import Check
    from producer.preflight import Preflight
    from producer.summary import Summary
    from shared.models import RunRef

AFTER_WAIT_SECONDS = 300.0
"""So long after the window opened the checks may fail for a moment and are repeated."""


def final(
    solver: SolverName = "baseline",
    rehearse: Annotated[
        bool, typer.Option("--rehearse", help="Play it against the emulator, with faults and little time.")
    ] = False,
    confirm: Annotated[
        str | None,
        typer.Option("--confirm", metavar="TEAM", help="The team's name, instead of typing it when asked."),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the window opens.")] = False,
    accept: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CHECK",
            help="Go although the check of this name says no; repeatable. Not for the platform's own.",
        ),
    ] = None,
    platform: PlatformName = "arena",
    task_seconds: TaskSeconds = 300,
    cap_task: CapTask = None,
    cap_run: CapRun = None,
    json: Json = False,
) -> None:
    """Play the final run: once per team, half an hour, one submission per task.

    Started again while it is under way, the command rejoins it; it never starts two.

    Examples:
      [bold]scrimmage final --rehearse --solver mine[/bold]
      [bold]scrimmage final --solver mine[/bold]
      [bold]scrimmage final --solver mine --wait --confirm "Our Team"[/bold]
    """
    request = RunRequest(
        platform=platform,
        kind=Kind.FINAL,
        solver=solver,
        task_seconds=task_seconds,
        task_usd=cap_task,
        run_usd=cap_run,
    )
    if rehearse:
        _rehearse(request, accept or [], json)
    else:
        _play(request, confirm, accept or [], wait=wait, json=json)


def _play(request: RunRequest, confirm: str | None, accept: list[str], *, wait: bool, json: bool) -> None:
    from producer.archive import Archive
    from producer.cli.scorecard import account, print_runs
    from producer.final import FinalRun, with_finals
    from producer.health import require_names
    from producer.local import any_pool
    from producer.preflight import Preflight
    from producer.recovery import follow
    from producer.sweeps import close_due
    from shared.platforms import registry

    settings = Settings.load()
    require_names(settings, [request])
    archive = Archive(settings.archive)
    checks: list[Check] = []
    told: dict[str, object] = {}
    with account(json, told) as played, any_pool(settings, say) as local:
        platform = with_finals(registry.create(request.platform, local.settings, local.pool))
        platform.account()
        run = FinalRun(local.pool, platform, request)
        rows = [row for row in close_due(local.pool, archive) if row.kind == Kind.FINAL]
        if not rows:
            local.staff()
            with progress.status(f"asking {platform.name}"):
                ref = run.under_way()
            if ref is not None:
                say(f"{ref} is under way: rejoining it")
            else:
                preflight = Preflight(local.settings, local.pool, platform, request, waits=wait)
                checks, ref = _begin(run, preflight, confirm, accept, told, wait=wait)
            follow(local, [ref], progress, played)
            rows = played.done
    receipts = [path for row in rows if (path := archive.folder(row.ref) / "receipt.txt").exists()]
    code = 0 if rows and all(row.complete for row in rows) and not played.unkept else INCOMPLETE
    if json:
        shown = [row.model_dump(mode="json") for row in rows]
        receipt = str(receipts[0]) if receipts else None
        print_json({"preflight": _rows(checks), "runs": shown, "receipt": receipt}, code)
    else:
        print_runs(rows, archive)
        for path in receipts:
            say(f"receipt  {path}")
    for problem in played.unkept:
        warn(problem)
    if code:
        raise typer.Exit(code)


def _begin(
    run: FinalRun,
    preflight: Preflight,
    confirm: str | None,
    accept: list[str],
    told: dict[str, object],
    *,
    wait: bool,
) -> tuple[list[Check], RunRef]:
    """From the preflight to a run that has begun: by this start, or by another one that was quicker."""
    checks, ref = _go_or_join(run, preflight, accept, told)
    if ref is None:
        _confirm(preflight, confirm)
    if ref is None and wait:
        run.wait_for_window(say)
        _put_right(preflight, accept)
        checks, ref = _go_or_join(run, preflight, accept, told)
    if ref is None:
        ref = _start(run, preflight)
        say(f"{ref} has begun; if this command ends, the same one (or `resume`) goes on with it")
    return checks, ref


def _go_or_join(
    run: FinalRun, preflight: Preflight, accept: list[str], told: dict[str, object]
) -> tuple[list[Check], RunRef | None]:
    """The checks, and the run that another start began meanwhile; None: it is this one's to begin."""
    ref = run.under_way()
    checks = _show(preflight, told)
    problem = _no_go(checks, accept)
    if ref is None and isinstance(problem, Refused):
        ref = run.under_way()  # "used already" may mean: a moment ago, by a start beside this one
    if ref is None:
        _answer(problem)
    return checks, ref


def _start(run: FinalRun, preflight: Preflight) -> RunRef:
    say("starting the final run")
    return run.start(preflight.facts)


def _show(preflight: Preflight, told: dict[str, object]) -> list[Check]:
    """Show every line. ``told`` has them too, for scripts, should this start end early."""
    with progress.status("looking at all that the run needs"):
        checks = preflight.run()
    told.update(preflight=_rows(checks), receipt=None)
    for check in checks:
        say(f"{check.mark:>3}  {check.what:<14} {check.detail}", "red" if check.ok is False else "")
    return checks


def _answer(problem: ScrimmageError | None) -> None:
    """Go, or end here with what is wrong."""
    if problem is not None:
        raise problem
    say("go", "bold")


def _put_right(preflight: Preflight, accept: list[str]) -> None:
    """After a wait, what is wrong on this side gets a few minutes to be put right."""
    end = time.monotonic() + AFTER_WAIT_SECONDS
    while isinstance(_no_go(preflight.run(), accept), SettingsError) and time.monotonic() < end:
        time.sleep(5)


def _no_go(checks: list[Check], accept: list[str]) -> ScrimmageError | None:
    """Why the run is not started: what the platform says, what is wrong here, or nothing."""
    from producer.preflight import PLATFORM

    unknown = sorted(set(accept) - {check.what for check in checks} | set(accept) & set(PLATFORM))
    if unknown:
        return UsageError(f"--accept {', '.join(unknown)}: no check of that name that could be accepted")
    failed = [check.what for check in checks if check.ok is False and check.what not in accept]
    if not failed:
        return None
    if set(failed) & set(PLATFORM):
        return Refused(f"no go: {', '.join(failed)}")
    return SettingsError(f"no go: {', '.join(failed)}; put it right, or say --accept NAME for each")


def _confirm(preflight: Preflight, given: str | None) -> None:
    """Nothing is started by accident: the team's name is the word."""
    team = preflight.facts["team"]
    if given is None:
        if not sys.stdin.isatty():
            raise UsageError(f"the final run exists once: give the team's name, --confirm {team!r}")
        given = _asked(f"The final run exists once. Type the team's name ({clean(team)}) to start it: ")
    if typed(given) != typed(team):
        raise UsageError(f"{given!r} is not the team's name ({team}): nothing was started")


def _asked(question: str) -> str:
    """What a person answers at the terminal; stdout is for results."""
    try:
        return progress.input(question)
    except EOFError:
        raise UsageError("no team's name was typed: nothing was started") from None
    except Interrupted:
        say("nothing was started")
        raise


def _rows(checks: list[Check]) -> list[dict[str, object]]:
    return [{"what": check.what, "ok": check.ok, "detail": check.detail} for check in checks]


def _rehearse(request: RunRequest, accept: list[str], json: bool) -> None:
    """The same steps against an emulator and in a pool of its own; keeps the record that preflight wants."""
    from producer.cli.emulate import arena_of_our_own
    from producer.cli.scorecard import print_rows
    from producer.rehearsal import DEADLINE_SECONDS, faults, fingerprint_of, judge, record, stage

    settings = Settings.load()
    settings.data.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="rehearsal-", dir=settings.data))
    seed = secrets.randbelow(2**31)
    (folder / "faults.json").write_text(jsonlib.dumps(faults(seed)))
    say(f"rehearsal: {DEADLINE_SECONDS:.0f} s, faults on (seed {seed}); everything of it is in {folder}")
    told: dict[str, object] = {"runs": []}
    try:
        with arena_of_our_own(deadline=DEADLINE_SECONDS, faults=folder / "faults.json") as emulator:
            here = stage(settings, folder, emulator.url, emulator.key)
            row, facts, checks = _rehearsed(here, request, accept, told)
            passed, detail = judge(row, emulator.books())
    except (Interrupted, ScrimmageError) as error:
        if isinstance(error, Interrupted | SettingsError | Refused):  # nobody will look for the reason there
            shutil.rmtree(folder, ignore_errors=True)
        fail(error, **told)
    mark = fingerprint_of(settings, request, facts["solver_fingerprint"], facts["commit"])
    record(passed, detail, mark).keep(settings)
    if passed:
        shutil.rmtree(folder, ignore_errors=True)
    if json:
        rows = [row.model_dump(mode="json")]
        judged = {"passed": passed, "detail": detail}
        print_json(
            {"preflight": _rows(checks), "runs": rows, "rehearsal": judged}, 0 if passed else INCOMPLETE
        )
    else:
        print_rows([row])
    if not passed:
        warn(f"the rehearsal failed: {detail}")
        raise typer.Exit(INCOMPLETE)
    say(f"the rehearsal passed: {detail}", "bold")


def _rehearsed(
    here: Settings, request: RunRequest, accept: list[str], told: dict[str, object]
) -> tuple[Summary, dict[str, str], list[Check]]:
    from producer.final import FinalRun, with_finals
    from producer.local import local_pool
    from producer.preflight import Preflight
    from producer.recovery import follow
    from producer.sweeps import Sweep
    from shared.platforms import registry

    played = Sweep()
    with local_pool(here, say) as local:
        platform = with_finals(registry.create(request.platform, local.settings, local.pool))
        preflight = Preflight(local.settings, local.pool, platform, request, rehearsal=False)
        checks = _show(preflight, told)
        _answer(_no_go(checks, accept))
        ref = _start(FinalRun(local.pool, platform, request), preflight)
        say(f"{ref} has begun")
        follow(local, [ref], progress, played)
    return played.done[0], preflight.facts, checks
