# SPDX-License-Identifier: Apache-2.0
"""Transfers between the stages' network cards as fluid flows, and the switch's gate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from offramp_sim.unitg.scenario import GATED
from offramp_sim.water_filling import water_filling

if TYPE_CHECKING:
    from offramp_sim.unitg.scenario import UnitgScenario


@dataclass(slots=True)
class Transfer:
    """Bytes in flight; ``done`` is called when the last has arrived."""

    source: int
    target: int
    left: float
    urgent: bool
    done: Callable[[], None]
    rate: float = 0.0
    start: float = 0.0


@dataclass(slots=True)
class StageNetwork:
    """A card for each stage, full duplex, behind a switch that is never the bottleneck.

    Transfers of one kind between two stages go one after the other. Without the gate, all share max-min fairly; with
    it, urgent ones go first, and others reach a stage only while its gate is open.

    Attributes:
        closed: stages whose gate is closed, with the gate.
    """

    scenario: UnitgScenario
    policy: str
    closed: set[int] = field(default_factory=set)
    _queues: dict[tuple[int, int, bool], list[Transfer]] = field(default_factory=dict)

    def send(self, transfer: Transfer) -> None:
        """Send a transfer; one that takes no time arrives at once."""
        if self.scenario.link_bps is None or transfer.left <= 0:
            transfer.done()
            return
        self._queues.setdefault((transfer.source, transfer.target, transfer.urgent), []).append(transfer)

    def active(self) -> list[Transfer]:
        """Transfers that move, or wait at the head of their queues."""
        return [queue[0] for queue in self._queues.values() if queue]

    def allocate(self) -> None:
        """Give each transfer its rate."""
        if self.scenario.link_bps is None:
            return
        stages = self.scenario.stages
        moving = self.active()
        room = [self.scenario.link_bps / 8] * (2 * stages)
        classes = [moving]
        if self.policy == GATED:
            for transfer in moving:
                transfer.rate = 0.0
            free = [t for t in moving if not t.urgent and t.target not in self.closed]
            classes = [[t for t in moving if t.urgent], free]
        for members in classes:
            uses = [(t.source, stages + t.target) for t in members]
            for transfer, rate, ports in zip(members, water_filling(uses, room), uses, strict=True):
                transfer.rate = rate
                for port in ports:
                    room[port] = max(0.0, room[port] - rate)

    def finish(self, transfer: Transfer) -> None:
        """End a transfer, whose last byte has arrived."""
        self._queues[transfer.source, transfer.target, transfer.urgent].remove(transfer)
        transfer.done()
