"""Every Redis key of Scrimmage, in one table. No other module writes a key's name.

Only blobs and parsed documents carry a TTL: ``volatile-lru`` may evict any key that has one. Everything
else that ends by time holds a timestamp (microseconds of Redis's clock) which Lua compares with ``TIME``.

===============================  ======  ==========  ==================================================
key (after ``scrimmage:``)       type    owner       what it holds; how it ends
===============================  ======  ==========  ==================================================
``openings``                     hash    ledger      request id → request and its time; removed when the
                                                     run is open or refused
``claims``                       hash    ledger      ref → request id that the run belongs to; with the run
``runs``                         zset    ledger      ref, scored by the time it was opened; with the run
``run:REF``                      hash    ledger      the run's own fields; removed after archiving
``run:REF:task:ID``              hash    ledger      one task: status, attempt, fence, solution, receipt;
                                                     with the run
``run:REF:pending``              set     ledger      ids of tasks that have not reported; with the run
``run:REF:unsent``               zset    ledger      ids of queued tasks without a job, by worth; with the run
``run:REF:events``               stream  ledger      narration of transitions; with the run
``run:REF:journal``              hash    journal     TASK/POSITION → intent, call, result; with the run
``run:REF:spend``                hash    spend       money by task and in all, micro-dollars; with the run
``run:REF:transcripts``          hash    transcript  task id → compressed JSON lines; with the run
``run:REF:manifest``             string  workspace   the platform's listing of files; with the run
``leases``                       zset    ledger      REF|ID of leased tasks, by the lease's end
``due``                          zset    ledger      REF|ID of waiting tasks, by their due time
``workers``                      hash    fleet       node → heartbeat; tend removes silent ones
``tending``                      hash    tend        who tends, until when; overwritten by the next
``bucket:NAME``                  hash    bucket      GCRA state of one account; stays (a few bytes)
``blob:SHA``                     string  blobs       one file's bytes; TTL
``blobs``                        zset    blobs       sha of cached blobs, by last use; trimmed by the cap
``blobs:sizes``                  hash    blobs       sha → bytes; with ``blobs``
``flight:NAME``                  hash    flights     who fetches or parses NAME, until when, or its failure;
                                                     overwritten or removed at the end of the flight
``parsed:VERSION:SHA``           string  parse cache a parsed document; TTL
===============================  ======  ==========  ==================================================
"""

from __future__ import annotations

from shared.models import RunRef

PREFIX = "scrimmage:"

OPENINGS = f"{PREFIX}openings"
CLAIMS = f"{PREFIX}claims"
RUNS = f"{PREFIX}runs"
LEASES = f"{PREFIX}leases"
DUE = f"{PREFIX}due"
WORKERS = f"{PREFIX}workers"
TENDING = f"{PREFIX}tending"
BLOBS = f"{PREFIX}blobs"
BLOB_SIZES = f"{PREFIX}blobs:sizes"


def run(ref: RunRef) -> str:
    return f"{PREFIX}run:{ref}"


def task(ref: RunRef, task_id: str) -> str:
    return f"{run(ref)}:task:{task_id}"


def pending(ref: RunRef) -> str:
    return f"{run(ref)}:pending"


def unsent(ref: RunRef) -> str:
    return f"{run(ref)}:unsent"


def events(ref: RunRef) -> str:
    return f"{run(ref)}:events"


def journal(ref: RunRef) -> str:
    return f"{run(ref)}:journal"


def spend(ref: RunRef) -> str:
    return f"{run(ref)}:spend"


def transcripts(ref: RunRef) -> str:
    return f"{run(ref)}:transcripts"


def manifest(ref: RunRef) -> str:
    return f"{run(ref)}:manifest"


def bucket(name: str) -> str:
    return f"{PREFIX}bucket:{name}"


def blob(sha256: str) -> str:
    return f"{PREFIX}blob:{sha256}"


def flight(name: str) -> str:
    return f"{PREFIX}flight:{name}"


def parsed(version: str, sha256: str) -> str:
    return f"{PREFIX}parsed:{version}:{sha256}"
