"""What to measure switches with: a program, the state it needs, and the packets that arrive."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

import numpy as np

from offramp.p4src import p4_source
from offramp.wire.batch import PacketBatch
from offramp_sim.p4 import ir
from offramp_sim.p4.frontend import load
from offramp_sim.p4.native.switch import NativeSwitch
from offramp_sim.p4.state import ANY, ActionData, Exact, Lpm, TableEntry, Ternary
from offramp_sim.p4.state.match import prefix_mask
from offramp_sim.p4.switch import Switch
from offramp_sim.p4.v1model.hashing import csum16

AnySwitch = Switch | NativeSwitch

ROUTES: Final = 10_000
_PORTS: Final = 64
_NEXT_HOPS: Final = 256
_BATCH: Final = 1024
_LENGTHS: Final = (8, 12, 16, 18, 20, 22, 24, 24, 24, 24, 24, 26, 28, 30, 32)


@dataclass(frozen=True)
class Workload:
    """Packets for a program.

    Attributes:
        prepare: writes tables and brings registers to where the packets need them.
        batches: what arrives, in order.
        repeatable: whether the batches do the same each time they are run.
        unordered: how many of the first batches may be run in any order (bmv2 has several queues).
    """

    name: str
    source: Path
    defines: Mapping[str, str]
    prepare: Callable[[AnySwitch], object]
    batches: list[PacketBatch]
    repeatable: bool = False
    unordered: int = 1
    _program: list[ir.Program] = field(default_factory=list)

    @property
    def program(self) -> ir.Program:
        """The program, read once."""
        if not self._program:
            self._program.append(load(self.source, defines=self.defines))
        return self._program[0]


def router(frame_bytes: int = 64, packets: int = 16_384, seed: int = 1) -> Workload:
    """IPv4 packets of ``frame_bytes`` to random destinations of a router with 10,000 routes."""
    rng = random.Random(seed)
    routes: dict[tuple[int, int], int] = {}
    while len(routes) < ROUTES:
        length = rng.choice(_LENGTHS)
        routes[rng.getrandbits(32) & prefix_mask(length, 32), length] = rng.randrange(_NEXT_HOPS)
    acl = [(rng.getrandbits(32) & 0xFFFFFF00, rng.choice([6, 17])) for _ in range(50)]
    prefixes = list(routes)
    frames = []
    for _ in range(packets):
        value, length = rng.choice(prefixes)
        destination = value | rng.getrandbits(32) & prefix_mask(32 - length, 32 - length)
        frames.append((rng.randrange(_PORTS), _ipv4(rng, destination, frame_bytes)))
    batches = [PacketBatch.of(frames[at : at + _BATCH]) for at in range(0, packets, _BATCH)]

    def prepare(switch: AnySwitch) -> None:
        tables = {name.rpartition(".")[2]: table for name, table in switch.tables.items()}
        for (value, length), next_hop in routes.items():
            tables["routes"].insert(TableEntry((Lpm(value, length),), ActionData("RouterIngress.route", (next_hop,))))
        for n in range(_NEXT_HOPS):
            forward = ActionData("RouterIngress.forward", (0x020000000000 + n, n % _PORTS))
            tables["next_hops"].insert(TableEntry((Exact(n),), forward))
        for port in range(_PORTS):
            tables["port_to_vrf"].insert(TableEntry((Exact(port),), ActionData("RouterIngress.set_vrf", (port,))))
            rewrite = ActionData("RouterEgress.rewrite", (0x020000010000 + port,))
            tables["port_to_address"].insert(TableEntry((Exact(port),), rewrite))
        for priority, (source, protocol) in enumerate(acl, 1):
            keys = Ternary(source, 0xFFFFFF00), Ternary(protocol, 0xFF) if priority % 2 else ANY
            tables["acl"].insert(TableEntry(keys, ActionData("RouterIngress.permit"), priority))

    source = Path(__file__).with_name("router.p4")
    return Workload(f"router, {frame_bytes} B", source, {}, prepare, batches, repeatable=True, unordered=len(batches))


def _ipv4(rng: random.Random, destination: int, frame_bytes: int) -> bytes:
    header = bytearray(20)
    header[0], header[8], header[9] = 0x45, 64, rng.choice([6, 17])
    header[2:4] = (frame_bytes - 14).to_bytes(2, "big")
    header[12:16], header[16:20] = rng.randbytes(4), destination.to_bytes(4, "big")
    header[10:12] = csum16(bytes(header)).to_bytes(2, "big")
    return (bytes(12) + b"\x08\x00" + bytes(header)).ljust(frame_bytes, b"\x55")


def switchgnn(vertices: int = 3000, rounds: int = 12, seed: int = 1) -> Workload:
    """Rounds of a GNN layer with 64 features over a random graph of four workers, through the SwitchGNN program."""
    from offramp_sim.switchgnn import direct
    from offramp_sim.switchgnn.jobs import random_job
    from offramp_sim.switchgnn.lockstep import Lockstep
    from offramp_sim.switchgnn.reference import ReferenceSwitch

    job = random_job(seed, vertices=vertices, edges=5 * vertices, workers=4, limit=vertices, features=(64,))
    batches: list[PacketBatch] = []

    def recorded(batch: PacketBatch) -> PacketBatch:
        batches.append(batch)
        return reference.process(batch)

    reference = ReferenceSwitch(job.plans, job.ports)
    lockstep = Lockstep(job.plans, job.ports, recorded)
    lockstep.start()
    start = [b for b in batches if len(b)]
    batches.clear()
    rng = np.random.default_rng(seed)
    features = rng.integers(-(2**20), 2**20, (vertices, 64)).astype(np.int32)
    for _ in range(rounds):
        lockstep.exchange(0, [features[e.boundaries[0]] for e in lockstep.endpoints])

    def prepare(switch: AnySwitch) -> None:
        direct.load(cast("Switch", switch), job.plans, job.ports)
        for batch in start:
            switch.process(batch)

    return Workload("SwitchGNN", p4_source("switchgnn/v1model.p4"), {}, prepare, [b for b in batches if len(b)])
