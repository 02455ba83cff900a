# SPDX-License-Identifier: Apache-2.0
"""A plugin that notes which functions of the product each test calls: ``pytest -p mutation.calls --calls FILE``.

What a test imports says little: modules are loaded late, packages have faces, fixtures reach far. Commands and other
processes of Python that a test starts are followed too (``followed/sitecustomize.py``, and their forks).
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

import imports
from mutation.followed.sitecustomize import ENVIRONMENT, Follower

_HERE: Final = Path(__file__).parent
_OF_A_FUNCTION_S: Final = 6.0
"""Of the tests that call a function, the quickest run for so long (s)."""
_FILES_OF_A_FUNCTION, _TESTS_OF_A_FAMILY = 4, 16
"""A family is a test with all its parameters."""


@dataclass(frozen=True)
class Called:
    """A test that passed: its name, its time (s), and the functions that it called.

    ``functions``: of each module, by its path in the repository, the qualified names.
    """

    test: str
    seconds: float
    functions: Mapping[str, Collection[str]]


def read(path: Path) -> list[Called]:
    """What the plugin has noted in a file."""
    return [Called(*row) for row in json.loads(path.read_text("utf-8"))]


def callers(called: Iterable[Called], module: str, functions: Collection[str]) -> tuple[str, ...]:
    """The tests to run over changes of a module's functions: of each the quickest callers, from several files.

    Files that have the module's name come first.

    Args:
        called: all tests.
        module: its path in the repository.
        functions: qualified names; ``<module>`` for what runs at import, which all tests of the module may feel.
    """
    stem = Path(module).stem

    def near(row: Called) -> tuple[bool, float]:
        return stem not in Path(row.test.partition("::")[0]).stem, row.seconds

    rows = sorted((row for row in called if module in row.functions), key=near)
    chosen: dict[str, Called] = {}
    for function in sorted(functions):
        files: set[str] = set()
        families: Counter[str] = Counter()
        spent = 0.0
        for row in rows:
            file, family = row.test.partition("::")[0], row.test.partition("[")[0]
            calls_it = function in row.functions[module] or function == "<module>"
            one_more_file = file not in files and len(files) == _FILES_OF_A_FUNCTION
            if not calls_it or one_more_file or families[family] == _TESTS_OF_A_FAMILY:
                continue
            if files and spent + row.seconds > _OF_A_FUNCTION_S:
                break
            files.add(file)
            families[family] += 1
            spent += row.seconds
            chosen[row.test] = row
    order = {row.test.partition("::")[0]: number for number, row in reversed([*enumerate(chosen.values())])}
    return tuple(sorted(chosen, key=lambda test: order[test.partition("::")[0]]))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--calls``."""
    parser.addoption("--calls", type=Path, help="Takes which functions each test calls, as JSON.")


def pytest_configure(config: pytest.Config) -> None:
    """In the process that runs tests, note; in the one that collects from several, gather at the end."""
    path = config.getoption("calls")
    if path is None:
        return
    if not hasattr(config, "workerinput"):
        folder = tempfile.mkdtemp(prefix="calls-")
        os.environ[ENVIRONMENT] = str(Path(folder) / "now")
        paths = [str(_HERE / "followed"), os.environ.get("PYTHONPATH", "")]
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        config.pluginmanager.register(_Gathering(path, Path(folder)))
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        config.pluginmanager.register(_Noting())


class _Noting:
    def __init__(self) -> None:
        self._now = Path(f"{os.environ[ENVIRONMENT]}.{os.getpid()}")
        os.environ[ENVIRONMENT] = str(self._now)
        self._follower = Follower()
        self._seconds, self._passed = 0.0, True
        self._by_fixture: dict[int, set[tuple[str, str]]] = {}
        self._fixtures: list[int] = []
        os.register_at_fork(after_in_child=lambda: self._follower.write_at_once(self._now))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        """The fixtures of a test, some of which another test has set up."""
        info = getattr(item, "_fixtureinfo", None)
        self._fixtures = [id(each) for defs in (info.name2fixturedefs.values() if info else ()) for each in defs]
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Any:
        """What a fixture calls counts for all tests that share it."""
        outer = self._follower.again()
        try:
            return (yield)
        finally:
            inner = self._follower.again()
            if fixturedef.scope != "function":
                self._by_fixture.setdefault(id(fixturedef), set()).update(inner)
            self._follower.names = outer | inner

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A test begins: what was called since the last one was for its fixtures or its import."""
        self._now.write_text(nodeid, "utf-8")
        self._seconds, self._passed = 0.0, True
        self._follower.again()
        self._follower.follow()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A part of it has ended."""
        self._seconds += report.duration
        self._passed &= report.passed

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """It has ended."""
        sys.settrace(None)
        names = self._follower.again().union(*(self._by_fixture.get(each, ()) for each in self._fixtures))
        if self._passed:
            with Path(f"{self._now}.own").open("a", encoding="utf-8") as out:
                out.write(f"={nodeid}\t{self._seconds:.4f}\n")
                out.writelines("\t".join(name) + "\n" for name in names)


class _Gathering:
    def __init__(self, path: Path, folder: Path) -> None:
        self._path, self._folder = path, folder

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """Write the file and remove what processes wrote."""
        times: dict[str, float] = {}
        functions: dict[str, dict[str, set[str]]] = {}
        for each in sorted(self._folder.iterdir()):
            for test, seconds, names in _sections(each):
                if seconds is not None:
                    times[test] = seconds
                own = functions.setdefault(test, {})
                for module, name in names:
                    own.setdefault(module, set()).add(name)
            each.unlink()
        self._folder.rmdir()
        rows = [
            [test, seconds, {module: sorted(names) for module, names in sorted(functions[test].items())}]
            for test, seconds in sorted(times.items())
        ]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(rows), "utf-8")


def _sections(path: Path) -> Iterator[tuple[str, float | None, list[tuple[str, str]]]]:
    """The tests of a process, with the time of those that it ran itself, and the functions called."""
    test, seconds, names = "", None, list[tuple[str, str]]()
    for line in path.read_text("utf-8", "replace").split("\n"):
        module, _, name = line.partition("\t")
        if line.startswith("="):
            if test:
                yield test, seconds, names
            test, seconds, names = module[1:], float(name) if name else None, []
        elif name and test:
            names.append((os.path.relpath(module, imports.ROOT), name))
    if test:
        yield test, seconds, names
