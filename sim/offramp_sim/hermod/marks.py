# SPDX-License-Identifier: Apache-2.0
"""Marks of coflows under a policy: the order at the sender, the DSCP on the wire, and the queue of each DSCP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.hermod.dag import Dag
from offramp.hermod.dscp import CODES, DscpCodec
from offramp.hermod.factors import CType
from offramp.hermod.queues import CONTROL, MOST_QUEUES, plan_queues
from offramp_base.errors import OfframpError
from offramp_sim.hermod.flow.policies import Order, order_of

_TOP: Final = MOST_QUEUES - 1


@dataclass(frozen=True, slots=True)
class Marks:
    """A policy made ready for packets.

    Attributes:
        level, side: level and side of each coflow at its senders, as in :class:`Order`.
        fifo: the order of submission in place of ``level``.
        dscp: DSCP of each coflow.
        answer_dscp: DSCP of acknowledgements.
        queue: queue by DSCP, all 64; the higher goes first.
    """

    level: npt.NDArray[np.int64]
    side: npt.NDArray[np.int64]
    fifo: bool
    dscp: tuple[int, ...]
    answer_dscp: int
    queue: tuple[int, ...]


def marks_of(dag: Dag, policy: str, queues: int | None = None, scheme: str = "split", hosts: str = "queues") -> Marks:
    """A policy's marks.

    With ``queues`` the switch has the queues of Hermod's plan, and senders keep the ``exact`` order or see the
    ``queues`` too. Without, every class of the policy gets a queue of its own.

    Raises:
        OfframpError: an unknown policy or kind of host, more classes than queues.
    """
    order = order_of(dag, policy, queues, scheme, hosts)
    if queues is not None and not order.fifo and policy.startswith("hermod"):
        return _planned(dag, policy, order, queues, scheme)
    travelling = np.array([coflow.ctype is not CType.TP for _, coflow in dag.coflows()], bool)
    levels = np.unique(order.level[travelling]).tolist()
    if len(levels) > MOST_QUEUES:
        raise OfframpError(
            f"policy {policy}: {len(levels)} classes for {MOST_QUEUES} queues of the switch; expected queues 1 to 8"
        )
    of_level = {level: _TOP - rank if len(levels) > 1 else 0 for rank, level in enumerate(levels)}
    dscp = tuple(of_level.get(level, 0) * MOST_QUEUES for level in order.level.tolist())
    answer = _TOP * MOST_QUEUES + _TOP
    return Marks(order.level, order.side, bool(order.fifo), dscp, answer, tuple(d // MOST_QUEUES for d in range(CODES)))


def _planned(dag: Dag, policy: str, order: Order, queues: int, scheme: str) -> Marks:
    codec = DscpCodec(dag.micro_batches, dag.layers, dag.interleaved or "interleaved" in policy, plain=scheme == "msb")
    plan = plan_queues(codec, queues, control=(), scheme=scheme)
    used = set(plan.dscp.values())
    free = [d for d in (*sorted(CONTROL), *range(CODES - 1, -1, -1)) if d not in used]
    answer = free[0] if free else max(used, key=lambda d: plan.queue[d])
    queue = list(plan.queue)
    if free:
        queue[answer] = _TOP
    dscp = tuple(
        plan.dscp[codec.code(coflow.factors)] if coflow.ctype is not CType.TP else 0 for _, coflow in dag.coflows()
    )
    at_hosts = order.level if order.host is None else order.host
    return Marks(at_hosts, order.side, False, dscp, answer, tuple(queue))
