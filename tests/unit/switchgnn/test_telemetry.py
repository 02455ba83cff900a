# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re

from offramp.p4src import p4_source
from offramp.switchgnn.telemetry import Disposition, totals


def test_the_p4_programs_have_the_same_outcomes() -> None:
    body = re.search(
        r"enum bit<8> switchgnn_outcome_t \{(.*?)\}", p4_source("switchgnn/frame.p4").read_text(), re.DOTALL
    )
    assert body
    constants = re.findall(r"(\w+)\s*=\s*(\d+)", body[1])
    assert [(name, int(value)) for name, value in constants] == [(o.name, int(o)) for o in Disposition]


def test_totals() -> None:
    counts = totals(
        {
            Disposition.OPENED: 3,
            Disposition.ADDED: 4,
            Disposition.COMPLETED: 3,
            Disposition.RAW: 2,
            Disposition.SHARED: 1,
        },
        5,
        6,
    )
    assert counts["passes"] == 13
    assert counts["contributions"] == 10
    assert counts["results"] == 3
    assert counts["overflows"] == 3
    assert (counts["uploads"], counts["recirculations"], counts["go"]) == (5, 6, 0)
