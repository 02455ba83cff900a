"""What a measurement runs: a program, how to set up a switch for it, and packets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from offramp.p4src import p4_root
from offramp.wire.batch import PacketBatch
from offramp_sim.p4 import ir
from offramp_sim.p4.frontend import load
from offramp_sim.p4.fuzz.packets import populate
from offramp_sim.p4.switch import Switch
from offramp_sim.switchgnn import direct
from offramp_sim.switchgnn.jobs import random_job
from offramp_sim.switchgnn.lockstep import Lockstep


@dataclass(frozen=True, slots=True)
class Workload:
    """One thing to measure.

    Attributes:
        source: the program's file.
        setup: writes tables and replication into a fresh switch.
        batches: what arrives, from a fresh start; not timed up to ``warm_up``.
    """

    name: str
    source: Path
    program: ir.Program
    setup: Callable[[Any], None]
    batches: list[PacketBatch]
    warm_up: int = 0

    @property
    def packets(self) -> int:
        """Packets in the timed batches."""
        return sum(map(len, self.batches[self.warm_up :]))


def switchgnn_workload(seed: int = 0) -> Workload:
    """What 4 workers send to the switch in one exchange over a random graph of 400 vertices and 2,000 edges."""
    source = p4_root() / "switchgnn/v1model.p4"
    program = load(source)
    job = random_job(seed, vertices=400, edges=2000, workers=4, limit=400, features=(32,))
    arrived: list[PacketBatch] = []
    switch = Switch(program)

    def process(batch: PacketBatch) -> PacketBatch:
        arrived.append(batch)
        return switch.process(batch)

    def setup(other: Any) -> None:
        direct.load(other, job.plans, job.ports)

    setup(switch)
    lockstep = Lockstep(job.plans, job.ports, process)
    lockstep.start()
    warm_up = len(arrived)
    values = np.random.default_rng(seed).integers(-1000, 1000, (400, 32)).astype(np.int32)
    lockstep.exchange(0, [values[endpoint.boundaries[0]] for endpoint in lockstep.endpoints])
    batches = [batch for batch in arrived[warm_up:] if len(batch)]
    return Workload("SwitchGNN exchange", source, program, setup, arrived[:warm_up] + batches, warm_up)


def program_workload(
    source: Path,
    include: Iterable[Path] = (),
    defines: Mapping[str, str] | None = None,
    *,
    size: int = 64,
    seed: int = 0,
) -> Workload:
    """A program with random table entries and 4,096 packets of ``size`` bytes, of which one in four is random.

    The others are IPv4 over Ethernet, with addresses, ports and payload from the seed.
    """
    program = load(source, include=list(include), defines=defines)
    rng = np.random.default_rng(seed)
    data = rng.integers(0, 256, (4096, size), dtype=np.uint8)
    head = bytes.fromhex("0200000000010200000000020800450000320000000040110000")
    plain = np.arange(len(data)) % 4 != 0
    width = min(size, len(head))
    data[plain, :width] = np.frombuffer(head, np.uint8)[:width]
    ports = rng.integers(0, 4, len(data)).astype(np.int32)
    batch = PacketBatch(ports, np.full(len(data), size, np.int32), data)
    return Workload(source.name, source, program, lambda switch: populate(switch, seed), [batch])
