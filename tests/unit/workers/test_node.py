"""Telling a deaf consumer from an idle one."""

from workers.node import Hearing


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_a_consumer_is_deaf_when_jobs_wait_slots_are_free_and_nothing_comes():
    clock = Clock()
    hearing = Hearing(seconds=15, clock=clock)
    assert not hearing.deaf(waiting=3, free=2, taken=5)
    clock.now += 14
    assert not hearing.deaf(waiting=3, free=2, taken=5)
    clock.now += 1
    assert hearing.deaf(waiting=3, free=2, taken=5)


def test_an_empty_queue_a_full_worker_or_a_new_job_begin_the_count_again():
    clock = Clock()
    hearing = Hearing(seconds=15, clock=clock)
    for seen in (
        {"waiting": 0, "free": 2, "taken": 5},
        {"waiting": 3, "free": 0, "taken": 5},
        {"waiting": 3, "free": 2, "taken": 6},
    ):
        hearing.deaf(waiting=3, free=2, taken=5)
        clock.now += 14
        assert not hearing.deaf(**seen)
        clock.now += 14
        assert not hearing.deaf(waiting=3, free=2, taken=seen["taken"])
        clock.now += 14
