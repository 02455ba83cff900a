# SPDX-License-Identifier: Apache-2.0
"""Simulators of RTL, Icarus for small benches and Verilator for wide and long ones; coverage merged over a run."""

import json
import os
from pathlib import Path
from tempfile import mkdtemp

import pytest

from offramp_sim.rtl.bench import COVERAGE
from offramp_sim.rtl.build import missing
from rtl.coverage import merge, table

CHOSEN = "OFFRAMP_BENCH_SIMULATOR"
"""Names the simulator of all benches, where somebody has chosen one."""


def _usable(name: str) -> str:
    name = os.environ.get(CHOSEN) or name
    if lacking := missing(name):
        pytest.skip(f"{name} needs {lacking}")
    return name


@pytest.fixture
def simulator() -> str:
    return _usable("icarus")


@pytest.fixture(params=["icarus", pytest.param("verilator", marks=pytest.mark.slow)])
def either(request) -> str:
    """Icarus by default, Verilator too among the slow tests."""
    return _usable(request.param)


@pytest.fixture
def fast() -> str:
    """Verilator: for wide data and long runs."""
    return _usable("verilator")


def pytest_configure(config):
    """A run that begins here has a file for its benches' coverage, which workers know from the environment."""
    if not hasattr(config, "workerinput") and COVERAGE not in os.environ:
        config.bench_coverage = Path(mkdtemp(prefix="offramp-coverage-")) / "hits.jsonl"
        os.environ[COVERAGE] = str(config.bench_coverage)


def pytest_terminal_summary(terminalreporter, config):
    """Say what all benches of the run hit, and write it where ``offramp fpga test --coverage`` wants it."""
    path = getattr(config, "bench_coverage", None)
    hits = merge(path.read_text(encoding="utf-8").splitlines()) if path and path.exists() else {}
    if hits:
        terminalreporter.section("functional coverage of the benches")
        for line in table(hits):
            terminalreporter.write_line(line)
    if path and (wanted := os.environ.get("OFFRAMP_BENCH_COVERAGE_REPORT")):
        Path(wanted).write_text(json.dumps(hits, indent=2) + "\n", encoding="utf-8")


def pytest_unconfigure(config):
    """The file goes with the run."""
    if path := getattr(config, "bench_coverage", None):
        os.environ.pop(COVERAGE, None)
        path.unlink(missing_ok=True)
        path.parent.rmdir()
