# SPDX-License-Identifier: Apache-2.0
"""The bounds within which the planner takes a way, and a switch has pages. Blind to the models behind the times."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from offramp.cluster.model import ClusterSwitch
from offramp.job.planner import _gains
from offramp.job.switches import page_bytes, pages_of


@pytest.mark.parametrize(
    ("gains", "step_s", "mostly", "taken"),
    [
        (True, 0.5, True, True),
        (False, 0.5, True, False),  # models alone, where they may not decide
        (True, 0.9, True, True),  # just the share that is wanted
        (True, 0.901, True, False),
        (True, 0.5, False, False),
    ],
)
def test_a_way_is_taken_if_it_gains_enough_in_most_rounds(gains, step_s, mostly, taken):
    known = SimpleNamespace(
        ways=("gloo", "switch"),
        gains=gains,
        step_s={"gloo": 1.0, "switch": step_s},
        mostly_faster=lambda way, first: mostly and (way, first) == ("switch", "gloo"),
    )
    assert _gains(known, "switch", 0.1) is taken


@pytest.mark.parametrize("segments", [1, 4, 32])
def test_a_switch_has_the_pages_that_its_memory_holds_and_sixteen_at_most(segments):
    size = page_bytes(segments)
    assert size == 256 * (segments * 256 + 16)
    for memory, pages in ((size - 1, 0), (size, 1), (16 * size - 1, 15), (16 * size, 16), (17 * size, 16)):
        assert pages_of(ClusterSwitch(name="s", memory=memory), segments) == pages
