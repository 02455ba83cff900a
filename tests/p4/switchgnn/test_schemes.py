# SPDX-License-Identifier: Apache-2.0
"""Every scheme on random graphs, partitions, memories and widths, through the P4 program on the embedded switch.

The oracle is a product with the cut edges. Blind to what only a real network does: loss is in ``test_soak.py``.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.switchgnn.scheme import Scheme, candidates
from offramp.switchgnn.scheme_plan import SchemePlan
from offramp_sim.switchgnn.jobs import GraphPlans, random_job
from offramp_sim.switchgnn.measure import ports_of, remote_sums, run_exchange
from scheme_plans import plan_or_none

pytestmark = [pytest.mark.p4, pytest.mark.full]

SCHEMES = candidates(Scheme(), all_bits=True)

CASES = {
    "seed": st.integers(0, 2**32 - 1),
    "vertices": st.integers(2, 20),
    "workers": st.integers(1, 5),
    "limit": st.integers(2, 20),
    "features": st.sampled_from([1, 5, 33, 70]),
    "scheme": st.sampled_from(SCHEMES),
}


def made_of(seed, vertices, workers, limit, features, scheme) -> SchemePlan | None:
    boundary = random_job(seed, vertices=vertices, edges=2 * vertices, workers=workers, limit=20).boundary
    chunks = scheme.chunks_a_round(features)
    return plan_or_none(boundary, scheme, features, limit * chunks * 128, seed=seed, first_block_id=seed % 7)


def switch_for(make_target, scheme_plan: SchemePlan):
    return make_target(GraphPlans(scheme_plan.boundary, [scheme_plan.plan], ports_of(scheme_plan)))


@settings(derandomize=True, max_examples=150, deadline=None)
@given(**CASES)
def test_sums_bytes_and_passes(p4_target, make_reference, seed, vertices, workers, limit, features, scheme) -> None:
    plan = made_of(seed, vertices, workers, limit, features, scheme)
    if plan is None:
        return
    target, oracle = switch_for(p4_target, plan), switch_for(make_reference, plan)
    check_exchange(plan, target, seed)
    check_exchange(plan, oracle, seed)
    assert target.counters() == oracle.counters()
    assert target.occupancy() == oracle.occupancy()
    assert target.occupancy()[0] == 0
    assert target.occupancy()[1] <= plan.plan.aggregators_peak


@settings(derandomize=True, max_examples=40, deadline=None)
@given(**CASES)
def test_on_tofino(p4_targets, seed, vertices, workers, limit, features, scheme) -> None:
    plan = made_of(seed, vertices, workers, limit, features, scheme)
    if plan is not None:
        target = switch_for(p4_targets("tna-native"), plan)
        check_exchange(plan, target, seed)
        assert target.occupies(0, 0)


def check_exchange(scheme_plan: SchemePlan, target, seed: int) -> None:
    boundary, rng = scheme_plan.boundary, np.random.default_rng(seed)
    shape = len(boundary.owner), scheme_plan.features
    if scheme_plan.scheme.bits == 32:
        values = rng.integers(-(2**26), 2**26, shape).astype(np.int32)
    else:
        values = (rng.normal(size=shape) * 10.0 ** rng.integers(-6, 6)).astype(np.float32)
    measured = run_exchange(scheme_plan, values, target.process, seed)
    expected = remote_sums(boundary, values)
    if scheme_plan.scheme.bits == 32:
        assert np.array_equal(measured.sums, expected)
    else:
        assert (np.abs(measured.sums - expected) <= most_off(scheme_plan, values)[:, np.newaxis]).all()
    assert (measured.data_up, measured.data_down) == (scheme_plan.packets_up, scheme_plan.packets_down)
    barriers = scheme_plan.rounds + 1  # and the one at the start
    assert (
        measured.traffic.wire_up + measured.traffic.wire_down
        == scheme_plan.wire_bytes + barriers * 2 * 84 * boundary.workers
    )
    assert measured.traffic.payload_up + measured.traffic.payload_down == scheme_plan.payload_bytes
    counts = target.counters()
    assert counts["passes"] == counts["contributions"] == scheme_plan.passes
    assert counts["recirculations"] == scheme_plan.recirculations + barriers


def most_off(scheme_plan: SchemePlan, values: np.ndarray) -> np.ndarray:
    """``(vertices,)`` a step for each contribution, of the widest range that may share the field; and rounding."""
    boundary, full = scheme_plan.boundary, (1 << scheme_plan.scheme.bits) - 1
    off = np.zeros(len(boundary.owner))
    magnitude = np.abs(values[boundary.vertices]).max(initial=0.0)
    if scheme_plan.scheme.pairwise:
        # Ranges of the partial sums of a vertex sum to at most twice the magnitudes behind it.
        ranges = 2 * magnitude * boundary.need * (1 + 2.0**-7)
        off[boundary.vertices] = boundary.r * (1 + 2.0**-7) * ranges / (full - boundary.r)
    else:
        off[boundary.vertices] = boundary.need * 2 * magnitude / (full // boundary.need.max(initial=1))
    return off * (1 + 1e-5) + 1e-5 * magnitude
