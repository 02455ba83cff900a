# SPDX-License-Identifier: Apache-2.0
"""Packets of the packet generator, merged with those that come from outside."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final, Protocol

from offramp_base.wire.batch import PacketBatch

if TYPE_CHECKING:
    from offramp_p4.tna.generator import PacketGenerator

MOST_GENERATED: Final = 4096
"""Packets that the generator makes, and timers that end, in one call; what is due beyond them waits for the next."""


class BatchSwitch(Protocol):
    """A switch whose packets run to completion."""

    now_us: int

    def run_batch(self, batch: PacketBatch) -> PacketBatch:
        """Process packets at the current wall-clock time."""


def run_with_generated(switch: BatchSwitch, generator: PacketGenerator, batch: PacketBatch) -> PacketBatch:
    """Run what has been due before, each packet at its time, then ``batch``, then what that has triggered."""
    parts: list[PacketBatch] = []
    left = _run_due(switch, generator, parts, MOST_GENERATED)
    if len(batch):
        parts.append(switch.run_batch(batch))
        _run_due(switch, generator, parts, left)
    return PacketBatch.concatenate(parts)


def _run_due(switch: BatchSwitch, generator: PacketGenerator, parts: list[PacketBatch], left: int) -> int:
    """Run what is due until nothing is, or ``left`` events are over; returns how many more may be."""
    now_us = switch.now_us
    until_ns = now_us * 1000 + 999
    while left > 0 and generator.next_ns is not None and generator.next_ns <= until_ns:
        due, events = generator.due(until_ns, left)
        left -= events
        for time_us, packets in groupby(due, lambda each: each.time_ns // 1000):
            switch.now_us = min(time_us, now_us)
            parts.append(switch.run_batch(PacketBatch.of((each.port, each.frame) for each in packets)))
        switch.now_us = now_us
    return left


def next_us(generator: PacketGenerator | None) -> int | None:
    """The time at which a switch should be called even without packets, microseconds; None: never."""
    time_ns = None if generator is None else generator.next_ns
    return None if time_ns is None else time_ns // 1000
