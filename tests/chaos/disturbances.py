"""The catalogue: dying processes, a Redis that goes away, a network that breaks, a platform that errs."""

from __future__ import annotations

import signal
import time
from contextlib import suppress

import psutil

from shared.models import Kind, RunStatus
from tests.chaos.disturbance import disturbance
from tests.chaos.stage import Setup, Stage, kill
from tests.support.played_arena import Rule
from tests.support.playing import wait_for

WORKER_BACK, FINISHER_BACK, REDIS_BACK = 15.0, 10.0, 5.0
"""Seconds until a killed worker's tasks run again, a dead finalizer is replaced, work flows once more."""

ERRATIC = (
    {"endpoint": "* /**", "probability": 0.05, "fault": "status"},
    {"endpoint": "* /**", "probability": 0.05, "fault": "drop", "when": "after"},
    {"endpoint": "* /**", "probability": 0.02, "fault": "hang", "seconds": 10},
    {"endpoint": "* /**", "probability": 0.02, "fault": "truncate"},
    {"endpoint": "* /**", "probability": 0.02, "fault": "too_many"},
)
"""Faults on every endpoint, independent of each other."""


def hang(endpoint: str, nth: int, seconds: float, when: str = "before") -> Rule:
    """One request gets no answer for a while, before or after it is carried out: a moment to kill at."""
    return {"endpoint": endpoint, "nth": nth, "fault": "hang", "seconds": seconds, "when": when}


SUBMIT = "POST /runs/*/tasks/*/submit"
CALL = "POST /runs/*/tasks/*/tools/"


@disturbance()
def calm(stage: Stage) -> None:
    """Nothing happens: what the others are compared with."""
    stage.open()


# -- processes


@disturbance(Setup(tasks=16, seconds=1.0, processes=2))
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


@disturbance(Setup(tasks=12, seconds=1.0, machines=2))
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


@disturbance(Setup(tasks=16, seconds=1.0, machines=2))
def machine_killed(stage: Stage) -> None:
    """kill -9 of a supervisor and, with it, of everything on its machine; another machine is there."""
    ref = stage.open()
    stage.until_leased(ref, 5)
    stage.pause(0, 1.5)
    stage.machines[stage.chance.randrange(2)].workers.process.kill()


@disturbance(Setup(tasks=16, seconds=1.0, machines=2))
def machine_leaves(stage: Stage) -> None:
    """SIGTERM to one of two machines: it finishes what it has, the other does the rest."""
    ref = stage.open()
    stage.until_leased(ref, 5)
    stage.pause(0, 1.5)
    leaving = stage.machines[stage.chance.randrange(2)].workers
    leaving.process.send_signal(signal.SIGTERM)
    leaving.process.wait(30)
    assert stage.happened(ref, "lost").total() == 0


@disturbance(Setup(tasks=8, seconds=0.2, rules=(hang("POST /runs/*/finish", 1, 4),)))
def finisher_killed_sealing(stage: Stage) -> None:
    """kill -9 of the finalizer while the platform closes the run."""
    _kill_the_finisher_at_a_fault(stage)


@disturbance(Setup(tasks=8, seconds=0.2, lease=10.0, rules=(hang("POST /runs/*/finish", 1, 4),)))
def finisher_killed_under_real_leases(stage: Stage) -> None:
    """The same with the lease that the pool has by default."""
    _kill_the_finisher_at_a_fault(stage)


@disturbance(Setup(tasks=8, seconds=0.2, rules=(hang(SUBMIT, 3, 3, "after"),)))
def finisher_killed_submitting(stage: Stage) -> None:
    """kill -9 of the finalizer after some answers were taken whose receipts it never saw."""
    _kill_the_finisher_at_a_fault(stage)


def _kill_the_finisher_at_a_fault(stage: Stage) -> None:
    ref = stage.open()
    stage.until_fault()
    stage.pause(0, 0.3)
    kill(stage.nodes("finish"))
    killed = time.monotonic()
    stage.measure(
        "a dead finalizer is replaced", FINISHER_BACK, lambda: stage.state(ref).status.final, killed
    )


@disturbance(Setup(tasks=8, seconds=0.2))
def finisher_killed_anywhere(stage: Stage) -> None:
    """kill -9 of the finalizer at a moment between any two of its steps, twice."""
    ref = stage.open()
    wait_for(lambda: stage.state(ref).status is not RunStatus.SOLVING, 30, "everything has reported")
    stage.pause(0, 0.15)
    kill(stage.nodes("finish"))
    killed = time.monotonic()
    stage.measure(
        "a dead finalizer is replaced", FINISHER_BACK, lambda: stage.state(ref).status.final, killed
    )


@disturbance(Setup(tasks=12, machines=2))
def tender_killed(stage: Stage) -> None:
    """kill -9 of whoever tends, whoever that is, three times."""
    ref = stage.open()
    stage.until_leased(ref, 1)
    for _ in range(3):
        tender = stage.tender()
        kill([tender] if tender else [])
        stage.pause(0.2, 1.5)


@disturbance(
    Setup(
        tasks=9,
        seconds=0.2,
        rules=(hang(CALL + "send_message", 1, 3, "after"), hang(CALL + "write", 2, 3)),
    )
)
def worker_killed_in_an_effect(stage: Stage) -> None:
    """kill -9 of the solving process while the platform carries out a mail, or has not yet taken a draft."""
    stage.open()
    stage.until_fault(stage.chance.randint(1, 2))
    stage.pause(0, 0.5)
    kill(stage.nodes("solve1"))


@disturbance(Setup(tasks=16, seconds=0.5, machines=2), seconds=90)
def anybody_killed_again_and_again(stage: Stage) -> None:
    """kill -9 of a process drawn from all, every second for six."""
    stage.open()
    for _ in range(6):
        everybody = [child for machine in stage.machines for child in machine.workers.children()]
        if everybody:
            kill([stage.chance.choice(everybody)])
        stage.pause(0.7, 1.3)


@disturbance(Setup(tasks=16, seconds=0.5, machines=2))
def two_machines_two_runs(stage: Stage) -> None:
    """Two pools of workers on one ledger, each at work on both of two runs."""
    stage.open()
    stage.open()


@disturbance(Setup(tasks=12))
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


# -- the command


@disturbance(Setup(tasks=12))
def command_killed(stage: Stage) -> None:
    """kill -9 of `scrimmage run`: the workers need nobody."""
    command = stage.terminal.start("run", "--solver", "steady")
    stage.until_known()
    stage.pause(0, 2)
    command.kill()


@disturbance(Setup(tasks=12, rules=(hang("POST /runs", 1, 3, "after"),)))
def command_killed_opening(stage: Stage) -> None:
    """kill -9 of `scrimmage run` before it hears that its run is open; `resume` finds it, and is killed."""
    command = stage.terminal.start("run", "--solver", "steady")
    stage.until_fault()
    stage.pause(0, 0.3)
    command.kill()
    resumed = stage.terminal.start("resume")
    stage.until_known()
    resumed.kill()
    assert len(stage.app.arena.runs.all()) == 1


@disturbance(Setup(tasks=12, seconds=1.0), excused=("done", "all", "cost"))
def redis_lost(stage: Stage) -> None:
    """Redis is back without its data; `resume` asks the platform.

    What was billed before is forgotten with the ledger. A task whose tool calls nobody remembers gets no
    further effects.
    """
    command = stage.terminal.start("run", "--solver", "steady")
    ref = stage.until_known()
    stage.until_leased(ref, 4)
    stage.pause(0, 3)
    stage.kill_redis()
    stage.restart_redis(empty=True)
    command.kill()
    resumed = stage.terminal.start("resume")
    stage.until_known()
    resumed.kill()


# -- Redis


@disturbance(Setup(tasks=12, seconds=1.0))
def redis_stands_still(stage: Stage) -> None:
    """Redis does not answer for five seconds: more than two leases."""
    ref = stage.open()
    stage.until_leased(ref, 4)
    stage.pause(0, 1)
    server = psutil.Process(stage.redis.pid)
    server.suspend()
    time.sleep(5)
    server.resume()
    _measure_flow(stage)


@disturbance(Setup(tasks=12, seconds=1.0))
def redis_killed(stage: Stage) -> None:
    """kill -9 of Redis; some seconds later it is back with its data."""
    ref = stage.open()
    stage.until_leased(ref, 4)
    stage.pause(0, 1)
    stage.kill_redis()
    stage.pause(0.2, 4)
    stage.restart_redis()
    _measure_flow(stage)


@disturbance(Setup(tasks=12, seconds=0.5))
def redis_full(stage: Stage) -> None:
    """Redis takes nothing for some seconds: its memory is used up."""
    ref = stage.open()
    stage.until_leased(ref, 1)
    stage.pause(0, 1)
    stage.pool.redis.do(lambda client: client.config_set("maxmemory", "1mb"))
    stage.pause(2, 5)
    stage.pool.redis.do(lambda client: client.config_set("maxmemory", "64mb"))
    _measure_flow(stage)


@disturbance(Setup(tasks=12, seconds=0.5))
def redis_slow(stage: Stage) -> None:
    """Redis answers nobody for a second, again and again."""
    ref = stage.open()
    stage.until_leased(ref, 1)
    for _ in range(4):
        stage.pool.redis.do(lambda client: client.client_pause(stage.chance.randint(500, 1500)))
        stage.pause(0.3, 1)


def _measure_flow(stage: Stage) -> None:
    """Tasks are taken up again soon: of the run that was under way, or of one that is opened now."""
    back = time.monotonic()
    before = stage.leases()
    stage.open()
    stage.measure("Redis is back and work flows", REDIS_BACK, lambda: stage.leases() > before, back)


# -- network


@disturbance(Setup(tasks=16, seconds=0.7, machines=2, cuttable=True))
def machine_cut_from_redis(stage: Stage) -> None:
    """One of two machines loses Redis for longer than its leases last, and comes back."""
    ref = stage.open()
    stage.until_leased(ref, 5)
    link = stage.machines[stage.chance.randrange(2)].to_redis
    assert link is not None
    link.cut = True
    stage.pause(3, 6)
    link.cut = False
    if stage.chance.random() < 0.5:
        link.reset()


@disturbance(Setup(tasks=12, seconds=0.3, machines=2, cuttable=True), excused=("limit",))
def machine_cut_from_the_platform(stage: Stage) -> None:
    """One of two machines loses the platform. Requests that pile up in the network arrive in a heap."""
    ref = stage.open()
    stage.until_leased(ref, 1)
    link = stage.machines[stage.chance.randrange(2)].to_platform
    assert link is not None
    link.cut = True
    stage.pause(2, 6)
    link.cut = False
    link.reset()


@disturbance(Setup(tasks=8, seconds=0.3, lease=10.0, cuttable=True), seconds=90)
def far_away(stage: Stage) -> None:
    """Every answer of Redis and of the platform takes 200 ms."""
    for proxy in (stage.machines[0].to_redis, stage.machines[0].to_platform):
        assert proxy is not None
        proxy.delay = 0.1
    stage.open()


# -- platform and model


@disturbance(Setup(tasks=12, seconds=0.2, rules=ERRATIC), seconds=90)
def erratic_platform(stage: Stage) -> None:
    """Errors, lost answers, hangs, cut-off bodies and 429s on every endpoint."""
    stage.open()


@disturbance(Setup(tasks=12, seconds=0.2), seconds=60)
def model_down(stage: Stage) -> None:
    """The model is overloaded for some seconds, in which nobody can be served."""
    ref = stage.open()
    stage.until_leased(ref, 1)
    stage.meter.down = True
    stage.pause(3, 8)
    stage.meter.down = False


@disturbance(Setup(kind=Kind.FINAL, tasks=12, seconds=0.3, deadline=40.0, skew=3600.0))
def clock_ahead(stage: Stage) -> None:
    """The platform's clock is an hour ahead of ours."""
    stage.open()


@disturbance(Setup(kind=Kind.FINAL, tasks=12, seconds=0.3, deadline=40.0, skew=-3600.0))
def clock_behind(stage: Stage) -> None:
    """The platform's clock is an hour behind ours."""
    stage.open()


@disturbance(
    Setup(
        kind=Kind.FINAL,
        tasks=12,
        seconds=0.5,
        deadline=40.0,
        rules=({"endpoint": SUBMIT, "nth": 5, "fault": "deadline", "seconds": 1},),
    ),
    excused=("all", "sealed"),
)
def deadline_moved(stage: Stage) -> None:
    """The platform ends a final run half a minute early, without a word. What was submitted counts."""
    stage.open()


# -- all of it


@disturbance(
    Setup(kind=Kind.FINAL, tasks=30, seconds=1.0, deadline=90.0, machines=2, rules=ERRATIC, spare=1),
    seconds=120,
)
def final_with_everything(stage: Stage) -> None:
    """A final run of 90 s on an erratic platform: processes are killed, Redis is killed and comes back."""
    stage.open()
    redis_falls = stage.chance.randrange(8)
    for number in range(8):
        stage.pause(1, 3)
        everybody = [child for machine in stage.machines for child in machine.workers.children()]
        kill([stage.chance.choice(everybody)] if everybody else [])
        if number == redis_falls:
            stage.kill_redis()
            stage.pause(0.2, 3)
            stage.restart_redis()
