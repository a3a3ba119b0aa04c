"""Every Redis key of Scrimmage, in one table. No other module writes a key's name.

Only blobs, parsed documents and replays carry a TTL: ``volatile-lru`` may evict any key that has one.
All else that ends by time holds a timestamp (microseconds of Redis's clock) which Lua compares with ``TIME``.
All names begin with ``scrimmage:``; REF is ``platform:run_id``.

=======================  ======  ===========  ==============================================================
key                      type    owner        what it holds; how it ends
=======================  ======  ===========  ==============================================================
``openings``             hash    ledger       request id → its time and the request; removed when the run is
                                              open or refused
``rejections``           list    ledger       refused requests, newest first; trimmed to fifty
``claims``               hash    ledger       ref → request id that the run belongs to; with the run
``runs``                 zset    ledger       ref, scored by the time it was opened; with the run
``run:REF``              hash    ledger       the run's own fields; removed after archiving
``run:REF:tasks``        zset    ledger       ids of all tasks, scored by their rank; with the run
``run:REF:task:ID``      hash    ledger       one task: status, fence, solution, receipt; with the run
``run:REF:pending``      set     ledger       ids of tasks that have not reported; with the run
``run:REF:unsent``       zset    ledger       ids of queued tasks without a job, by rank; with the run
``run:REF:events``       stream  ledger       narration of transitions; with the run
``run:REF:journal``      hash    journal      TASK/POSITION → intent or result of an effect,
                                              TASK/read:TOKEN of other calls, TASK/lost where earlier
                                              ones are not known; with the run
``run:REF:spend``        hash    spend        model calls and what is committed by task and in all, micro-
                                              dollars; with the run
``run:REF:transcripts``  hash    transcript   task id → compressed JSON lines; with the run
``run:REF:listing``      string  listings     the files of every task, compressed; with the run
``run:REF:plan``         string  fetcher      the requests that bring them (JSON); with the run
``run:REF:lost``         hash    fetcher      sha → how often that file did not come as listed; with the run
``tools:ACCOUNT``        string  platforms    what the platform lists as tools, and when (JSON); stays (a few
                                              KB, asked for again after an hour)
``leases``               zset    ledger       REF|ID of leased tasks, by the lease's end
``due``                  zset    ledger       REF|ID of waiting tasks, by their due time
``sent``                 zset    ledger       REF|ID of queued tasks that have a job, by the time it was
                                              sent
``sweeps``               hash    spend        sweep → micro-dollars committed by its runs, and what its calls
                                              cost beside their estimates; removed when the sweep ends
``workers``              hash    fleet        node → heartbeat; tend removes silent ones
``tending``              hash    ledger       who tends, until when; overwritten by the next
``bucket:NAME``          hash    bucket       GCRA state of one account; stays (a few bytes)
``born``                 string  bucket       since when nothing was lost here, 0 for a new data set; stays
``bucket:NAME:pauses``   pubsub  bucket       its pauses are published there; stores nothing
``blob:SHA``             string  blobs        one file's bytes; TTL
``blobs``                zset    blobs        sha of cached blobs, by last use; trimmed by the cap
``blobs:sizes``          hash    blobs        sha → bytes; with ``blobs``
``flight:NAME``          hash    flights      who fetches or parses NAME, until when, or its failure;
                                              overwritten or removed at the end of the flight
``flights``              zset    flights      keys of flights, by the end of what they say; removed when over
``pacing:NAME``          hash    pacing       calls that a model's key may have open, its pause; stays (a few
                                              bytes)
``pacing:NAME:slots``    zset    pacing       calls under way, by the end of their lease; dead ones fall out
``pacing:NAME:queue``    zset    pacing       callers that wait, by arrival; who stops asking falls out
``pacing:NAME:asked``    zset    pacing       callers that wait, by when they lose their place
``replay:SHA``           string  replays      a model's answer, by the hash of the endpoint and request, or a
                                              text that was made once, by its name's; TTL
``parsed:VERSION:SHA``   string  parse cache  a parsed document; TTL
``trust:ORIGIN``         hash    trust        VERSION/THEME/TOOL/CALL → "agreed", VERSION/THEME/TOOL → why the
                                              tool goes out; stays (a few KB)
=======================  ======  ===========  ==============================================================
"""

from __future__ import annotations

from collections.abc import Iterable

from shared.models import RunRef

PREFIX = "scrimmage:"

OPENINGS = f"{PREFIX}openings"
REJECTIONS = f"{PREFIX}rejections"
CLAIMS = f"{PREFIX}claims"
RUNS = f"{PREFIX}runs"
LEASES = f"{PREFIX}leases"
DUE = f"{PREFIX}due"
SENT = f"{PREFIX}sent"
SWEEPS = f"{PREFIX}sweeps"
WORKERS = f"{PREFIX}workers"
TENDING = f"{PREFIX}tending"
BORN = f"{PREFIX}born"
FLIGHTS = f"{PREFIX}flights"
BLOBS = f"{PREFIX}blobs"
BLOB_SIZES = f"{PREFIX}blobs:sizes"
RUN_PREFIX = f"{PREFIX}run:"
"""What the names of all runs' hashes begin with."""


def run(ref: RunRef) -> str:
    return f"{RUN_PREFIX}{ref}"


def tasks(ref: RunRef) -> str:
    return f"{run(ref)}:tasks"


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


def listing(ref: RunRef) -> str:
    return f"{run(ref)}:listing"


def plan(ref: RunRef) -> str:
    return f"{run(ref)}:plan"


def lost(ref: RunRef) -> str:
    return f"{run(ref)}:lost"


def tools(account: str) -> str:
    return f"{PREFIX}tools:{account}"


def ledger(ref: RunRef) -> list[str]:
    """The keys of one run that the ledger's scripts take, in the order in which ``run.lua`` names them.

    The third is the beginning of the task keys: a script appends the id of the task that it means.
    """
    own = [run(ref), tasks(ref), task(ref, ""), pending(ref), unsent(ref), events(ref)]
    return [*own, LEASES, DUE, SENT, RUNS, CLAIMS, OPENINGS]


def of_run(ref: RunRef, task_ids: Iterable[str]) -> list[str]:
    """Every key that ends with the run."""
    own = [run, tasks, pending, unsent, events, journal, spend, transcripts, listing, plan, lost]
    return [key(ref) for key in own] + [task(ref, task_id) for task_id in task_ids]


def bucket(name: str) -> str:
    return f"{PREFIX}bucket:{name}"


def pauses(name: str) -> str:
    """The channel on which a bucket's pauses are published; not a key."""
    return f"{bucket(name)}:pauses"


def blob(sha256: str) -> str:
    return f"{PREFIX}blob:{sha256}"


def flight(name: str) -> str:
    return f"{PREFIX}flight:{name}"


def pacing(name: str) -> str:
    return f"{PREFIX}pacing:{name}"


def pacing_slots(name: str) -> str:
    return f"{pacing(name)}:slots"


def pacing_queue(name: str) -> str:
    return f"{pacing(name)}:queue"


def pacing_asked(name: str) -> str:
    return f"{pacing(name)}:asked"


def replay(sha256: str) -> str:
    return f"{PREFIX}replay:{sha256}"


def parsed(version: str, sha256: str) -> str:
    return f"{PREFIX}parsed:{version}:{sha256}"


def trust(origin: str) -> str:
    return f"{PREFIX}trust:{origin}"
