# SPDX-License-Identifier: Apache-2.0
"""All-reduce beside gloo's ring, in turns over the same links; docs/results has the table.

Times depend on the machine: nothing here passes or fails by them. Every sum is compared with NumPy's.
"""

from __future__ import annotations

import pytest

import namespaces
from offramp_sim.allreduce.experiment import Experiment
from offramp_sim.allreduce.measure import measure

pytestmark = pytest.mark.bench


def show(experiment: Experiment) -> None:
    outcome = measure(experiment)
    for timing in outcome.timings:
        gain = outcome.gain(timing.megabytes) if timing.way == "offramp" else None
        assert timing.median_s > 0
        line = f"{experiment.ranks} ranks, {timing.megabytes:g} MB, {timing.way}: {1e3 * timing.median_s:,.0f} ms"
        print(f"{line}, gain {gain:.2f}" if gain else line)  # noqa: T201


@pytest.mark.netns
@pytest.mark.parametrize("ranks", [4, 8])
@pytest.mark.parametrize("rate_bps", [10**8, 10**9])
def test_behind_rated_links(ranks: int, rate_bps: int) -> None:
    namespaces.require()
    show(Experiment(ranks=ranks, size=(1.0, 16.0, 64.0), segments=32, rate_bps=rate_bps, compare=True))


@pytest.mark.parametrize("segments", [1, 4, 32])
def test_on_loopback(segments: int) -> None:
    show(Experiment(ranks=4, size=(1.0, 16.0), segments=segments, compare=True))
