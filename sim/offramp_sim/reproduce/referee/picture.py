# SPDX-License-Identifier: Apache-2.0
"""Distance of an item from the paper, over all settings of the referee."""

from __future__ import annotations

from collections.abc import Sequence

from offramp_sim.figures.panels import Intervals
from offramp_sim.reproduce.item import number_in
from offramp_sim.reproduce.referee.verdict import NumberVerdict


def panel(verdicts: Sequence[NumberVerdict]) -> Intervals | None:
    """A panel of ours over the published number, where both are greater than 0; None if there are none."""
    spans = {}
    for each in verdicts:
        published = number_in(each.published)
        if published is None or each.low is None or each.middle is None or each.high is None:
            continue
        if published > 0 and each.low > 0:
            spans[each.what] = each.low / published, each.middle / published, each.high / published
    return (
        Intervals("least, median and most of all settings", "ours over the published number", spans) if spans else None
    )
