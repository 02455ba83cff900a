# SPDX-License-Identifier: Apache-2.0
"""The tiers of the tests: ``--tier fast`` is ``make test``, ``--tier rest`` is everything else of ``make test-all``.

A test is in the fast tier unless it

- lies in a suite of processes, simulated RTL or devices (:data:`SUITES`), a few tests of which carry ``smoke``; or
- carries the marker ``full``: it starts processes elsewhere, builds programs, or takes long for what it shows; or
- is not the first of its family: a test function and its parameters are a family, of which the fast tier runs the first
  set of parameters alone, unless the function carries the marker ``each``.

Without ``--tier`` pytest runs whatever it is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

FAST, REST = "fast", "rest"
SUITES: Final = ("cluster", "conformance", "e2e", "fpga", "fuzz", "gpu", "guest", "nic")
"""Folders of ``tests`` whose tests are outside the fast tier by default."""
_TESTS: Final = Path(__file__).parents[1]
_WHOLLY_FULL: Final = re.compile(r"^pytestmark = .*\bmark\.(full|slow)\b", re.MULTILINE)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--tier``."""
    parser.addoption(
        "--tier",
        choices=(FAST, REST),
        help="fast: one set of parameters of each test that is quick; rest: all other tests. Default: both.",
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import files of which no test can be selected: imports are most of what collecting costs."""
    if collection_path.name == "bench" and "not bench" in str(config.getoption("markexpr")):
        return True
    if config.getoption("tier") == FAST and collection_path.suffix == ".py" and not _has_fast_tests(collection_path):
        return True
    return None


def _has_fast_tests(path: Path) -> bool:
    text = path.read_text("utf-8")
    return ".mark.smoke" in text if _suite(path) in SUITES else not _WHOLLY_FULL.search(text)


@pytest.hookimpl(trylast=True)  # after -m, -k and whoever else selects
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the tier."""
    tier = config.getoption("tier")
    if tier is None:
        return
    fast = fast_tier(items)
    kept = [item for item in items if (id(item) in fast) == (tier == FAST)]
    dropped = [item for item in items if (id(item) in fast) != (tier == FAST)]
    config.hook.pytest_deselected(items=dropped)
    items[:] = kept


def fast_tier(items: Sequence[pytest.Item]) -> set[int]:
    """Identities of the items that are in the fast tier."""
    families: set[str] = set()
    fast: set[int] = set()
    for item in items:
        if item.get_closest_marker("full") or (_suite(item.path) in SUITES and not item.get_closest_marker("smoke")):
            continue
        family = item.nodeid.partition("[")[0]
        if family not in families or item.get_closest_marker("each"):
            fast.add(id(item))
        families.add(family)
    return fast


def _suite(path: Path) -> str:
    """Folder of ``tests`` that a file lies in; empty for a file elsewhere."""
    return path.relative_to(_TESTS).parts[0] if path.is_relative_to(_TESTS) else ""
