"""Transcripts are kept in order, compressed and bounded."""

from __future__ import annotations

import random

import redis

from shared.pool import keys
from shared.pool.connection import Patient
from shared.pool.ledger import Ledger
from shared.pool.transcript import Transcripts
from tests.support.ledger import a_run, open_run


def test_entries_are_read_as_they_were_appended(patient: Patient, ledger: Ledger) -> None:
    transcripts, ref = Transcripts(patient), open_run(ledger)
    transcripts.append(ref, "t1", [{"event": "a", "text": "line\nbreak é \ud800"}, {"event": "b", "n": 1}])
    transcripts.append(ref, "t2", [{"event": "other"}])
    transcripts.append(ref, "t1", [])
    transcripts.append(ref, "t1", [{"event": "c", "what": {1, 2}.__class__}])
    assert transcripts.read(ref, "t1") == [
        {"event": "a", "text": "line\nbreak é \ud800"},
        {"event": "b", "n": 1},
        {"event": "c", "what": "<class 'set'>"},
    ]
    assert transcripts.read(ref, "t3") == []


def test_what_does_not_fit_is_counted(patient: Patient, ledger: Ledger) -> None:
    transcripts, ref = Transcripts(patient, most_bytes=2000), open_run(ledger)
    noise = random.Random(1)
    big = [{"event": "big", "text": noise.randbytes(800).hex()}] * 2
    transcripts.append(ref, "t1", big)
    transcripts.append(ref, "t1", [{"event": "too big", "text": noise.randbytes(800).hex()}] * 3)
    transcripts.append(ref, "t1", [{"event": "small"}])
    entries = transcripts.read(ref, "t1")
    assert [entry["event"] for entry in entries] == ["big", "big", "small", "transcript.full"]
    assert entries[-1]["dropped"] == 3


def test_text_that_repeats_takes_little_room(
    patient: Patient, ledger: Ledger, redis_client: redis.Redis
) -> None:
    transcripts, ref = Transcripts(patient), open_run(ledger)
    transcripts.append(ref, "t1", [{"prompt": "the same beginning " * 1000}] * 5)
    assert redis_client.hstrlen(keys.transcripts(ref), "lines:t1") < 1000


def test_a_repeated_append_adds_nothing(patient: Patient, ledger: Ledger) -> None:
    ref = open_run(ledger)
    append = patient.script("transcript_append")
    for _ in range(2):
        append([keys.run(ref), keys.transcripts(ref)], ["t1", "token", "eJyLrgYAAXUA+Q==", 1, 1000])
    stored = patient.do(lambda client: client.hget(keys.transcripts(ref), "lines:t1"))
    assert stored == "eJyLrgYAAXUA+Q==\n"


def test_a_run_that_is_gone_gets_no_transcript(patient: Patient, redis_client: redis.Redis) -> None:
    ref = a_run("run_gone").ref
    Transcripts(patient).append(ref, "t1", [{"event": "late"}])
    assert not redis_client.exists(keys.transcripts(ref))
