"""How many requests a second the arena emulator answers, limiter lifted.

    python -m benchmarks.emulator [--rounds 5] [--seconds 3]

The emulator runs as one process; the load comes from `wrk` (Debian: apt install wrk), one thread and 16
connections, on the same machine. Printed are the median of the rounds and the share of one processor that
the emulator used: at about 1.0 it is the emulator that binds, below it is what else the machine does. The
real platform grants 20 requests a second: everything here is about not waiting for the stand-in.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import psutil

from benchmarks.command import arguments
from emulators.serve import ArenaEmulator

GOAL = 2_000


def measure(url: str, key: str, body: str | None, seconds: int) -> float:
    """Requests per second of one round; fails where an answer was an error."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "request.lua"
        script.write_text("" if body is None else f"wrk.method = 'POST'\nwrk.body = '{body}'\n")
        command = ["wrk", "-t1", "-c16", f"-d{seconds}s", "-s", str(script)]
        command += ["-H", f"Authorization: Bearer {key}", url]
        report = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in report or "Socket errors" in report:
        sys.exit(f"{url}: {report}")
    found = re.search(r"Requests/sec:\s+([\d.]+)", report)
    assert found is not None
    return float(found[1])


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("needs wrk: apt install wrk")
    began = time.monotonic()
    with ArenaEmulator.start(limit=False) as arena:
        print(f"started in {time.monotonic() - began:.2f} s; goal {GOAL} requests/s, median")
        headers = {"authorization": f"Bearer {arena.key}"}
        with httpx.Client(base_url=arena.url, headers=headers, timeout=60) as client:
            run = client.post("/runs", json={"seed": 1}).json()["run_id"]
            tasks = client.get(f"/runs/{run}/manifest").json()["tasks"]
        name, log = next(
            (task["task_id"], sha256)
            for task in tasks
            for path, sha256 in task["files"].items()
            if path.endswith(".jsonl")
        )
        task = f"{arena.url}/runs/{run}/tasks/{name}"
        requests = {
            "GET /me": (f"{arena.url}/me", None),
            "GET a run": (f"{arena.url}/runs/{run}", None),
            "GET a blob": (f"{arena.url}/runs/{run}/blobs/{log}?task={name}", None),
            "read": (f"{task}/tools/read", '{"path": "/AGENTS.md"}'),
            "query_logs": (f"{task}/tools/query_logs", '{"limit": 5}'),
            "search": (f"{task}/tools/search", '{"pattern": "agent", "limit": 5}'),
            "get_containment": (f"{task}/tools/get_containment", "{}"),
            "GET a manifest": (f"{task}/manifest", None),
        }
        process = psutil.Process(arena.pid)
        for name, (url, body) in requests.items():
            used, since = sum(process.cpu_times()[:2]), time.monotonic()
            rates = [measure(url, arena.key, body, options.seconds) for _ in range(options.rounds)]
            share = (sum(process.cpu_times()[:2]) - used) / (time.monotonic() - since)
            median = statistics.median(rates)
            print(
                f"{name:16} {median:8.0f}/s  ({min(rates):.0f} to {max(rates):.0f}), {share:.2f} processors"
            )


if __name__ == "__main__":
    main()
