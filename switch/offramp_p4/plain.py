# SPDX-License-Identifier: Apache-2.0
"""The common base of the switches of both engines: packets in, packets out, and state for a control plane."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from offramp_base.wire.batch import PacketBatch
from offramp_p4.records import Digest, SwitchStats
from offramp_p4.tna.generated import next_us, run_with_generated

if TYPE_CHECKING:
    from offramp_p4 import ir
    from offramp_p4.state import (
        ActionProfileState,
        CounterState,
        MeterState,
        RegisterState,
        ReplicationEngine,
        TableState,
        ValueSetState,
    )
    from offramp_p4.tm import TmConfig
    from offramp_p4.tm.joint import Joint, Mark
    from offramp_p4.tna.filter_state import FilterState
    from offramp_p4.tna.generator import PacketGenerator
    from offramp_p4.v1model.crc import CustomCrcs


class PlainSwitch(ABC):
    """A switch that sends at once, without a traffic manager.

    Attributes:
        registers, counters, meters, profiles, value_sets: state by control-plane name.
        filters: low-pass filters and random early detection, which TNA has, by control-plane name.
        direct_registers: types and initial values of a TNA program's direct registers, by control-plane name.
        port_metadata: bytes that TNA's parsers find before the packet, by port.
        pre: multicast groups and clone sessions.
        generator: a Tofino's packet generator; None without one. :meth:`process`, also of nothing, makes what is due.
        cpu_port: for the control plane's use; packets sent there come out of :meth:`process` like any other. To PSA
            and PNA programs it is PSA_PORT_CPU and PNA_PORT_CPU.
        now_us: virtual time in microseconds, which only the caller moves.
        on_digest: called with each digest that the program sends.
        engine, engine_reason: the engine, and why :func:`~offramp_p4.engines.make_switch` has chosen it.
    """

    engine: ClassVar[str]
    engine_reason: str = ""
    on_digest: Callable[[Digest], None] | None

    def __init__(self, program: ir.Program, cpu_port: int | None) -> None:
        self.program, self.cpu_port, self.now_us = program, cpu_port, 0

    def _show(self, objects: Any) -> None:
        """Let the control plane see the objects of the program."""
        self._tables: dict[str, TableState] = {t.name: s for t, s in objects.tables.items()}
        self.registers: dict[str, RegisterState] = objects.registers
        self.counters: dict[str, CounterState] = objects.counters
        self.meters: dict[str, MeterState] = objects.meters
        self.profiles: dict[str, ActionProfileState] = objects.profiles
        self.value_sets: dict[str, ValueSetState] = {v.name: s for v, s in objects.value_sets.items()}
        self.filters: dict[str, FilterState] = getattr(objects, "filters", {})
        self.direct_registers: dict[str, RegisterState] = getattr(objects, "direct_registers", {})
        self.port_metadata: dict[int, bytes] = getattr(objects, "port_metadata", {})
        self.pre: ReplicationEngine = objects.pre
        self.crcs: CustomCrcs | None = getattr(objects, "crcs", None)
        self.generator: PacketGenerator | None = getattr(objects, "generator", None)

    @property
    @abstractmethod
    def stats(self) -> SwitchStats:
        """Counts since the start or the last reset."""

    @property
    @abstractmethod
    def source(self) -> str:
        """The text that the program has been compiled to."""

    @property
    def tables(self) -> dict[str, TableState]:
        """State by control-plane name."""
        return self._tables

    @property
    def next_us(self) -> int | None:
        """Time in microseconds at which :meth:`process` has something to do without packets; None: never."""
        return next_us(self.generator)

    def process(self, batch: PacketBatch) -> PacketBatch:
        """Run every packet of ``batch`` to completion; returns the packets that leave the switch, in order.

        Raises:
            OfframpError: a length in ``batch`` is negative or exceeds its rows.
        """
        if self.generator is not None and self.generator.active:
            return run_with_generated(self, self.generator, batch)
        return self.run_batch(batch)

    def process_all(self, batches: Sequence[PacketBatch]) -> PacketBatch:
        """Run the packets of several batches one after the other, as :meth:`process` runs those of one."""
        return self.process(PacketBatch.concatenate(batches))

    @abstractmethod
    def run_batch(self, batch: PacketBatch) -> PacketBatch:
        """Run a batch without packets of the packet generator."""

    @abstractmethod
    def process_one(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        """Run one packet to completion; returns (port, frame) of each packet that leaves."""

    @abstractmethod
    def join(self, config: TmConfig, mark: Mark) -> Joint:
        """Put a traffic manager between ingress and egress; for :class:`~offramp_p4.queued.QueuedSwitch`."""

    @abstractmethod
    def reset(self) -> None:
        """Reset tables, registers, counters, meters, replication and counts to their state after loading."""
