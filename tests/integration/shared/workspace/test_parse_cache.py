"""Documents are parsed once in the whole pool: real Redis, real processes."""

from __future__ import annotations

import hashlib
import multiprocessing
import threading
from pathlib import Path

import pytest
import redis

from shared.deadline import Deadline
from shared.documents.document import Block, Document
from shared.documents.locators import Locator
from shared.errors import Unavailable, Unreadable
from shared.pool import keys
from shared.pool.pool import Pool
from shared.settings import Settings
from shared.workspace.parse_cache import UNREADABLE_SECONDS, ParseCache


def soon() -> Deadline:
    return Deadline.after(30)


class CountingParser:
    """Notes each document that it parses in a file, which all processes share."""

    def __init__(self, notes: Path, seconds: float = 0.0) -> None:
        self._notes = notes
        self._seconds = seconds

    def parse(self, data: bytes, name: str) -> Document:
        with self._notes.open("a") as notes:
            notes.write(f"{name}\n")
        threading.Event().wait(self._seconds)
        if data == b"broken":
            raise Unreadable("damaged")
        return Document("txt", [Block(data.decode(), Locator(line=1))])

    def parsed(self) -> list[str]:
        return self._notes.read_text().split() if self._notes.exists() else []


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def settings(redis_url: str) -> Settings:
    return Settings(redis_url=redis_url)


@pytest.fixture
def pool(settings: Settings) -> Pool:
    return Pool.connect(settings)


@pytest.fixture
def parser(tmp_path: Path) -> CountingParser:
    return CountingParser(tmp_path / "parsed")


def get(cache: ParseCache, data: bytes, name: str) -> Document:
    return cache.get(sha(data), name, lambda: data, soon())


def test_a_document_is_parsed_once_and_kept_in_the_process(pool: Pool, parser: CountingParser) -> None:
    cache = ParseCache.over(pool, parser)
    first = get(cache, b"hello", "/a.txt")
    assert first.blocks[0].text == "hello"
    assert get(cache, b"hello", "/b.txt") is first
    assert parser.parsed() == ["/a.txt"]


def test_another_process_takes_it_from_redis_without_the_bytes(pool: Pool, parser: CountingParser) -> None:
    get(ParseCache.over(pool, parser), b"hello", "/a.txt")

    def no_bytes() -> bytes:
        raise AssertionError("the bytes were asked for")

    again = ParseCache.over(pool, parser).get(sha(b"hello"), "/a.txt", no_bytes, soon())
    assert list(again.blocks) == [Block("hello", Locator(line=1))]


def test_equal_bytes_of_another_format_are_another_document(pool: Pool, parser: CountingParser) -> None:
    cache = ParseCache.over(pool, parser)
    get(cache, b"hello", "/a.txt")
    get(cache, b"hello", "/a.md")
    assert parser.parsed() == ["/a.txt", "/a.md"]


def _task(url: str, notes: Path, names: list[str], gate: object) -> None:
    gate.wait()  # type: ignore[attr-defined]
    with Pool.connect(Settings(redis_url=url)) as pool:
        cache = ParseCache.over(pool, CountingParser(notes, seconds=0.05))
        for name in names:
            get(cache, name.encode(), name)


def test_many_processes_that_share_files_parse_each_once(redis_url: str, parser: CountingParser) -> None:
    names = [f"/{number}.txt" for number in range(6)]
    spawn = multiprocessing.get_context("spawn")
    gate = spawn.Barrier(4)
    processes = [
        spawn.Process(target=_task, args=(redis_url, parser._notes, names[start:] + names[:start], gate))
        for start in (0, 0, 3, 5)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * 4
    assert sorted(parser.parsed()) == names


def test_threads_that_want_the_same_document_parse_it_once(pool: Pool, tmp_path: Path) -> None:
    parser = CountingParser(tmp_path / "notes", seconds=0.2)
    cache = ParseCache.over(pool, parser)
    threads = [threading.Thread(target=get, args=(cache, b"hello", "/a.txt")) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert parser.parsed() == ["/a.txt"]


def test_warm_brings_everything_in_one_round_trip(
    pool: Pool, parser: CountingParser, redis_client: redis.Redis
) -> None:
    names = {sha(text): f"/{text.decode()}.txt" for text in (b"a", b"b", b"c")}
    first = ParseCache.over(pool, parser)
    for text in (b"a", b"b"):
        get(first, text, f"/{text.decode()}.txt")
    cache = ParseCache.over(pool, parser)
    before = int(redis_client.info("commandstats")["cmdstat_mget"]["calls"])
    cache.warm(names, soon())
    assert int(redis_client.info("commandstats")["cmdstat_mget"]["calls"]) == before + 1
    redis_client.flushall()
    assert get(cache, b"a", "/a.txt").blocks[0].text == "a"
    assert parser.parsed() == ["/a.txt", "/b.txt"]


def test_what_cannot_be_read_is_a_document_and_remembered_for_a_while_only(
    pool: Pool, parser: CountingParser, redis_client: redis.Redis
) -> None:
    cache = ParseCache.over(pool, parser)
    assert get(cache, b"broken", "/a.txt").unreadable == "damaged"
    assert get(cache, b"broken", "/a.txt").unreadable == "damaged"
    assert parser.parsed() == ["/a.txt"]
    (key,) = redis_client.keys(keys.parsed("*", sha(b"broken")))
    assert 0 < redis_client.ttl(key) <= UNREADABLE_SECONDS


def test_documents_carry_a_ttl_so_that_only_they_are_evicted(
    pool: Pool, parser: CountingParser, redis_client: redis.Redis
) -> None:
    get(ParseCache.over(pool, parser), b"hello", "/a.txt")
    (key,) = redis_client.keys(keys.parsed("*", sha(b"hello")))
    assert 0 < redis_client.ttl(key) <= pool.settings.blob_ttl


def test_a_damaged_entry_is_parsed_anew(
    pool: Pool, parser: CountingParser, redis_client: redis.Redis
) -> None:
    get(ParseCache.over(pool, parser), b"hello", "/a.txt")
    (key,) = redis_client.keys(keys.parsed("*", sha(b"hello")))
    redis_client.set(key, "rubbish", ex=60)
    assert get(ParseCache.over(pool, parser), b"hello", "/a.txt").blocks[0].text == "hello"
    assert parser.parsed() == ["/a.txt", "/a.txt"]


def test_bytes_that_cannot_be_had_are_an_infrastructure_failure(pool: Pool, parser: CountingParser) -> None:
    def away() -> bytes:
        raise Unavailable("the platform does not answer")

    cache = ParseCache.over(pool, parser)
    with pytest.raises(Unavailable, match="does not answer"):
        cache.get(sha(b"hello"), "/a.txt", away, soon())


def test_a_process_keeps_only_so_many_bytes(pool: Pool, parser: CountingParser) -> None:
    cache = ParseCache.over(pool, parser)
    cache._local._most = 1000
    texts = [bytes([65 + number]) * 10 for number in range(20)]
    for text in texts:
        get(cache, text, f"/{text.decode()}.txt")
    assert 0 < cache._local._bytes <= 1000
    assert cache._local.get(("none", "none")) is None
