# SPDX-License-Identifier: Apache-2.0
"""Plans of several jobs: each keeps its own order, no DSCP is two jobs', and the policy holds between them."""

from __future__ import annotations

from itertools import pairwise

import pytest

from offramp.hermod.dscp import DscpCodec
from offramp.hermod.plan_file import plan_document, plan_from
from offramp.hermod.tenants import Tenant, compose, switch_plan
from offramp_base.errors import OfframpError

JOBS = (DscpCodec(8, 32), DscpCodec(16, 96), DscpCodec(4, 12), DscpCodec(8, 24, interleaved=True))


@pytest.mark.parametrize("policy", ["strict", "weighted"])
@pytest.mark.parametrize("queues", [6, 8])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_every_jobs_own_order_holds_and_nothing_collides(count: int, queues: int, policy: str) -> None:
    tenants = [Tenant(f"job{i}", codec, 1.0 / (i + 1)) for i, codec in enumerate(JOBS[:count])]
    plans = compose(tenants, policy, queues)
    used = [set(plan.dscp.values()) for plan in plans]
    assert sum(map(len, used)) == len(set().union(*used))
    assert not set().union(*used) & {0, 48}
    for tenant, plan in zip(tenants, plans, strict=True):
        assert set(plan.dscp) == set(tenant.codec.meanings)
        ordered = [plan.dscp[code] for code in sorted(plan.dscp)]
        assert all(a >= b and plan.queue[a] >= plan.queue[b] for a, b in pairwise(ordered))
        assert {plan.queue[dscp] for dscp in ordered} <= set(range(1, queues - 1))
        assert len({plan.queue[dscp] for dscp in ordered}) > 1 or policy == "strict" or tenant.weight < 1
        assert plan_from(plan_document(plan)) == plan
    whole = switch_plan(tenants, plans)
    assert plan_from(plan_document(whole)) == whole
    assert set(whole.queues) == set().union(*used) | {48}
    for priority in whole.priorities:
        assert priority.dscp in used[int((priority.tenant or "")[3:])]


def test_strict_puts_all_of_a_job_before_all_of_the_next() -> None:
    plans = compose([Tenant("a", JOBS[0]), Tenant("b", JOBS[0]), Tenant("c", JOBS[0])], "strict")
    for first, second in pairwise(plans):
        assert min(first.dscp.values()) > max(second.dscp.values())
        assert min(first.queue[d] for d in first.dscp.values()) > max(second.queue[d] for d in second.dscp.values())


def test_equal_weights_share_queues_and_half_the_weight_falls_twice_as_fast() -> None:
    alike = compose([Tenant("a", JOBS[0]), Tenant("b", JOBS[0])], "weighted")
    halved = compose([Tenant("a", JOBS[0]), Tenant("b", JOBS[0], 0.5)], "weighted")
    for code in JOBS[0].meanings:
        a, b, half = (plan.queue[plan.dscp[code]] for plan in (alike[0], alike[1], halved[1]))
        assert a == b
        assert half == max(6 - (2 * (6 - a + 1) - 1), 1)


@pytest.mark.parametrize(
    ("tenants", "policy", "queues", "message"),
    [
        ([], "strict", 8, "no jobs: expected one or more"),
        ([Tenant("a", JOBS[0])], "fair", 8, "composition fair: expected one of strict, weighted"),
        ([Tenant("a", JOBS[0])] * 2, "strict", 8, "job a: is given twice"),
        ([Tenant("a", JOBS[0], 0)], "weighted", 8, "job a: weight 0, expected more than 0"),
        (
            [Tenant(name, JOBS[0]) for name in "abc"],
            "strict",
            4,
            "3 jobs: 4 queues leave 2 for data, expected one for each",
        ),
    ],
)
def test_what_cannot_be_composed(tenants: list[Tenant], policy: str, queues: int, message: str) -> None:
    with pytest.raises(OfframpError) as error:
        compose(tenants, policy, queues)
    assert str(error.value) == message
