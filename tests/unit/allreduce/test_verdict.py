# SPDX-License-Identifier: Apache-2.0
"""The outcomes that hosts read from counters are those that the P4 programs count."""

from __future__ import annotations

import re
from pathlib import Path

from offramp.allreduce.verdict import PacketVerdict

FRAME = Path(__file__).parents[3] / "p4/allreduce/frame.p4"


def test_outcomes_have_the_programs_numbers() -> None:
    enum = FRAME.read_text("utf-8").partition("allreduce_outcome_t {")[2].partition("}")[0]
    assert {name: int(number) for name, number in re.findall(r"(\w+)\s*=\s*(\d+)", enum)} == {
        each.name: each.value for each in PacketVerdict
    }
