# SPDX-License-Identifier: Apache-2.0
"""Policies that know nothing of the sizes of flows, so that a running cluster can follow them, too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from offramp.dgtp.oes import RunningFlow, equal_shares

Policy = Callable[[Sequence[RunningFlow], Sequence[float], Sequence[float]], Sequence[float]]
"""Bytes per second of each flow, given them in order of arrival, and what network cards take in and give out."""


def oldest_only(flows: Sequence[RunningFlow], ingress: Sequence[float], egress: Sequence[float]) -> list[float]:
    """Each sender serves its oldest flow only; receivers share equally."""
    heads: dict[int, int] = {}
    entering = [0] * len(ingress)
    for i, flow in enumerate(flows):
        if flow.source not in heads:
            heads[flow.source] = i
            entering[flow.target] += 1
    return [
        min(egress[f.source], ingress[f.target] / entering[f.target]) if heads[f.source] == i else 0
        for i, f in enumerate(flows)
    ]


def greedy(
    flows: Sequence[RunningFlow], ingress: Sequence[float], egress: Sequence[float], order: Iterable[int]
) -> list[float]:
    """One flow after the other, in an order of their indices, takes what is left of both of its cards."""
    into, out_of = list(ingress), list(egress)
    rates: list[float] = [0] * len(flows)
    for i in order:
        flow = flows[i]
        rate = rates[i] = min(out_of[flow.source], into[flow.target])
        if rate > 0:
            out_of[flow.source] -= rate
            into[flow.target] -= rate
    return rates


def oldest_first(flows: Sequence[RunningFlow], ingress: Sequence[float], egress: Sequence[float]) -> list[float]:
    """The oldest flow first; each takes what is left."""
    return greedy(flows, ingress, egress, range(len(flows)))


BLIND: Final[dict[str, Policy]] = {"oes": equal_shares, "fifo": oldest_only, "fifo-greedy": oldest_first}
"""Policies by name."""
