# SPDX-License-Identifier: Apache-2.0
"""Two accelerators together against each alone, where the host costs nothing. Blind to what real cores share."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leo_virtual import running
from offramp.leo.applications import ebs, kvs

pytestmark = pytest.mark.full

FAST, SLOW = (
    f"model:{times},table_bytes=1048576" for times in ("service_us=20,latency_us=180", "service_us=30,latency_us=220")
)
"""Section 12's two servers, a hundred times slower."""
SECONDS = 0.015


def applications():
    devices = {"fast": FAST, "slow": SLOW}
    for app in (kvs.application(devices, mix="B", keys=5000), ebs.application(devices)):
        yield pytest.param(replace(app, paths=("fast", "slow"), window=64), id=app.name.split()[0])


@pytest.mark.parametrize("application", list(applications()))
def test_a_mix_sustains_the_sum_of_its_paths_and_answers_as_soon_as_the_better(application):
    with running(application) as run:
        alone = {path: run((path,), {}, SECONDS) for path in application.paths}
        measured = {path: 1e9 / outcome.rate for path, outcome in alone.items()}
        mixed = run(application.paths, measured, SECONDS)
        medians = [run((p,), {}, 2 * SECONDS, 0.6 * outcome.rate).latency_us() for p, outcome in alone.items()]
        part = run(application.paths, measured, 2 * SECONDS, 0.6 * mixed.rate)
    assert not any(outcome.wrong for outcome in (*alone.values(), mixed, part))
    assert mixed.rate >= 0.9 * sum(outcome.rate for outcome in alone.values())
    assert part.latency_us() <= 1.1 * min(medians)
