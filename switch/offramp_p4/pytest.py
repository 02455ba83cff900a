# SPDX-License-Identifier: Apache-2.0
"""P4 programs as pytest fixtures: ``pytest_plugins = ["offramp_p4.pytest"]`` in a ``conftest.py``.

A test asks for the fixture ``p4_switch``, a function that makes a :class:`~offramp_p4.bench_top.TestedSwitch` of a
program's file::

    def test_routes(p4_switch):
        switch = p4_switch("router.p4")
        switch.table("routes").add("10.0.0.0/8", action="forward", port=3)
        assert switch.send(1, packet) == [(3, expected)]

Files are looked up beside the test. ``--p4-coverage FILE`` writes what the tests have run of each program as LCOV.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from offramp_p4.bench_top import TestedSwitch

if TYPE_CHECKING:
    from offramp_p4.coverage import Coverage

__all__ = ["TestedSwitch", "p4_switch", "pytest_addoption", "pytest_terminal_summary"]

_RUNS: Final = pytest.StashKey[list["Coverage"]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare ``--p4-coverage``."""
    group = parser.getgroup("P4 programs")
    group.addoption("--p4-coverage", metavar="FILE", help="Write what tests have run of P4 programs, as LCOV.")


@pytest.fixture
def p4_switch(request: pytest.FixtureRequest) -> Callable[..., TestedSwitch]:
    """A function that makes a switch of a program's file; other arguments are of :class:`TestedSwitch`."""
    runs: list[Coverage] | None = None
    if request.config.getoption("--p4-coverage"):
        runs = request.config.stash.setdefault(_RUNS, [])

    def make(program: str | Path, **options: Any) -> TestedSwitch:
        return TestedSwitch(request.path.parent / program, runs=runs, **options)

    return make


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write the file, and say how much of the programs was run."""
    file = config.getoption("--p4-coverage")
    if not file:
        return
    from offramp_p4.coverage import lcov, summary

    runs = config.stash.get(_RUNS, [])
    Path(file).write_text(lcov(runs), encoding="utf-8")
    terminalreporter.section("coverage of P4 programs")
    for line in summary(runs):
        terminalreporter.line(line)
