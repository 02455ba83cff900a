# SPDX-License-Identifier: Apache-2.0
"""Workloads of measurements: a program, how to set up a switch for it, and packets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from offramp_base.wire.batch import PacketBatch

if TYPE_CHECKING:
    from offramp_p4 import ir
    from offramp_p4.engines import AnySwitch


@dataclass(frozen=True)
class SwitchWorkload:
    """One thing to measure.

    Attributes:
        source, include, defines: source, folders and macros of the program.
        prepare: writes tables and brings registers to where the packets need them, in a fresh switch.
        batches: packets that arrive, in order; those of one batch may overtake each other.
        repeatable: whether packets do the same each time they are run, in any order.
    """

    name: str
    source: Path
    prepare: Callable[[AnySwitch], object]
    batches: list[PacketBatch]
    repeatable: bool = False
    include: tuple[Path, ...] = ()
    defines: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def program(self) -> ir.Program:
        """The program, read once."""
        from offramp_p4.frontend import load

        return load(self.source, include=list(self.include), defines=self.defines)

    @property
    def packets(self) -> int:
        """Packets in all batches."""
        return sum(map(len, self.batches))
