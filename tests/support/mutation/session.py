# SPDX-License-Identifier: Apache-2.0
"""A session of pytest that runs its tests once with each line noted, then the right ones over each mutant.

A mutant is a fork in which functions of the module have other code (:mod:`mutation.swap`). Only tests that execute the
line run, the quickest first, until one fails.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from mutation import children, swap
from mutation.caches import renew

_MOST_S = 20.0
"""Tests of a mutant take no longer than this without it (s); the quickest come first."""
_PATIENCE = 4
"""While nothing has executed a mutant's lines, tests go on for so many times as long."""
_FEW_S, _ENOUGH = 4.0, 12
"""After so much processor time (s) no further file of tests begins if so many tests execute each mutant's lines."""
_FACTOR, _SPARE_S = 3.0, 3.0
_PROCESSES = {"os.fork", "os.forkpty", "os.posix_spawn", "subprocess.Popen", "socket.connect"}
"""Events of tests that others run for: a server of forks is told of by a connection to it alone."""


def limits(times: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Processor time, and time asleep, that tests may take over a mutant (s).

    Args:
        times: for each test, its processor time and its time by the clock without a mutant.
    """
    rows = list(times)
    cpu_s, clock_s = sum(cpu for cpu, _ in rows), sum(clock for _, clock in rows)
    return _FACTOR * cpu_s + 2 * _SPARE_S, _FACTOR * clock_s + 3 * _SPARE_S


class Alarms:
    """A plugin that ends the process when a test uses far more processor time than without a mutant."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self._seconds = seconds

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Before each test."""
        signal.setitimer(signal.ITIMER_PROF, _FACTOR * self._seconds.get(item.nodeid, 0.0) + _SPARE_S)


@dataclass(frozen=True)
class Test:
    """A test that passes: its place among the items, the time that it took, and lines of the module that it executes.

    ``seconds`` are of the processor, ``clock_s`` by the clock.

    ``processes``: it has other processes work, whose lines nobody sees.
    """

    item: int
    seconds: float
    clock_s: float
    lines: frozenset[int]
    processes: bool


class Lines:
    """Notes lines of one file that are executed, and the functions that run."""

    def __init__(self, path: str) -> None:
        self.lines: set[int] = set()
        self.functions: set[swap.Key] = set()
        self._path = path

    @contextmanager
    def traced(self) -> Iterator[None]:
        """Lines are noted meanwhile, in all threads."""
        sys.settrace(self._call)
        threading.settrace(self._call)
        try:
            yield
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        del event, argument
        if frame.f_code.co_filename != self._path:
            return None
        self.functions.add(swap.key_of(frame.f_code))
        self.lines.add(frame.f_lineno)
        return self._line

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        del argument
        if event == "line":
            self.lines.add(frame.f_lineno)
        return self._line


class MutantRuns:
    """The plugin: it has the tests collected, and then says what becomes of each mutant.

    Args:
        task: the module's ``name`` and ``path``; ``mutants``, each with ``text`` and ``lines``, first and last;
            ``longest``, the processor time that the tests may take (s); ``until``, after which no mutant begins
            (:func:`time.monotonic`).
        out: descriptor that takes an answer per line.
        mutated: writes a change into the module's file for as long as a block runs.
    """

    def __init__(
        self, task: dict[str, Any], out: int, mutated: Callable[[Path, str], AbstractContextManager[None]]
    ) -> None:
        self._task, self._mutated = task, mutated
        self._out = os.fdopen(out, "w", encoding="utf-8")
        self._path = str(Path(task["path"]).resolve())
        self._notice = Path("mutant.notes").resolve()
        self._failed = False
        self._starts = False
        self._notes = Lines(self._path)
        self._by_fixture: dict[int, set[int]] = {}
        self._after_few: dict[int, bool] = {}
        self._import = self._notes.traced()
        self._import.__enter__()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test that fails, here or in its fixtures."""
        self._failed |= report.failed

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any], request: Any) -> Any:
        """Lines of a fixture count for all tests that share it."""
        del request
        outer, self._notes.lines = self._notes.lines, set()
        try:
            return (yield)
        finally:
            inner, self._notes.lines = self._notes.lines, outer
            outer |= inner
            if fixturedef.scope != "function":
                self._by_fixture.setdefault(id(fixturedef), set()).update(inner)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """All mutants."""
        with suppress(Exception):
            if not self._task["name"].endswith("__main__"):
                importlib.import_module(self._task["name"])
        self._import.__exit__(None, None, None)
        ran, functions = set(self._notes.functions), swap.functions_of(self._path)
        tests = self._alone(session)
        self._say({"passed": len(tests), "seconds": sum(test.seconds for test in tests)})
        source = Path(self._path).read_text("utf-8")
        for number, mutant in enumerate(self._task["mutants"] if tests else ()):
            if time.monotonic() > self._task["until"]:
                break
            changed = swap.changed_functions(source, mutant["text"])
            if changed is None or not swap.fits(changed, functions, ran):
                chosen = _quickest(tests)
                times = {session.items[test.item].nodeid: (test.seconds, test.clock_s) for test in chosen}
                self._say({"number": number, "tests": times})
                continue
            lines = _lines(mutant)
            chosen = _quickest([test for test in tests if test.processes or not lines.isdisjoint(test.lines)])
            while chosen:
                with self._mutated(Path(self._path), mutant["text"]):
                    outcome, failed = self._over(
                        session, chosen, partial(swap.exchange, changed, functions, self._path)
                    )
                if outcome != children.KILLED or self._passes(session, chosen[: failed + 1]):
                    break
                del chosen[failed]  # it needs tests that have not run here: its failure says nothing of the mutant
            self._say({"number": number, "outcome": outcome if chosen else children.SURVIVED})
        self._out.close()
        return True

    def _say(self, answer: dict[str, Any]) -> None:
        self._out.write(json.dumps(answer) + "\n")
        self._out.flush()

    def _over(
        self, session: pytest.Session, tests: list[Test], change: Callable[[], None] = lambda: None
    ) -> tuple[str, int]:
        """What becomes of a child that runs tests over a change until one fails, and which one does."""
        self._notice.write_text("0", "utf-8")
        renew(self._task["path"])
        child = children.fork(partial(self._until_failure, session, tests, change))
        outcome = children.outcome(child, *limits((test.seconds, test.clock_s) for test in tests))
        return outcome, int(self._notice.read_text("utf-8"))

    def _until_failure(self, session: pytest.Session, tests: list[Test], change: Callable[[], None]) -> int:
        change()
        session.config.pluginmanager.register(Alarms({session.items[t.item].nodeid: t.seconds for t in tests}))
        items = [session.items[test.item] for test in tests]
        for number, (item, following) in enumerate(zip(items, [*items[1:], None], strict=True)):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._failed:
                self._notice.write_text(str(number), "utf-8")
                return 1
        return 0

    def _passes(self, session: pytest.Session, tests: list[Test]) -> bool:
        """Whether the last test passes after the others without any mutant."""
        last = tests[-1].item
        if last not in self._after_few:
            self._after_few[last] = self._over(session, tests)[0] == children.SURVIVED
        return self._after_few[last]

    def _alone(self, session: pytest.Session) -> list[Test]:
        """The tests that pass without any mutant, as many as there is time for, run in a child."""
        renew(self._task["path"])
        child = children.fork(lambda: self._note(session))
        longest_s = self._task["longest"] * _PATIENCE
        children.outcome(child, *limits([(longest_s, longest_s)]))
        rows = [json.loads(row) for row in self._notice.read_text("utf-8").splitlines(True) if row.endswith("\n")]
        return [Test(item, cpu, clock, frozenset(lines), starts) for item, cpu, clock, lines, starts in rows]

    def _note(self, session: pytest.Session) -> int:
        sys.addaudithook(self._hook)
        at_import = self._notes.lines
        wanted = [span for span in map(_lines, self._task["mutants"]) if span.isdisjoint(at_import)]
        reached: Counter[int] = Counter()
        items = list(session.items)
        with self._notice.open("w", encoding="utf-8") as out:
            for number, (item, following) in enumerate(zip(items, [*items[1:], None], strict=True)):
                spent = sum(os.times()[:4])
                least = min((max(reached[line] for line in span) for span in wanted), default=_ENOUGH)
                another_file = number > 0 and item.path != items[number - 1].path and spent > _FEW_S
                if (another_file and least >= _ENOUGH) or spent > self._task["longest"] * (1 if least else _PATIENCE):
                    break
                self._notes.lines, self._failed, self._starts = set(), False, False
                begun = time.monotonic()
                with self._notes.traced():
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                seconds, clock_s = sum(os.times()[:4]) - spent, time.monotonic() - begun
                if not self._failed:
                    lines = self._lines_of(item)
                    reached.update(lines)
                    out.write(json.dumps([number, seconds, clock_s, sorted(lines), self._starts]) + "\n")
                    out.flush()
        return 0

    def _lines_of(self, item: pytest.Item) -> set[int]:
        info = getattr(item, "_fixtureinfo", None)
        shared = (each for defs in (info.name2fixturedefs.values() if info else ()) for each in defs)
        return self._notes.lines.union(*(self._by_fixture.get(id(each), set()) for each in shared))

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        del arguments
        self._starts |= event in _PROCESSES


def _lines(mutant: dict[str, Any]) -> set[int]:
    first, last = mutant["lines"]
    return set(range(first, last + 1))


def _quickest(tests: list[Test]) -> list[Test]:
    """Tests in the order of their processor time, as many as :data:`_MOST_S` allows and at least one."""
    chosen: list[Test] = []
    spent = 0.0
    for test in sorted(tests, key=lambda test: (test.processes, test.seconds)):
        spent += test.seconds
        if chosen and spent > _MOST_S:
            break
        chosen.append(test)
    return chosen
