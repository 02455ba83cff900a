# SPDX-License-Identifier: Apache-2.0
"""Shares of a line that each class may take, so that no class starves the others by its priority."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from offramp.hermod.queues import QueuePlan
from offramp_base.errors import OfframpError

CONTROL_SHARE = 0.05
"""Default share of the line rate that control traffic, whose queue goes first, may take."""
LOWEST_SHARE = 0.05
"""Default share of the line rate that the lowest queue keeps."""
_BURST_S = 1e-3
_LEAST_BURST = 16


@dataclass(frozen=True)
class LineLimits:
    """Shares of a line.

    Attributes:
        line_bps: line rate of each port, in bits per second.
        control: share that a port may send in the queue of control traffic, the highest.
        lowest: share that is left to the lowest queue, whatever waits in others; 0: none.
        police_bps: by queue, what a port may send in it beside that.

    Raises:
        OfframpError: a share that is none, or a rate below 1.
    """

    line_bps: int
    control: float = CONTROL_SHARE
    lowest: float = LOWEST_SHARE
    police_bps: Mapping[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 < self.control <= 1:
            raise OfframpError(f"share of control traffic {self.control:g}: expected more than 0, up to 1")
        if not 0 <= self.lowest < 1:
            raise OfframpError(f"share of the lowest queue {self.lowest:g}: expected 0 up, below 1")

    @property
    def upper_bps(self) -> int | None:
        """Bits per second that all queues but the lowest may take together; None: unlimited."""
        return int(self.line_bps * (1 - self.lowest)) if self.lowest else None

    @property
    def lowest_bps(self) -> int | None:
        """Bits per second that the lowest queue keeps; None: no guarantee."""
        return int(self.line_bps * self.lowest) if self.lowest else None

    def of_queues(self, plan: QueuePlan) -> dict[int, int]:
        """Bits per second that a port may send, by queue; control traffic's share counts if it has a queue of its own.

        Raises:
            OfframpError: a queue that the plan has not.
        """
        for queue in self.police_bps:
            if not 0 <= queue < plan.count:
                raise OfframpError(f"rate of queue {queue}: expected 0 to {plan.count - 1}")
        shared = any(priority.queue == plan.urgent for priority in plan.priorities)
        control = {} if shared else {plan.urgent: max(int(self.line_bps * self.control), 1)}
        return control | dict(self.police_bps)


def burst_bytes(bps: int, mtu: int = 1500) -> int:
    """The burst size of a rate limit: a millisecond at the rate, but at least a few packets."""
    return max(int(bps / 8 * _BURST_S), _LEAST_BURST * mtu)
