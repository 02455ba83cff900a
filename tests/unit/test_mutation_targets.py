# SPDX-License-Identifier: Apache-2.0
"""Targets of ``make mutation`` exist: modules, their tests, and the lines of mutants that may survive."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from mutation import calls
from mutation.swap import function_at

ROOT = Path(__file__).parents[2]
SUPPORT = ROOT / "tests/support/mutation"


def test_modules_and_tests_are_there() -> None:
    groups = tomllib.loads((SUPPORT / "targets.toml").read_text("utf-8"))["group"]
    named = [name for group in groups for name in (*group["modules"], *group["tests"])]
    paths = {name.removeprefix("--deselect=").split("::")[0] for name in named}
    assert sorted(path for path in paths if not (ROOT / path).exists()) == []


_PRODUCT = "base/offramp_base/arguments.py"


def test_the_tests_of_a_function_are_its_quickest_callers_of_several_files() -> None:
    def row(test: str, seconds: float, *functions: str) -> calls.Called:
        return calls.Called(test, seconds, {_PRODUCT: frozenset(functions)} if functions else {})

    rows = [row(f"slow.py::test[{n}]", 3.0, "f") for n in range(3)]
    rows += [row("other.py::test", 0.1, "g"), row("quick.py::test", 0.5, "f", "g"), row("none.py::test", 0.0)]
    assert calls.callers(rows, _PRODUCT, {"f"}) == ("quick.py::test", "slow.py::test[0]")
    assert calls.callers(rows, _PRODUCT, {"g"}) == ("other.py::test", "quick.py::test")
    assert calls.callers(rows, _PRODUCT, {"<module>"}) == ("other.py::test", "quick.py::test", "slow.py::test[0]")
    assert calls.callers(rows, _PRODUCT, {"h"}) == ()
    assert calls.callers(rows[:3], _PRODUCT, {"f"}) == ("slow.py::test[0]", "slow.py::test[1]")
    own = row("test_arguments.py::test", 4.0, "f")
    assert calls.callers([*rows, own], _PRODUCT, {"f"}) == ("test_arguments.py::test", "quick.py::test")
    many = [row(f"many.py::test[{n}]", 0.001 * n, "f") for n in range(100)] + [row("many.py::test_other", 0.5, "f")]
    assert calls.callers(many, _PRODUCT, {"f"}) == (*(f"many.py::test[{n}]" for n in range(16)), "many.py::test_other")


def test_what_tests_call_is_noted_in_the_processes_that_they_start(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("")
    (tmp_path / "test_it.py").write_text(
        "import pytest, subprocess, sys\n"
        "from offramp_base.arguments import visible\n"
        "def test_here(): assert visible('a') == 'a'\n"
        "def test_there():\n"
        "    code = 'from offramp_base.arguments import visible; visible(\"a\")'\n"
        "    subprocess.run([sys.executable, '-c', code], check=True)\n"
        "@pytest.fixture(scope='module')\n"
        "def shared(): return visible('a')\n"
        "def test_first(shared): pass\n"
        "def test_second(shared): pass\n"
        "def test_nothing(): pass\n"
        "def test_failing(): assert not visible('a')\n"
    )
    paths = [ROOT / "base", ROOT / "tests/support"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-p",
        "mutation.calls",
        "--calls",
        "calls.json",
    ]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert "1 failed, 5 passed" in done.stdout
    noted = {row.test.rpartition("::")[2]: row.functions.get(_PRODUCT) for row in calls.read(tmp_path / "calls.json")}
    assert noted == {
        "test_here": ["visible"],
        "test_first": ["visible"],
        "test_second": ["visible"],
        "test_there": ["<module>", "visible"],
        "test_nothing": None,
    }


def test_a_line_belongs_to_the_outermost_function_that_runs_it() -> None:
    source = (ROOT / "tests/support/mutation/swap.py").read_text("utf-8")
    assert function_at(source, source[: source.index("    def of(nodes")].count("\n") + 3) == "function_at"
    assert function_at(source, 1) == "<module>"
    text = "class A:\n    x = 1\n    def f(self, y=2):\n        return y\nif A:\n    def g():\n        return 1\n"
    assert [function_at(text, line) for line in range(1, 8)] == [
        "<module>", "<module>", "<module>", "A.f", "<module>", "<module>", "g"
    ]  # fmt: skip


def test_survivors_are_lines_of_their_modules() -> None:
    survivors = tomllib.loads((SUPPORT / "survivors.toml").read_text("utf-8"))["survivor"]
    texts = {each["module"]: (ROOT / each["module"]).read_text("utf-8") for each in survivors}
    assert [each["old"] for each in survivors if each["old"] not in texts[each["module"]]] == []


def test_survivors_of_other_modules_stay_when_some_are_tried_again(tmp_path: Path) -> None:
    """Skips without the extra ``mutation``."""
    pytest.importorskip("cosmic_ray")
    from mutation import campaign

    verdict = {"operator": "o", "occurrence": 1, "line": 1, "old": "a", "new": "b", "outcome": "survived"}
    rows = [{"module": name, **verdict} for name in ("host/offramp/fixed_point.py", "host/offramp/splitmix.py")]
    progress = tmp_path / "progress.json"
    progress.write_text(json.dumps(rows))
    options = {"share": 1.0, "most": 1, "seed": 0, "minutes": 0.0, "progress": progress, "on_verdict": print}
    left = campaign.run([campaign.Module("host/offramp/splitmix.py", ())], again=True, **options)  # type: ignore[arg-type]
    assert [each.module for each in left] == ["host/offramp/fixed_point.py"]
