# SPDX-License-Identifier: Apache-2.0
"""Ranks measured around the embedded switch: which steps there are, and that sums are compared."""

from __future__ import annotations

import pytest

from offramp_base.errors import OfframpError
from offramp_sim.allreduce import measure as module
from offramp_sim.allreduce.experiment import Experiment
from offramp_sim.allreduce.measure import measure, tensor


def test_steps_of_two_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing enters a namespace; each size has a round that is not counted, and a second tensor where it changes."""
    monkeypatch.setattr(module, "in_namespace", None)
    notes: list[str] = []
    timings = measure(Experiment(ranks=2, size=(0.001, 0.002), rounds=2), notes.append)
    assert [(each.way, each.megabytes, len(each.seconds)) for each in timings.timings] == [
        ("offramp", 0.001, 2),
        ("offramp", 0.002, 2),
    ]
    assert all(seconds > 0 for each in timings.timings for seconds in each.seconds)
    assert notes[:2] == ["loading the program", "starting the ranks"]
    steps = [f"{size} MB, offramp, round {number} of 2" for size in (0.001, 0.002) for number in range(3)]
    assert notes[2:] == steps
    assert timings.sent > 0
    assert timings.lost == 0
    assert tensor(0, 0.002, 0).nbytes == 4 * (int(0.002 * (1 << 20)) // 4)


def test_links_with_a_rate_are_made_in_a_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(work: object) -> object:
        del work
        raise OfframpError("not here")

    monkeypatch.setattr(module, "in_namespace", refused)
    with pytest.raises(OfframpError, match="not here"):
        measure(Experiment(ranks=2, rate_bps=10**9))
