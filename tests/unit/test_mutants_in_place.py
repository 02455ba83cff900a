# SPDX-License-Identifier: Apache-2.0
"""Mutants put into a process that has imported their module, and children that are ended by processor time alone.

Cannot see: whether the tests that a campaign chooses are those that would have noticed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mutation import children, swap
from mutation.session import Lines
from offramp_base.native.subset import native

SOURCE = """
from functools import cache
TABLE = [n + 1 for n in range(3)]
def helper(x):
    return x + 1
MADE = helper(1)
def plain(x, y=2):
    return x * y
@cache
def cached(x):
    return x - 1
def outer(x):
    def inner(y):
        return x + y
    return inner
class Thing:
    size = 3
    def twice(self):
        return 2 * self.size
"""


def _module(tmp_path: Path) -> tuple[ModuleType, str, set[swap.Key]]:
    path = tmp_path / "thing.py"
    path.write_text(SOURCE)
    module, lines = ModuleType("thing"), Lines(str(path))
    with lines.traced():
        exec(compile(SOURCE, str(path), "exec"), module.__dict__)
    return module, str(path), lines.functions


@pytest.mark.parametrize(
    ("old", "new", "call", "before", "after"),
    [
        ("x * y", "x + y", lambda m: m.plain(3), 6, 5),
        ("x - 1", "x - True * 2", lambda m: m.cached(9), 8, 7),
        ("x + y", "x - y", lambda m: m.outer(5)(2), 7, 3),
        ("2 * self.size", "2 + self.size", lambda m: m.Thing().twice(), 6, 5),
    ],
)
def test_functions_that_are_known_elsewhere_change(
    tmp_path: Path, old: str, new: str, call: Any, before: int, after: int
) -> None:
    module, path, ran = _module(tmp_path)
    if old != "x - 1":  # a cache would keep it
        assert call(module) == before
    functions = swap.functions_of(path)
    changed = swap.changed_functions(SOURCE, SOURCE.replace(old, new))
    assert changed
    assert swap.fits(changed, functions, ran)
    swap.exchange(changed, functions, path)
    assert call(module) == after


@pytest.mark.parametrize(
    ("old", "new"),
    [("n + 1", "n + 2"), ("y=2", "y=3"), ("size = 3", "size = True"), ("@cache\n", ""), ("(x + 1)", "(x + 2)")],
)
def test_what_runs_at_import_is_not_exchanged(tmp_path: Path, old: str, new: str) -> None:
    _, path, ran = _module(tmp_path)
    source = SOURCE.replace("return x + 1", "return (x + 1)")
    changed = swap.changed_functions(source, source.replace(old, new))
    assert changed is None or not swap.fits(changed, swap.functions_of(path), ran)


def test_what_is_translated_into_machine_code_is_not_exchanged(tmp_path: Path) -> None:
    module, path, ran = _module(tmp_path)
    native(module.plain)
    changed = swap.changed_functions(SOURCE, SOURCE.replace("x * y", "x + y"))
    assert changed
    assert not swap.fits(changed, swap.functions_of(path), ran)


def test_equal_modules_have_no_changed_function() -> None:
    assert swap.changed_functions(SOURCE, SOURCE) == {}
    assert swap.changed_functions(SOURCE, f"\n{SOURCE}") == {}


@pytest.mark.parametrize(
    ("work", "ends"),
    [
        (lambda: 0, children.SURVIVED),
        (lambda: 1, children.KILLED),
        (lambda: 1 // 0, children.KILLED),
        (lambda: sum(1 for _ in iter(int, 1)), children.SLOW),
        (lambda: time.sleep(60), children.SLOW),
        (lambda: (signal.setitimer(signal.ITIMER_PROF, 0.01) and 0) or sum(1 for _ in iter(int, 1)), children.SLOW),
    ],
)
def test_how_children_end(work: Any, ends: str) -> None:
    assert children.outcome(children.fork(work), 0.2, 0.4) == ends


def test_a_campaign_that_is_stopped_ends_no_child() -> None:
    script = (
        "import time; from mutation import children\n"
        "child = children.fork(lambda: [time.sleep(0.1) for _ in range(6)] and 0)\n"
        "print(child, flush=True); print(children.outcome(child, 1.0, 1.2), flush=True)"
    )
    support = Path(__file__).parents[1] / "support"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(support), *sys.path])}
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        for each in (process.pid, child):
            os.kill(each, signal.SIGSTOP)
        time.sleep(1.6)
        for each in (child, process.pid):
            os.kill(each, signal.SIGCONT)
        assert process.stdout.readline().strip() == children.SURVIVED


@pytest.mark.parametrize(
    ("old", "new"),
    [("    return x + 1", "    return x - 1"), ("@cache\n", ""), ("TABLE = [n + 1 for n in range(3)]", "TABLE = []")],
)
def test_what_differs_is_said_of_both_texts(old: str, new: str) -> None:
    assert swap.difference(SOURCE, SOURCE.replace(old, new, 1)) == (old.strip(), new.strip())


def test_lines_that_calls_run() -> None:
    source = SOURCE.splitlines()
    called = {source[line - 1].strip() for line in swap.called_lines(SOURCE)}
    assert {"return x + 1", "return x - 1", "def inner(y):", "return x + y"} <= called
    assert called.isdisjoint({"def helper(x):", "MADE = helper(1)", "@cache", "size = 3", "def plain(x, y=2):"})
