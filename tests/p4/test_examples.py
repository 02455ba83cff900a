# SPDX-License-Identifier: Apache-2.0
"""The examples do what their STF tests say."""

from __future__ import annotations

import pytest

from offramp.p4src import p4_root
from offramp_p4.frontend import load
from offramp_p4.stf import run_stf

EXAMPLES = p4_root() / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.p4"))

pytestmark = pytest.mark.p4


@pytest.mark.parametrize("name", NAMES)
def test_stf(name: str) -> None:
    result = run_stf(load(EXAMPLES / f"{name}.p4"), (EXAMPLES / f"{name}.stf").read_text(), f"{name}.stf")
    assert result.mismatches == []
    assert result.expectations > 0


def test_there_is_one_for_each_architecture() -> None:
    assert {"reflector", "router_tna"} <= set(NAMES)
