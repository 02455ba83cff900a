# SPDX-License-Identifier: Apache-2.0
"""Targets of ``make mutation`` exist: modules, their tests, and the lines of mutants that may survive."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from mutation.nearest import every_module, nearest_tests

ROOT = Path(__file__).parents[2]
SUPPORT = ROOT / "tests/support/mutation"


def test_modules_and_tests_are_there() -> None:
    groups = tomllib.loads((SUPPORT / "targets.toml").read_text("utf-8"))["group"]
    named = [name for group in groups for name in (*group["modules"], *group["tests"])]
    paths = {name.removeprefix("--deselect=").split("::")[0] for name in named}
    assert sorted(path for path in paths if not (ROOT / path).exists()) == []


@pytest.mark.full
def test_nearest_tests_are_those_that_import_the_module() -> None:
    assert nearest_tests("offramp.cluster.formats.simai")[0] == "tests/unit/cluster/test_simai.py"
    assert nearest_tests("offramp_base.arguments")[0] == "tests/unit/test_arguments.py"
    with_tests = [name for name in every_module().values() if nearest_tests(name)]
    assert len(with_tests) > 0.8 * len(every_module())


def test_survivors_are_lines_of_their_modules() -> None:
    survivors = tomllib.loads((SUPPORT / "survivors.toml").read_text("utf-8"))["survivor"]
    texts = {each["module"]: (ROOT / each["module"]).read_text("utf-8") for each in survivors}
    assert [each["old"] for each in survivors if each["old"] not in texts[each["module"]]] == []
