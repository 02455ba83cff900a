# SPDX-License-Identifier: Apache-2.0
"""Whatever the work is busy with, a signal ends it in time, with one line, and nothing is left."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ends import Marked, slowness

ENDING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]

START = """
import os, signal, subprocess, sys, threading, time
from pathlib import Path
from offramp_base.ending.left import temporary_folder
from offramp_base.ending.supervisor import supervised
def ready():
    Path("ready").write_text(str(os.getpid()))
def work():
    folder = temporary_folder()
    with folder as name:
        Path(name, "something").touch()
        {body}
supervised(work)
"""

BUSY = {
    "a Python loop": "ready()\n        while True: pass",
    "a sleep": "ready(); time.sleep(600)",
    "a compiled loop that keeps Python's lock": "ready(); sum(range(10**15))",
    "handlers that swallow everything": """ready()
        while True:
            try:
                time.sleep(600)
            except BaseException:
                pass""",
    "a thread": "t = threading.Thread(target=time.sleep, args=[600]); t.start(); ready(); t.join()",
    "a child": "ready(); subprocess.run(['sleep', '600'])",
    "a child that ignores all signals": "subprocess.run(['sh', '-c', '''trap '' INT TERM; touch ready; sleep 600'''])",
    "a child that is stopped": "subprocess.run(['sh', '-c', 'touch ready; kill -STOP $$'])",
    "a grandchild in a session of its own": "subprocess.run(['sh', '-c', 'setsid sleep 600 & touch ready; wait'])",
    "a traceback on the way out": """ready()
        try:
            time.sleep(600)
        finally:
            raise RuntimeError("in the way")""",
}


def started(body: str, folder: Path) -> Marked:
    marked = Marked([sys.executable, "-c", START.format(body=body)], folder)
    while not (folder / "ready").exists():
        assert marked.process.poll() is None, marked.errors.read_text()
        time.sleep(0.01)
    return marked


@pytest.mark.parametrize("number", ENDING)
@pytest.mark.parametrize("what", BUSY)
def test_a_signal_ends_it(what: str, number: signal.Signals, tmp_path: Path) -> None:
    with started(BUSY[what], tmp_path) as marked:
        ended = marked.end(number)
    assert (ended.code, ended.lines, ended.left) == (128 + number, [f"ended by {number.name}"], [])
    assert ended.took_s < ended.limit_s


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    with started(BUSY["a compiled loop that keeps Python's lock"], tmp_path) as marked:
        ended = marked.end(signal.SIGTERM, signal.SIGINT)
    assert (ended.lines, ended.left) in (
        (["ended by SIGTERM"], []),
        (["ended by SIGINT"], []),  # the kernel delivers what is pending in the order of the numbers
    )
    assert ended.took_s < 0.9 * slowness()


@pytest.mark.parametrize("what", sorted(BUSY.keys() - {"a compiled loop that keeps Python's lock"}))
def test_if_the_supervisor_is_killed_the_work_ends_by_itself(what: str, tmp_path: Path) -> None:
    with started(BUSY[what], tmp_path) as marked:
        ended = marked.end(signal.SIGKILL)
    assert (ended.code, ended.lines, ended.left) == (-signal.SIGKILL, [], [])


def test_if_the_work_is_killed_that_is_said_and_nothing_is_left(tmp_path: Path) -> None:
    body = "subprocess.Popen(['sleep', '600']); os.kill(os.getpid(), signal.SIGKILL)"
    with Marked([sys.executable, "-c", START.format(body=body)], tmp_path) as marked:
        ended = marked.end()
    assert (ended.code, ended.lines, ended.left) == (137, ["ended by SIGKILL"], [])


@pytest.mark.parametrize(("body", "code"), [("pass", 0), ("sys.exit(2)", 2), ("sys.exit(141)", 141)])
def test_otherwise_the_exit_status_is_that_of_the_work(body: str, code: int, tmp_path: Path) -> None:
    with Marked([sys.executable, "-c", START.format(body=body)], tmp_path) as marked:
        ended = marked.end()
    assert (ended.code, ended.lines, ended.left) == (code, [], [])


def test_what_the_work_leaves_running_ends_with_it(tmp_path: Path) -> None:
    with Marked([sys.executable, "-c", START.format(body="subprocess.Popen(['sleep', '600'])")], tmp_path) as marked:
        ended = marked.end()
    assert (ended.code, ended.left) == (0, [])


def test_a_job_in_the_background_heeds_who_names_it(tmp_path: Path) -> None:
    """Shells start such jobs with SIGINT ignored, for the terminal's sake."""
    program = START.format(body=BUSY["a sleep"])
    ignoring = (
        "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    )
    command = [sys.executable, "-c", ignoring, sys.executable, "-c", program]
    with Marked(command, tmp_path) as marked:
        while not (tmp_path / "ready").exists():
            assert marked.process.poll() is None, marked.errors.read_text()
            time.sleep(0.01)
        ended = marked.end(signal.SIGINT)
    assert (ended.code, ended.lines, ended.left) == (130, ["ended by SIGINT"], [])


def test_nohup_lives_on_when_the_terminal_goes(tmp_path: Path) -> None:
    program = START.format(body="ready(); time.sleep(1)")
    with Marked(["nohup", sys.executable, "-c", program], tmp_path) as marked:
        while not (tmp_path / "ready").exists():
            time.sleep(0.01)
        assert marked.end(signal.SIGHUP).code == 0


@pytest.mark.full
def test_the_supervisor_costs_little() -> None:
    def run(words: str) -> float:
        begun = time.monotonic()
        subprocess.run(
            [sys.executable, "-c", f"from offramp_base.ending.supervisor import supervised; {words}"], check=True
        )
        return time.monotonic() - begun

    pairs = [(run("supervised(lambda: None)"), run("pass")) for _ in range(7)]
    assert min(with_it for with_it, _ in pairs) < 3 * min(without for _, without in pairs)
