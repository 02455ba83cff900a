# SPDX-License-Identifier: Apache-2.0
"""Priorities in the network: the thesis's schemes, and Hermod's order in a number of queues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.hermod.dag import COMBINE_GRADIENT, DISPATCH_GRADIENT, Dag
from offramp.hermod.dscp import DscpCodec
from offramp.hermod.factors import POLICIES, CType, Factors, hermod_policy, key
from offramp.hermod.queues import plan_queues
from offramp_base.errors import OfframpError

BASELINES: Final = ("fair", "fifo", "host-fifo", "lina", "lina-fifo")
NO_FIFO: Final = 0
EVERY_HOP: Final = 1
AT_HOSTS: Final = 2
HOSTS: Final = ("queues", "exact")
NAMES: Final = (*BASELINES, *POLICIES)


@dataclass(frozen=True, slots=True)
class Order:
    """A policy made ready for a DAG.

    Attributes:
        level: level of each coflow in the order of the DAG; lower goes first, equals share.
        fifo: where order of arrival counts: in place of ``level``, or of ``host``.
        side: 1 for what holds 2 back at its sender, 0 for neither.
        host: order among equal levels, which only senders know; None: none.
    """

    level: npt.NDArray[np.int64]
    fifo: int
    side: npt.NDArray[np.int64]
    host: npt.NDArray[np.int64] | None = None


def order_of(dag: Dag, policy: str, queues: int | None = None, scheme: str = "split", hosts: str = "queues") -> Order:
    """A policy's order of a DAG's coflows.

    Megatron has no priorities: ``fair`` shares every link, ``fifo`` serves in order of submission at every hop, and
    ``host-fifo`` does so at the sender alone, while links share what senders let out. ``lina`` holds DP
    back at a sender that has EP of the backward pass to send, and the network shares fairly (``lina-fifo``: serves in
    order of submission). The others are strict
    orders at every hop, exact, or with ``queues`` as the switches see them (:func:`plan_queues`; Hermod's orders only);
    ``hosts`` then says whether senders keep the ``exact`` order or see the ``queues`` too.

    Raises:
        OfframpError: an unknown policy or kind of host, or queues for a policy that has no code points.
    """
    if hosts not in HOSTS:
        raise OfframpError(f"hosts {hosts}: expected {' or '.join(HOSTS)}")
    if policy == "hermod" and dag.interleaved:
        policy = hermod_policy(interleaved=True)
    kinds, of = dag.kinds_of_coflows()
    side = np.zeros(len(of), np.int64)
    if policy in BASELINES:
        if policy.startswith("lina"):
            side = np.array([_lina_side(*kind) for kind in kinds], np.int64)[of]
        equal = np.zeros(len(of), np.int64)
        if policy == "host-fifo":
            return Order(equal, AT_HOSTS, side, equal)
        return Order(equal, EVERY_HOP if policy.endswith("fifo") else NO_FIFO, side)
    if policy not in POLICIES:
        raise OfframpError(f"policy {policy}: expected one of {', '.join(NAMES)}")
    every = list({factors for _, factors in kinds})
    keys = {f: key(policy, f) for f in every}
    rank = {k: i for i, k in enumerate(sorted(set(keys.values())))}
    exact = np.array([rank[keys[factors]] for _, factors in kinds], np.int64)[of]
    if queues is None:
        return Order(exact, NO_FIFO, side)
    level = _in_queues(dag, policy, every, queues, scheme)
    coarse = np.array([level[factors] for _, factors in kinds], np.int64)[of]
    return Order(coarse, NO_FIFO, side, exact if hosts == "exact" else None)


def _in_queues(dag: Dag, policy: str, every: list[Factors], queues: int, scheme: str) -> dict[Factors, int]:
    if not policy.startswith("hermod"):
        raise OfframpError(f"policy {policy}: has no code points, queues are for hermod")
    codec = DscpCodec(dag.micro_batches, dag.layers, policy.endswith("interleaved"), plain=scheme == "msb")
    plan = plan_queues(codec, queues, control=(), scheme=scheme)
    inside = {f: queues for f in every if f.ctype is CType.TP}
    return {f: queues - plan.queue_of(codec, f) for f in every if f.ctype is not CType.TP} | inside


def _lina_side(role: str, factors: Factors) -> int:
    if factors.ctype is CType.DP:
        return 2
    return int(role in (COMBINE_GRADIENT, DISPATCH_GRADIENT))
