# SPDX-License-Identifier: Apache-2.0
"""Each language and architecture feature as a P4 program with an STF test.

Most have been run on p4c with bmv2's simple_switch with the same result. Not so loops.p4 and nomatch.p4, since p4c's
bmv2 back end has no for-in loops and bmv2 sets no error when a select matches nothing; nor action_data, empty_stacks,
loops_lists, numbers, object_arrays, overloads and widths, whose expectations follow from the specification alone.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from offramp_p4.frontend import load
from offramp_p4.stf import run_stf

FOLDER = Path(__file__).parent / "stf"
TESTS = sorted(path.stem for path in FOLDER.glob("*.stf"))

pytestmark = pytest.mark.p4


@pytest.mark.parametrize("name", TESTS)
def test_stf(name: str, engine: str) -> None:
    text = (FOLDER / f"{name}.stf").read_text()
    result = run_stf(load(FOLDER / f"{name}.p4"), text, f"{name}.stf", engine=engine)
    assert result.mismatches == []
    assert result.sent > 0
    assert result.expectations > 0


def test_every_program_has_a_test() -> None:
    programs = {path.stem for path in FOLDER.glob("*.p4")} - {"v1"}
    assert programs == set(TESTS)
    assert len(TESTS) >= 16
