"""Networks that break. Behind proxies each machine has an address of the platform of its own, and so a bucket
of its own: there the limit is not looked at. By cables all machines have the same addresses.
"""

from __future__ import annotations

from tests.chaos.disturbance import disturbance
from tests.chaos.network import Cable
from tests.chaos.proxy import Proxy
from tests.chaos.setup import Setup
from tests.chaos.stage import Machine, Stage


@disturbance(Setup(tasks=16, seconds=0.7, machines=2, links="proxies"), excused=("limit",), quick=True)
def machine_cut_from_redis(stage: Stage) -> None:
    """One of two machines loses Redis for longer than its leases last, and comes back."""
    ref = stage.open()
    stage.until_leased(ref, 5)
    link = _proxy(_one_of(stage).to_redis)
    link.cut()
    stage.pause(3, 6)
    link.mend()
    if stage.chance.random() < 0.5:
        link.reset()


@disturbance(Setup(tasks=12, seconds=0.3, machines=2, links="proxies"), excused=("limit",))
def machine_cut_from_the_platform(stage: Stage) -> None:
    """One of two machines loses the platform; then its connections break."""
    ref = stage.open()
    stage.until_leased(ref, 1)
    link = _proxy(_one_of(stage).to_platform)
    link.cut()
    stage.pause(2, 6)
    link.mend()
    link.reset()


@disturbance(Setup(tasks=16, seconds=0.7, machines=2, links="proxies"), excused=("limit",), seconds=90)
def connections_swallowed(stage: Stage) -> None:
    """One of two machines sends to Redis or platform into a black hole; old connections stay dead."""
    ref = stage.open()
    stage.until_leased(ref, 5)
    machine = _one_of(stage)
    link = _proxy(machine.to_redis if stage.chance.random() < 0.5 else machine.to_platform)
    link.swallow()
    stage.pause(1, 4)
    link.mend()


@disturbance(Setup(tasks=16, seconds=0.7, machines=2, links="cables"), seconds=90)
def machine_unplugged_from_redis(stage: Stage) -> None:
    """The cable from one of two machines to Redis is out for longer than its leases last."""
    ref = stage.open()
    stage.until_leased(ref, 5)
    _unplug(stage, _one_of(stage).to_redis)


@disturbance(
    Setup(tasks=16, seconds=0.3, threads=2, machines=2, links="cables"), excused=("limit",), seconds=90
)
def machine_unplugged_from_the_platform(stage: Stage) -> None:
    """The cable from one of two machines to the platform is out. What is sent again arrives in a heap."""
    ref = stage.open()
    stage.until_leased(ref, 1)
    _unplug(stage, _one_of(stage).to_platform)


def _unplug(stage: Stage, cable: Proxy | Cable | None) -> None:
    assert isinstance(cable, Cable)
    cable.cut()
    stage.pause(3, 8)
    cable.mend()


@disturbance(Setup(tasks=8, seconds=0.3, lease=10.0, links="proxies"), excused=("limit",), seconds=90)
def far_away(stage: Stage) -> None:
    """Every answer of Redis and of the platform takes 200 ms."""
    for link in (stage.machines[0].to_redis, stage.machines[0].to_platform):
        _proxy(link).delay = 0.1
    stage.open()


def _one_of(stage: Stage) -> Machine:
    return stage.machines[stage.chance.randrange(2)]


def _proxy(link: Proxy | Cable | None) -> Proxy:
    assert isinstance(link, Proxy)
    return link
