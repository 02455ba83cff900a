# SPDX-License-Identifier: Apache-2.0
"""The places and reasons where a packet is held, and how far it runs when it is released."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from offramp_p4.engine.layout import Memory
    from offramp_p4_tools.debug.code import DebugCode, Location

Reason = Literal["entry", "step", "breakpoint", "function breakpoint", "exception", "pause"]
How = Literal["in", "over", "out", "packet"]


@dataclass(frozen=True, slots=True)
class HeldPacket:
    """The packet that is being run: its number since the start, and how it came in."""

    number: int
    port: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Stop:
    """A packet that is held.

    Attributes:
        stack: locations and the packet's memory, innermost first; never empty.
        text: text of an error or a drop.
        breakpoints: those that hold it.
    """

    reason: Reason
    code: DebugCode
    stack: tuple[tuple[Location, Memory], ...]
    packet: HeldPacket
    text: str = ""
    breakpoints: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class StepTarget:
    """The place at which a released packet is held again.

    Attributes:
        depth: frames at the place that it leaves.
        run: number of the block run there, counted while stepping: another one is always new ground.
        packet: its number.
        reason: the reason that the client is told then.
    """

    how: How
    depth: int = 0
    run: int = 0
    packet: int = -1
    reason: Reason = "step"

    def ends(self, depth: int, run: int, packet: int) -> bool:
        """Whether it ends here."""
        if self.how == "in":
            return True
        if self.how == "packet":
            return packet != self.packet
        return run != self.run or depth < self.depth + (self.how == "over")
