# SPDX-License-Identifier: Apache-2.0
"""A coflow's priority at a host: its exact place in the order, its DSCP, its class in Linux queues."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Self

from offramp.hermod.dscp import DscpCodec
from offramp.hermod.factors import Factors, Key, hermod_policy, key
from offramp.hermod.queues import CONTROL, MOST_QUEUES, QueuePlan, plan_queues

_SO_PRIORITIES: Final = (6, 4, 0, 5, 3, 2, 1)
"""Values that need no privilege, the most urgent first, as pfifo_fast and prio map them to bands by default."""
_LAST: Final = (1 << 62,)


@dataclass(frozen=True, slots=True)
class CoflowPriority:
    """One priority.

    Attributes:
        key: smaller goes first at this host; equal keys in order of submission.
        dscp: DSCP of the packets.
        so_priority: for the queueing discipline of the interface (socket(7)).
        queue: queue of a switch, from 0, the lowest: the service level of RDMA.
    """

    key: Key
    dscp: int
    so_priority: int
    queue: int = 0

    @property
    def traffic_class(self) -> int:
        """The byte of the IP header, also the traffic class of RDMA: its upper six bits are the DSCP."""
        return self.dscp << 2


@dataclass(frozen=True)
class Priorities:
    """Marks of one job; without a plan every coflow is alike: first come, first served, DSCP 0.

    Attributes:
        codec: factors to codes.
        plan: codes to DSCPs and queues, as switches have it.
        policy: the exact order at the host.
    """

    codec: DscpCodec | None = None
    plan: QueuePlan | None = None
    policy: str = "hermod"

    @classmethod
    def of_job(
        cls,
        micro_batches: int,
        layers: int,
        *,
        interleaved: bool = False,
        queues: int = MOST_QUEUES,
        control: Collection[int] = CONTROL,
        apart: bool = False,
    ) -> Self:
        """The thesis' order, and the split map for switches with ``queues`` queues; ``apart``: not the lowest of them.

        Raises:
            OfframpError: as :class:`~offramp.hermod.dscp.DscpCodec` and :func:`~offramp.hermod.queues.plan_queues`.
        """
        codec = DscpCodec(micro_batches, layers, interleaved)
        return cls(
            codec, plan_queues(codec, queues, control=control, apart=apart), hermod_policy(interleaved=interleaved)
        )

    @classmethod
    def off(cls) -> Self:
        """Priorities of a job without any."""
        return cls()

    def mark(self, factors: Factors | None) -> CoflowPriority:
        """The mark of a coflow; one without factors goes last.

        Raises:
            OfframpError: a factor outside the job.
        """
        if self.codec is None or self.plan is None:
            return CoflowPriority((), 0, 0)
        if factors is None:
            return CoflowPriority(_LAST, 0, _SO_PRIORITIES[-1])
        code = self.codec.code(factors)
        dscp = self.plan.dscp[code]
        place = self.plan.lowest + self.plan.classes - 1 - self.plan.queue[dscp]
        return CoflowPriority(
            key(self.policy, factors),
            dscp,
            _SO_PRIORITIES[place * len(_SO_PRIORITIES) // self.plan.classes],
            self.plan.queue[dscp],
        )

    @property
    def control(self) -> CoflowPriority:
        """Mark of the few bytes by which hosts agree."""
        if self.plan is None or not self.plan.control:
            return CoflowPriority((), 0, 0)
        dscp = max(self.plan.control)
        return CoflowPriority((), dscp, _SO_PRIORITIES[0], self.plan.queue[dscp])
