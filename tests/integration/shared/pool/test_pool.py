"""The pool as a whole."""

from __future__ import annotations

import os

import pytest

from shared.deadline import Deadline
from shared.errors import SettingsError
from shared.models import Limits
from shared.pool.bucket import Lane
from shared.pool.pool import Pool
from shared.settings import Settings


def test_without_a_redis_it_says_how_to_get_one() -> None:
    with pytest.raises(SettingsError, match="SCRIMMAGE_REDIS_URL"):
        Pool.connect(Settings.load(_env_file=None, redis_url=None))


def test_nothing_is_opened_before_first_use() -> None:
    with Pool.connect(Settings.load(_env_file=None, redis_url="redis://127.0.0.1:1/0")) as pool:
        pool.bucket("arena:0123abcd", Limits(20, 100))


def test_a_bucket_is_the_same_object_every_time_with_the_margin_of_the_settings(redis_url: str) -> None:
    settings = Settings.load(
        _env_file=None, redis_url=redis_url, bucket_margin_tokens=7, bucket_margin_rate=0.1
    )
    with Pool.connect(settings) as pool:
        bucket = pool.bucket("arena:0123abcd", Limits(20, 100))
        assert pool.bucket("arena:0123abcd", Limits(20, 100)) is bucket
        assert bucket.state().burst == 93
        assert bucket.state().rate == pytest.approx(18, rel=1e-3)


def test_blobs_may_live_in_another_redis(redis_url: str) -> None:
    cache_url = redis_url.removesuffix("/0") + "/1"
    with Pool.connect(Settings.load(_env_file=None, redis_url=redis_url, cache_url=cache_url)) as pool:
        sha = pool.blobs.put(b"over there")
        assert pool.redis.do(lambda client: client.dbsize()) == 1  # `born`
    with Pool.connect(Settings.load(_env_file=None, redis_url=cache_url)) as pool:
        assert pool.blobs.get(sha) == b"over there"


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_pool_that_is_in_use_may_be_used_in_a_forked_child(pool: Pool) -> None:
    bucket = pool.bucket("arena:0123abcd", Limits(100, 20))
    bucket.acquire(Lane.TOOLS, Deadline.after(5))
    child = os.fork()
    if child == 0:
        try:
            bucket.acquire(Lane.TOOLS, Deadline.after(5))
            pool.blobs.put(b"the child's")
        except BaseException:  # the child must end here whatever happens
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    bucket.acquire(Lane.TOOLS, Deadline.after(5))
    assert bucket.state().granted == 3
