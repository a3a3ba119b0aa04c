"""How fast a workspace opens: cold, from Redis, in the process; queries; and two other ways beside it.

    python -m benchmarks.workspace [--seed 7] [--theme hub]

The workspace is every file of one emulator scenario (all of its tasks together, 46 files of 1.8 MB).
Each phase runs in a process of its own, whose peak memory is printed. The "naive way" is what a worker does
without the cache: each of the 30 tasks parses its own files again. The "bare loop" calls the underlying
libraries and throws away what they return: no locators, no limits, no tables. Times vary with what else
runs on the machine; compare lines of one run only.
"""

from __future__ import annotations

import csv
import io
import json
import multiprocessing
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.command import arguments
from emulators.arena.scenario import Scenario, build
from shared.deadline import Deadline
from shared.documents.registry import parse
from shared.documents.sandbox import Parsers
from shared.pool.pool import Pool
from shared.pool.server import RedisServer
from shared.settings import Settings
from shared.workspace.parse_cache import ParseCache
from shared.workspace.workspace import Workspace, Workspaces

LIMITS = {"cold": 3000.0, "warm (Redis)": 150.0, "warm (process)": 5.0, "query_logs": 5.0}
SQL = "select a.team, count(*) from events e join {agents} a on a.{key} = e.agent group by 1"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--theme", default="hub")
    parser.add_argument("--seed", type=int, default=7)
    asked = parser.parse_args()
    scenario = build(asked.theme, asked.seed, 1)
    files = _files(scenario)
    size = sum(len(scenario.blobs[sha]) for sha in files.values()) / 1e6
    print(f"{len(files)} files, {size:.1f} MB, {asked.theme} {asked.seed}\n")
    with tempfile.TemporaryDirectory() as folder, RedisServer.start(Path(folder)) as server:
        for phase in (_cold, _warm_redis, _naive, _bare):
            _print(_in_own_process(phase, server.url, asked.theme, asked.seed))


def _files(scenario: Scenario) -> dict[str, str]:
    return {path: sha for task in scenario.tasks for path, sha in task.files.items()}


def _in_own_process(phase: Callable[..., dict[str, float]], *args: Any) -> dict[str, float]:
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as process:
        return process.submit(phase, *args).result()


def _print(figures: Mapping[str, float]) -> None:
    for name, value in figures.items():
        unit = "MB" if name.startswith("  peak") else "ms"
        limit = LIMITS.get(name)
        verdict = "" if limit is None else f"   limit {limit:g} ms: {'met' if value <= limit else 'NOT MET'}"
        print(f"{name:<58}{value:10.1f} {unit}{verdict}")
    print()


def _timed(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1000


def _peak(who: str) -> dict[str, float]:
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {f"  peak memory, {who}": own} | ({"  peak memory, parsing process": children} if children else {})


def _open(url: str, theme: str, seed: int, parsers: Parsers) -> tuple[Scenario, Workspace]:
    scenario = build(theme, seed, 1)
    pool = Pool.connect(Settings(redis_url=url))
    workspaces = Workspaces(ParseCache.over(pool, parsers))
    return scenario, workspaces.open(_files(scenario), scenario.blobs.__getitem__, Deadline.after(600))


def _documents(workspace: Workspace) -> None:
    """Every document, its blocks and tables decoded."""
    for path in workspace.paths():
        document = workspace.document(path)
        sum(len(block.text) for block in document.blocks)
        sum(len(table) for table in document.tables)


def _cold(url: str, theme: str, seed: int) -> dict[str, float]:
    with Parsers(processes=2) as parsers:
        parsers.warm()
        _, workspace = _open(url, theme, seed, parsers)
        figures = {"cold": _timed(lambda: _documents(workspace))}
    return figures | _peak("worker process, cold")  # children count once they have ended


def _warm_redis(url: str, theme: str, seed: int) -> dict[str, float]:
    with Parsers() as parsers:
        scenario, workspace = _open(url, theme, seed, parsers)
        worked = time.process_time()
        figures = {"warm (Redis)": _timed(lambda: (workspace.warm(), _documents(workspace)))}
        figures["  processor time of it"] = (time.process_time() - worked) * 1000
        again = [_timed(lambda: _documents(workspace)) for _ in range(9)]
        figures["warm (process)"] = statistics.median(again)
        figures["logs found and read, first query_logs"] = _timed(
            lambda: workspace.tools.call("query_logs", {})
        )
        events = workspace.tools.call("query_logs", {"limit": 200})["events"]
        calls = [{key: event[key]} for event in events for key in ("agent", "action", "target", "trace")]
        calls += [{"text": event["agent"]} for event in events]
        calls += [{"since": event["time"], "agent": event["agent"], "limit": 200} for event in events]
        times = [_timed(lambda args=args: workspace.tools.call("query_logs", args)) for args in calls]
        figures["query_logs"] = statistics.median(times)
        figures[f"  99th percentile (above: median of {len(times)} calls)"] = statistics.quantiles(
            times, n=100
        )[-1]
        agents = next(n for n in workspace.profile().split() if n in {"agents", "craft", "craft_roll"})
        key = workspace.sql(f"select * from {agents} limit 1").columns[0]
        query = SQL.format(agents=agents, key=key).replace("a.team", f"a.{_team(workspace, agents)}")
        figures["first SQL join over events, with citations"] = _timed(lambda: workspace.sql(query))
        figures["the same again"] = _timed(lambda: workspace.sql(query))
        figures["profile()"] = _timed(workspace.profile)
        pool = Workspaces(ParseCache.over(Pool.connect(Settings(redis_url=url)), parsers))
        views = [
            pool.open(task.files, scenario.blobs.__getitem__, Deadline.after(600)) for task in scenario.tasks
        ]
        figures[f"{len(views)} tasks open and read their workspaces, warm"] = _timed(
            lambda: [(view.warm(), _documents(view)) for view in views]
        )
        return figures | _peak("worker process, all of this")


def _team(workspace: Workspace, agents: str) -> str:
    return workspace.sql(f"select * from {agents} limit 1").columns[2]


def _naive(_: str, theme: str, seed: int) -> dict[str, float]:
    scenario = build(theme, seed, 1)

    def every_task() -> None:
        for task in scenario.tasks:
            for path, sha in task.files.items():
                parse(scenario.blobs[sha], path)

    name = f"naive way: each of {len(scenario.tasks)} tasks parses all its files"
    return {name: _timed(every_task)} | _peak("naive process")


def _bare(_: str, theme: str, seed: int) -> dict[str, float]:
    scenario = build(theme, seed, 1)
    files = _files(scenario)

    def loop() -> None:
        for path, sha in files.items():
            read = _BARE.get(path.rpartition(".")[2])
            if read:
                read(scenario.blobs[sha])

    loop()  # imports
    return {"bare loop over the libraries, each file once": _timed(loop)} | _peak("bare process")


def _bare_pdf(data: bytes) -> None:
    import pypdfium2

    with pypdfium2.PdfDocument(data) as document:
        for page in document:
            page.get_textpage().get_text_bounded()


def _bare_docx(data: bytes) -> None:
    import docx

    [paragraph.text for paragraph in docx.Document(io.BytesIO(data)).paragraphs]


def _bare_xlsx(data: bytes) -> None:
    import openpyxl

    for sheet in openpyxl.load_workbook(io.BytesIO(data)):
        list(sheet.values)


def _bare_odf(data: bytes) -> None:
    from odf import teletype
    from odf.opendocument import load

    teletype.extractText(load(io.BytesIO(data)).body)


_BARE: dict[str, Callable[[bytes], Any]] = {
    "jsonl": lambda data: [json.loads(line) for line in data.decode().splitlines()],
    "json": json.loads,
    "csv": lambda data: list(csv.reader(io.StringIO(data.decode()))),
    "md": lambda data: data.decode().splitlines(),
    "txt": lambda data: data.decode().splitlines(),
    "pdf": _bare_pdf,
    "docx": _bare_docx,
    "xlsx": _bare_xlsx,
    "ods": _bare_odf,
    "odt": _bare_odf,
}


if __name__ == "__main__":
    main()
