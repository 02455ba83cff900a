# SPDX-License-Identifier: Apache-2.0
"""Policies for sharing network cards: online execution's equal shares, and those compared with it (section VI-B)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from offramp.dgtp.coflows import priority, ranks
from offramp.dgtp.oes import RunningFlow, equal_shares
from offramp.dgtp.policies import BLIND, Policy, greedy
from offramp.dgtp.problem import Problem
from offramp_base.errors import OfframpError
from offramp_sim.water_filling import water_filling

POLICIES: Final = (
    "oes",
    "fifo",
    "fifo-greedy",
    "mrtf",
    "mrtf-exclusive",
    "omcoflow",
    "maxmin",
    "hermod",
    "mrtf-shortest",
)
"""Names of the policies, in the order of their numbers in the fast engine."""


def make_policy(name: str, problem: Problem) -> Policy:
    """A policy by name.

    ``fifo``: each sender serves its oldest flow only; receivers share equally. ``fifo-greedy``: oldest first, each
    takes what is left. ``mrtf``: least time left first, each takes what is left; ``mrtf-exclusive``: one flow for each
    card; ``mrtf-shortest``: a flow sends only where it is the shortest at both of its cards. ``omcoflow``: in
    proportion to 1 / finish time as if the coflow were alone. ``maxmin``: water-filling. ``hermod``: strict priorities
    of :mod:`offramp.dgtp.coflows`, equal shares within a coflow.

    Raises:
        OfframpError: there is no policy of that name.
    """
    if name not in POLICIES:
        raise OfframpError(f"policy {name}: expected one of {', '.join(POLICIES)}")
    if name == "omcoflow":
        return _omcoflow(problem)
    if name == "hermod":
        return _hermod(problem)
    return {
        **BLIND,
        "mrtf": _least_time(greedy),
        "mrtf-exclusive": _least_time(_exclusive),
        "mrtf-shortest": _least_time(_shortest),
        "maxmin": _water_filling,
    }[name]


def _exclusive(
    flows: Sequence[RunningFlow], ingress: Sequence[float], egress: Sequence[float], order: Sequence[int]
) -> list[float]:
    """Each flow whose cards are both free takes them."""
    return _claimed(flows, ingress, egress, order, waits=False)


def _shortest(
    flows: Sequence[RunningFlow], ingress: Sequence[float], egress: Sequence[float], order: Sequence[int]
) -> list[float]:
    """A flow that waits for one of its cards blocks the other for the flows behind it."""
    return _claimed(flows, ingress, egress, order, waits=True)


def _claimed(
    flows: Sequence[RunningFlow],
    ingress: Sequence[float],
    egress: Sequence[float],
    order: Sequence[int],
    *,
    waits: bool,
) -> list[float]:
    into: set[int] = set()
    out_of: set[int] = set()
    rates: list[float] = [0] * len(flows)
    for i in order:
        flow = flows[i]
        free = flow.source not in out_of and flow.target not in into
        if free:
            rates[i] = min(egress[flow.source], ingress[flow.target])
        if free or waits:
            out_of.add(flow.source)
            into.add(flow.target)
    return rates


def _least_time(share: Callable[..., list[float]]) -> Policy:
    def rates(flows: Sequence[RunningFlow], ingress: Sequence[float], egress: Sequence[float]) -> list[float]:
        left = [f.left / min(egress[f.source], ingress[f.target]) for f in flows]
        return share(flows, ingress, egress, sorted(range(len(flows)), key=left.__getitem__))

    return rates


def _omcoflow(problem: Problem) -> Policy:
    edges = problem.graph.edges

    def rates(flows: Sequence[RunningFlow], ingress: Sequence[float], egress: Sequence[float]) -> list[float]:
        coflows = [(edges[f.edge].target, f.iteration + edges[f.edge].lag) for f in flows]
        entering: dict[object, int] = {}
        leaving: dict[object, int] = {}
        for coflow, flow in zip(coflows, flows, strict=True):
            entering[coflow] = entering.get(coflow, 0) + 1
            leaving[coflow, flow.source] = leaving.get((coflow, flow.source), 0) + 1
        into: list[float] = [0] * len(ingress)
        out_of: list[float] = [0] * len(egress)
        weights = []
        for coflow, flow in sorted(zip(coflows, flows, strict=True), key=lambda pair: pair[0]):
            alone = min(ingress[flow.target] / entering[coflow], egress[flow.source] / leaving[coflow, flow.source])
            weight = alone / flow.left
            weights.append((flow, weight))
            into[flow.target] += weight
            out_of[flow.source] += weight
        by_flow = {
            id(flow): min(ingress[flow.target] * w / into[flow.target], egress[flow.source] * w / out_of[flow.source])
            for flow, w in weights
        }
        return [by_flow[id(flow)] for flow in flows]

    return rates


def _hermod(problem: Problem) -> Policy:
    rank = ranks(problem)

    def rates(flows: Sequence[RunningFlow], ingress: Sequence[float], egress: Sequence[float]) -> list[float]:
        classes: dict[int, list[int]] = {}
        for i, flow in enumerate(flows):
            classes.setdefault(priority(problem, rank, flow.edge, flow.iteration), []).append(i)
        into, out_of = list(ingress), list(egress)
        result: list[float] = [0] * len(flows)
        for _, members in sorted(classes.items()):
            shares = equal_shares([flows[i] for i in members], into, out_of)
            for i, rate in zip(members, shares, strict=True):
                result[i] = rate
            for i, rate in zip(members, shares, strict=True):
                into[flows[i].target] = max(into[flows[i].target] - rate, 0)
                out_of[flows[i].source] = max(out_of[flows[i].source] - rate, 0)
        return result

    return rates


def _water_filling(flows: Sequence[RunningFlow], ingress: Sequence[float], egress: Sequence[float]) -> list[float]:
    return water_filling([(f.target, len(ingress) + f.source) for f in flows], [*ingress, *egress])
