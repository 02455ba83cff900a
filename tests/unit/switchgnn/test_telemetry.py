# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re

from offramp.p4src import p4_source
from offramp.switchgnn.telemetry import Outcome, totals


def test_the_p4_programs_have_the_same_outcomes() -> None:
    body = re.search(r"enum bit<8> outcome_t \{(.*?)\}", p4_source("switchgnn/frame.p4").read_text(), re.DOTALL)
    assert body
    found = re.findall(r"(\w+)\s*=\s*(\d+)", body[1])
    assert [(name, int(value)) for name, value in found] == [(o.name, int(o)) for o in Outcome]


def test_totals() -> None:
    counts = totals(
        {Outcome.OPENED: 3, Outcome.ADDED: 4, Outcome.COMPLETED: 3, Outcome.RAW: 2, Outcome.SHARED: 1}, 5, 6
    )
    assert counts["passes"] == 13
    assert counts["contributions"] == 10
    assert counts["results"] == 3
    assert counts["overflows"] == 3
    assert (counts["uploads"], counts["recirculations"], counts["go"]) == (5, 6, 0)
