# SPDX-License-Identifier: Apache-2.0
"""Every way that a packet can take through action selectors: one trace for each choice of members."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from offramp_base.errors import OfframpError
from offramp_p4.trace.recorder import MemberChooser

if TYPE_CHECKING:
    from offramp_p4.switch import Switch
    from offramp_p4.trace.model import PacketTrace

MOST: Final = 1024
"""Traces of one packet."""


class ScriptedChooser(MemberChooser):
    """MemberChooser the members that a script says, in the order of the look-ups, then always the first.

    Attributes:
        widths: number of members that each look-up could have chosen.
    """

    def __init__(self, script: tuple[int, ...] = ()) -> None:
        self._script = script
        self.widths: list[int] = []

    def choose(self, count: int) -> int:
        """The position of the member for the next look-up in a group of ``count``."""
        at = len(self.widths)
        self.widths.append(count)
        return self._script[at] if at < len(self._script) else 0

    def following(self) -> tuple[int, ...] | None:
        """The script of the next way; None: this was the last."""
        taken = [*self._script, *[0] * (len(self.widths) - len(self._script))]
        for at in reversed(range(len(self.widths))):
            if taken[at] + 1 < self.widths[at]:
                return (*taken[:at], taken[at] + 1)
        return None


def alternatives(
    make: Callable[[Callable[[PacketTrace], object]], Switch], packet: tuple[int, bytes]
) -> Iterator[PacketTrace]:
    """The traces of a packet, one for each way that it can take.

    Args:
        make: a switch that writes its traces to the given place, always in the same state: with its tables set up, and
            what went before sent.
        packet: port and frame.

    Raises:
        OfframpError: there are more than :data:`MOST` ways.
    """
    script: tuple[int, ...] | None = ()
    count = 0
    while script is not None:
        count += 1
        if count > MOST:
            raise OfframpError(f"the packet has more than {MOST} ways through action selectors")
        traces: list[PacketTrace] = []
        switch = make(traces.append)
        assert switch.recorder is not None, "it writes traces"
        switch.recorder.chooser = chooser = ScriptedChooser(script)
        traces.clear()
        switch.process_one(*packet)
        yield from traces
        script = chooser.following()
