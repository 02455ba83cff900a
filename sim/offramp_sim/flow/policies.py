"""Who goes first in the network: the thesis's schemes and Hermod's order in a number of queues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.coflow.dag import COMBINE_GRADIENT, DISPATCH_GRADIENT, Coflow, Dag
from offramp.coflow.dscp import Codec
from offramp.coflow.factors import POLICIES, CType, Factors, hermod_policy, key
from offramp.coflow.queues import plan_queues
from offramp.errors import OfframpError

BASELINES: Final = ("fair", "fifo", "lina", "lina-fifo")
NAMES: Final = (*BASELINES, *POLICIES)


@dataclass(frozen=True, slots=True)
class Order:
    """A policy made ready for a DAG.

    Attributes:
        level: of each coflow in the order of the DAG; lower goes first, equals share.
        fifo: order of arrival in place of ``level``.
        side: 1 for what holds 2 back at its sender, 0 for neither.
    """

    level: npt.NDArray[np.int64]
    fifo: bool
    side: npt.NDArray[np.int64]


def order_of(dag: Dag, policy: str, queues: int | None = None, scheme: str = "split") -> Order:
    """A policy's order of a DAG's coflows.

    Megatron has no priorities: ``fair`` shares every link, ``fifo`` serves in order of submission. ``lina`` holds DP
    back at a sender that has EP of the backward pass to send, and the network shares fairly (``lina-fifo``: serves in
    order of submission). The others are strict
    orders at every hop, exact, or with ``queues`` as the switches see them (:func:`plan_queues`; Hermod's orders only).

    Raises:
        OfframpError: an unknown policy, or queues for one that has no code points.
    """
    if policy == "hermod" and dag.interleaved:
        policy = hermod_policy(interleaved=True)
    coflows = [coflow for _, coflow in dag.coflows()]
    side = np.zeros(len(coflows), np.int64)
    if policy in BASELINES:
        if policy.startswith("lina"):
            side[:] = [_lina_side(coflow) for coflow in coflows]
        return Order(np.zeros(len(coflows), np.int64), policy.endswith("fifo"), side)
    if policy not in POLICIES:
        raise OfframpError(f"policy {policy}: expected one of {', '.join(NAMES)}")
    level = dict.fromkeys({coflow.factors for coflow in coflows}, 0)
    if queues is None:
        keys = {f: key(policy, f) for f in level}
        rank = {k: i for i, k in enumerate(sorted(set(keys.values())))}
        level = {f: rank[keys[f]] for f in level}
    else:
        level = _in_queues(dag, policy, list(level), queues, scheme)
    return Order(np.array([level[coflow.factors] for coflow in coflows], np.int64), False, side)


def _in_queues(dag: Dag, policy: str, every: list[Factors], queues: int, scheme: str) -> dict[Factors, int]:
    if not policy.startswith("hermod"):
        raise OfframpError(f"policy {policy}: has no code points, queues are for hermod")
    codec = Codec(dag.micro_batches, dag.layers, policy.endswith("interleaved"), plain=scheme == "msb")
    plan = plan_queues(codec, queues, control=(), scheme=scheme)
    inside = {f: queues for f in every if f.ctype is CType.TP}
    return {f: queues - plan.queue_of(codec, f) for f in every if f.ctype is not CType.TP} | inside


def _lina_side(coflow: Coflow) -> int:
    if coflow.ctype is CType.DP:
        return 2
    return int(coflow.role in (COMBINE_GRADIENT, DISPATCH_GRADIENT))
