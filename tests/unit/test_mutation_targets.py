# SPDX-License-Identifier: Apache-2.0
"""Targets of ``make mutation`` exist: modules, their tests, and the lines of mutants that may survive."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from mutation.nearest import is_named_after, neighbours, ranked, reach

ROOT = Path(__file__).parents[2]
SUPPORT = ROOT / "tests/support/mutation"


def test_modules_and_tests_are_there() -> None:
    groups = tomllib.loads((SUPPORT / "targets.toml").read_text("utf-8"))["group"]
    named = [name for group in groups for name in (*group["modules"], *group["tests"])]
    paths = {name.removeprefix("--deselect=").split("::")[0] for name in named}
    assert sorted(path for path in paths if not (ROOT / path).exists()) == []


def test_nearest_tests_are_those_with_the_fewest_imports_between() -> None:
    needs = {"p": ["p.a", "p.b"], "p.a": ["p.c"], "p.c": ["p.d"], "p.d": ["p.e"]}
    one, other = reach(["p"], needs, {"p"}), reach(["p.c"], needs, {"p"})
    assert one == {"p": 0, "p.a": 0, "p.b": 0, "p.c": 1, "p.d": 2}
    assert other == {"p.c": 0, "p.d": 1, "p.e": 2}
    distances = {"test_one.py": one, "test_c.py": other, "test_d.py": {**other, "p.d": 1}}
    assert ranked("p.c", distances) == ("test_c.py", "test_d.py", "test_one.py")
    assert ranked("p.d", distances) == ("test_d.py", "test_c.py", "test_one.py")
    assert ranked("p.f", distances) == ()
    assert is_named_after("tests/unit/cli/test_hermod_deploy.py", "offramp_cli.hermod.deploy")
    assert not is_named_after("tests/unit/leo/test_deploy.py", "offramp_cli.hermod.deploy")


def test_neighbours_have_the_name_of_the_package() -> None:
    tests = ["tests/p4/engine/test_v1.py", "tests/p4/machine/test_core.py", "tests/p4/machine/test_again.py"]
    tests += ["tests/unit/machine/test_core.py", "tests/unit/test_core.py"]
    assert neighbours("offramp_p.v1.pipeline", tests) == ("tests/p4/engine/test_v1.py",)
    in_order = ("tests/p4/machine/test_core.py", "tests/unit/machine/test_core.py", "tests/p4/machine/test_again.py")
    assert neighbours("offramp_p4.machine.core", tests) == in_order
    assert neighbours("offramp_p4.alone", tests) == ()


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
