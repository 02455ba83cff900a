# SPDX-License-Identifier: Apache-2.0
"""The order in which active flows are served, worked by hand; Python runs what machine code is made of."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from offramp_sim.dgtp.native.listed import (
    HERMOD,
    MRTF,
    MRTF_EXCLUSIVE,
    MRTF_SHORTEST,
    OMCOFLOW,
    before,
    list_flow,
    sort,
    source_of,
    target_of,
)

FIFO = 0


def state(policy: int, **fields: Any) -> Any:
    """Three edges between machines 0, 1 and 2, of which nothing is active; the first machine is the slowest."""
    usual: dict[str, Any] = {
        "policy": policy,
        "at": [2, 1, 0],
        "source": [0, 1, 2],
        "target": [1, 2, 0],
        "egress": [1.0, 4.0, 8.0],
        "ingress": [8.0, 4.0, 8.0],
        "list": [0] * 3,
        "left": [0.0] * 3,
        "arrived": [0] * 3,
        "key": [0.0] * 3,
        "now": [0],
        "lag": [0, 1, 0],
        "rank": [2, 0, 1, 3],
        "iterations": 9,
        "flows": 0,
    }
    return cast("Any", SimpleNamespace(**usual | fields))


@pytest.mark.each
@pytest.mark.parametrize(
    ("policy", "order"),
    [
        (FIFO, [1, 2, 0]),
        # Sizes 6, 8 and 1 over rates 4, 4 and 1: 1.5 s, 2 s and 1 s.
        (MRTF, [2, 0, 1]),
        (MRTF_EXCLUSIVE, [2, 0, 1]),
        (MRTF_SHORTEST, [2, 0, 1]),
        # By the tasks that wait: 1 * 10 + 3, 2 * 10 + 2 and 0 * 10 + 3.
        (OMCOFLOW, [2, 0, 1]),
        # By the iteration, then the rank: 3 * 4 + 2, 2 * 4 + 0, 3 * 4 + 1.
        (HERMOD, [1, 2, 0]),
    ],
)
def test_orders_of_service(policy: int, order: list[int]) -> None:
    ctx = state(policy)
    assert [source_of(ctx, edge) for edge in range(3)] == [2, 1, 0]
    assert [target_of(ctx, edge) for edge in range(3)] == [1, 0, 2]
    for edge, arrived, n, size in ((1, 5, 1, 8.0), (2, 6, 3, 1.0), (0, 7, 3, 6.0)):
        ctx.now[0] = arrived
        list_flow(ctx, edge, n, size)
    assert (ctx.flows, ctx.left, ctx.arrived) == (3, [6.0, 8.0, 1.0], [7, 5, 6])
    sort(ctx)
    assert ctx.list == order


def test_equal_keys_go_by_arrival_and_then_by_number() -> None:
    ctx = state(FIFO, key=[1.0, 1.0, 0.5], arrived=[3, 2, 9])
    assert [before(ctx, 2, 0), before(ctx, 0, 2), before(ctx, 1, 0), before(ctx, 0, 1)] == [True, False, True, False]
    ctx.arrived[1] = 3
    assert [before(ctx, 0, 1), before(ctx, 1, 0), before(ctx, 1, 1)] == [True, False, False]
