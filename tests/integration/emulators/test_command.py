"""`scrimmage emulate arena` as a person runs it."""

import contextlib
import json
import re
import signal
import subprocess
import sys

import httpx
import psutil

COMMAND = [sys.executable, "-c", "from producer.cli.entry import run; run()", "emulate", "arena"]


@contextlib.contextmanager
def running(*options):
    """The command, once it has printed its settings; gives process and settings."""
    process = subprocess.Popen(
        [*COMMAND, "--port", "0", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        exports = {}
        while len(exports) < 2:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            name, value = re.fullmatch(r"export (\w+)=(\S+)\n", line).groups()
            exports[name] = value
        yield process, exports
    finally:
        process.kill()
        process.communicate()


def test_it_starts_soon_prints_settings_that_work_and_the_books_at_the_end():
    with running("--books", "--teams", "2") as (process, exports):
        times = psutil.Process(process.pid).cpu_times()
        # Its own time on a processor: the clock on the wall depends on what else the machine does.
        assert times.user + times.system < 2.0
        answer = httpx.get(
            f"{exports['SCRIMMAGE_ARENA_URL']}/me",
            headers={"authorization": f"Bearer {exports['SCRIMMAGE_ARENA_KEY']}"},
        )
        assert answer.status_code == 200
        process.send_signal(signal.SIGINT)
        out = process.stdout.read()  # not communicate(), which loses what readline() has buffered
        assert process.wait(timeout=30) == 0
        team_two, books = out.splitlines()
        assert team_two.startswith("# team 2: export SCRIMMAGE_ARENA_KEY=arena_")
        assert json.loads(books)["accounts"]["team-1"]["requests"] == 1


def test_choices_faults_and_limit_come_through_and_sigterm_ends_it(tmp_path):
    faults = tmp_path / "faults.toml"
    faults.write_text('[[rules]]\nendpoint = "GET /tools"\nfault = "status"\nstatus = 503\n')
    options = ("--choice", "envelope=data", "--faults", str(faults), "--no-limit")
    with running(*options) as (process, exports):
        key = {"authorization": f"Bearer {exports['SCRIMMAGE_ARENA_KEY']}"}
        with httpx.Client(base_url=exports["SCRIMMAGE_ARENA_URL"], headers=key) as client:
            assert {client.get("/me").status_code for _ in range(120)} == {200}
            assert "data" in client.get("/me").json()
            assert client.get("/tools").status_code == 503
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0


def test_a_wrong_option_ends_it_with_a_word_and_code_2():
    ended = subprocess.run([*COMMAND, "--host", "0.0.0.0"], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2
    assert "password" in ended.stderr
    assert "Traceback" not in ended.stderr
