from hypothesis import given
from hypothesis import strategies as st

from emulators.limiter import Limiter

RATE, BURST = 20.0, 100


def test_a_full_bucket_gives_its_burst_then_its_rate():
    now = [0.0]
    limiter = Limiter(RATE, BURST, lambda: now[0])
    assert [limiter.take("a") for _ in range(BURST)] == [0.0] * BURST
    wait = limiter.take("a")
    assert wait == 1 / RATE
    now[0] += wait
    assert limiter.take("a") == 0.0
    assert limiter.take("a") > 0


def test_accounts_do_not_share_a_bucket():
    limiter = Limiter(RATE, 1, lambda: 0.0)
    assert [limiter.take(name) for name in ("a", "b")] == [0.0, 0.0]
    assert limiter.take("a") > 0


@given(st.lists(st.floats(0, 3), min_size=1, max_size=400))
def test_no_window_holds_more_than_burst_plus_rate_times_its_length(pauses):
    now = [0.0]
    limiter = Limiter(RATE, 10, lambda: now[0])
    granted = []
    for pause in pauses:
        now[0] += pause / 20
        if limiter.take("a") == 0.0:
            granted.append(now[0])
    for first, start in enumerate(granted):
        for last in range(first, len(granted)):
            assert last - first + 1 <= 10 + RATE * (granted[last] - start) + 1e-6
