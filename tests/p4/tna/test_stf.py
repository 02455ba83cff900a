"""Whole TNA programs as STF tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from offramp_sim.p4.frontend import load
from offramp_sim.p4.stf import run_stf

FOLDER = Path(__file__).parent / "stf"
TESTS = sorted(path.stem for path in FOLDER.glob("*.stf"))

pytestmark = pytest.mark.p4


@pytest.mark.parametrize("name", TESTS)
def test_stf(name: str) -> None:
    result = run_stf(load(FOLDER / f"{name}.p4"), (FOLDER / f"{name}.stf").read_text(), f"{name}.stf")
    assert result.mismatches == []
    assert result.expectations > 0


def test_there_are_tests() -> None:
    assert TESTS == ["router"]
