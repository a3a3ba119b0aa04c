"""Dying processes: whoever solves, finishes or tends, and whole machines; and workers that do not belong."""

from __future__ import annotations

import signal
import time
from contextlib import suppress

import psutil

from shared.models import RunRef, RunStatus
from tests.chaos.disturbance import disturbance
from tests.chaos.faults import CALL, SUBMIT, hang
from tests.chaos.setup import Setup
from tests.chaos.stage import Stage, kill
from tests.support.playing import wait_for

WORKER_BACK, FINISHER_BACK = 15.0, 10.0
"""Seconds until a killed worker's tasks run again, and until a dead finalizer is replaced."""


@disturbance()
def calm(stage: Stage) -> None:
    """Nothing happens: what the others are compared with. Every model call is settled."""
    ref = stage.open()
    if stage.until_ended(15):
        assert stage.pool.spend.totals(ref).unsettled == 0


@disturbance(Setup(tasks=16, seconds=1.0, processes=2), quick=True)
def worker_killed(stage: Stage) -> None:
    """kill -9 of one of two processes that solve, as a machine has by default."""
    _kill_a_worker(stage)


@disturbance(Setup(tasks=16, seconds=1.0, processes=2, lease=10.0))
def worker_killed_under_real_leases(stage: Stage) -> None:
    """The same with the lease that the pool has by default."""
    _kill_a_worker(stage)


def _kill_a_worker(stage: Stage) -> None:
    ref = stage.open()
    stage.until_leased(ref, 4)
    stage.pause(0, 0.9)
    victim = stage.machines[0].node("solve1")
    victim.suspend()  # what it holds now, it loses
    lost = stage.leased_by(ref, victim)
    before = stage.happened(ref, "leased")
    kill([victim])
    killed = time.monotonic()
    stage.measure(
        "a killed worker's tasks run again",
        WORKER_BACK,
        lambda: all(stage.happened(ref, "leased")[task] > before[task] for task in lost),
        killed,
    )


@disturbance(Setup(tasks=12, seconds=1.0, machines=2), quick=True)
def worker_hung(stage: Stage) -> None:
    """A process stands still until its leases are over, then goes on: what it reports comes too late."""
    ref = stage.open()
    stage.until_leased(ref, 5)
    victim = stage.machines[0].node("solve1")
    victim.suspend()
    try:
        stage.pause(2.5, 5)
    finally:
        with suppress(psutil.NoSuchProcess):
            victim.resume()


@disturbance(
    Setup(
        tasks=9,
        seconds=0.2,
        rules=(hang(CALL + "send_message", 1, 3, "after"), hang(CALL + "write", 2, 3)),
    ),
    quick=True,
)
def worker_killed_in_an_effect(stage: Stage) -> None:
    """kill -9 of the solving process while the platform carries out a mail, or has not yet taken a draft."""
    stage.open()
    stage.until_fault(stage.chance.randint(1, 2))
    stage.pause(0, 0.5)
    kill(stage.nodes("solve1"))


@disturbance(Setup(tasks=16, seconds=1.0, machines=2), quick=True)
def machine_killed(stage: Stage) -> None:
    """kill -9 of a supervisor and, with it, of everything on its machine; another machine is there."""
    ref = stage.open()
    stage.until_leased(ref, 5)
    stage.pause(0, 1.5)
    stage.machines[stage.chance.randrange(2)].workers.process.kill()


@disturbance(Setup(tasks=16, seconds=1.0, machines=2), quick=True)
def machine_leaves(stage: Stage) -> None:
    """SIGTERM to one of two machines: it finishes what it has, the other does the rest."""
    ref = stage.open()
    stage.until_leased(ref, 5)
    stage.pause(0, 1.5)
    leaving = stage.machines[stage.chance.randrange(2)].workers
    leaving.process.send_signal(signal.SIGTERM)
    leaving.process.wait(30)
    assert stage.happened(ref, "lost").total() == 0


@disturbance(Setup(tasks=16, seconds=3.0, machines=3, threads=3))
def scaled_down(stage: Stage) -> None:
    """Of three machines one is left: two get SIGTERM, and SIGKILL before their tasks can be done."""
    ref = stage.open()
    stage.until_leased(ref, 7)
    leaving = [machine.workers.process for machine in stage.machines[1:]]
    for process in leaving:
        process.send_signal(signal.SIGTERM)
    stage.pause(0.5, 2)
    for process in leaving:
        process.kill()


@disturbance(Setup(tasks=8, seconds=0.2, rules=(hang("POST /runs/*/finish", 1, 4),)), quick=True)
def finisher_killed_sealing(stage: Stage) -> None:
    """kill -9 of the finalizer while the platform closes the run."""
    _kill_the_finisher_at_a_fault(stage)


@disturbance(Setup(tasks=8, seconds=0.2, lease=10.0, rules=(hang("POST /runs/*/finish", 1, 4),)))
def finisher_killed_under_real_leases(stage: Stage) -> None:
    """The same with the lease that the pool has by default."""
    _kill_the_finisher_at_a_fault(stage)


@disturbance(Setup(tasks=8, seconds=0.2, rules=(hang(SUBMIT, 3, 3, "after"),)), quick=True)
def finisher_killed_submitting(stage: Stage) -> None:
    """kill -9 of the finalizer after some answers were taken whose receipts it never saw."""
    _kill_the_finisher_at_a_fault(stage)


def _kill_the_finisher_at_a_fault(stage: Stage) -> None:
    ref = stage.open()
    stage.until_fault()
    stage.pause(0, 0.3)
    kill(stage.nodes("finish"))
    _measure_replacement(stage, ref)


def _measure_replacement(stage: Stage, ref: RunRef) -> None:
    killed = time.monotonic()
    stage.measure(
        "a dead finalizer is replaced", FINISHER_BACK, lambda: stage.state(ref).status.final, killed
    )


@disturbance(Setup(tasks=8, seconds=0.2, deaths=2), quick=True)
def finisher_killed_between_steps(stage: Stage) -> None:
    """kill -9 of the finalizer before a line of its code, drawn from all, and of its successor."""
    ref = stage.open()
    wait_for(lambda: stage.state(ref).status is not RunStatus.SOLVING, 30, "everything has reported")
    stage.until_ended(60)
    deaths = sorted(stage.folder.glob("deaths-*/*"))
    words = [path.read_text() for path in deaths]
    stage.told.append(f"died before {', '.join(words) or 'no line: there were too few'}")
    if deaths:
        replaced = time.time() - deaths[-1].stat().st_mtime
        stage.measured["a dead finalizer is replaced"] = (replaced, FINISHER_BACK)


@disturbance(Setup(tasks=12, machines=2), quick=True)
def tender_killed(stage: Stage) -> None:
    """kill -9 of whoever tends, whoever that is, three times."""
    ref = stage.open()
    stage.until_leased(ref, 1)
    for _ in range(3):
        tender = stage.tender()
        kill([tender] if tender else [])
        stage.pause(0.2, 1.5)


@disturbance(Setup(tasks=16, seconds=0.5, machines=2), seconds=90)
def anybody_killed_again_and_again(stage: Stage) -> None:
    """kill -9 of a process drawn from all, every second for six."""
    stage.open()
    for _ in range(6):
        everybody = stage.nodes()
        if everybody:
            kill([stage.chance.choice(everybody)])
        stage.pause(0.7, 1.3)


@disturbance(Setup(tasks=16, seconds=0.5), quick=True)
def two_pools(stage: Stage) -> None:
    """Two pools of workers on one ledger, with leases of their own, each at work on both of two runs."""
    stage.until_live(stage.add_machine(SCRIMMAGE_LEASE_SECONDS="5"))
    stage.open()
    stage.open()


@disturbance(Setup(tasks=12), quick=True)
def strangers(stage: Stage) -> None:
    """A second machine lacks the solver, or is of another version; it takes jobs all the same."""
    if stage.chance.random() < 0.5:
        stranger = stage.add_machine(SCRIMMAGE_SOLVERS="")
    else:
        folder = stage.folder / "other" / "scrimmage-99.0.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: scrimmage\nVersion: 99.0\n")
        stranger = stage.add_machine(PYTHONPATH=f"{folder.parent}")
    stage.until_live(stranger)
    stage.open()
