# SPDX-License-Identifier: Apache-2.0
"""A measurement of an IPv4 router with five tables and 10,000 routes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Final

from offramp_base.wire.batch import PacketBatch
from offramp_p4.bench.workload import SwitchWorkload
from offramp_p4.state import ANY, ActionData, Exact, Lpm, TableEntry, Ternary
from offramp_p4.state.match import prefix_mask
from offramp_p4.v1model.hashing import csum16

if TYPE_CHECKING:
    from offramp_p4.engines import AnySwitch

ROUTES: Final = 10_000
_NEXT_HOPS: Final = 256
_BATCH: Final = 1024
_LENGTHS: Final = (8, 12, 16, 18, 20, 22, 24, 24, 24, 24, 24, 26, 28, 30, 32)


def router(frame_bytes: int = 64, packets: int = 16_384, ports: int = 4, seed: int = 1) -> SwitchWorkload:
    """IPv4 packets of ``frame_bytes`` to random destinations of a router with 10,000 routes and ``ports`` ports."""
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
        frames.append((rng.randrange(ports), _ipv4(rng, destination, frame_bytes)))
    batches = [PacketBatch.of(frames[at : at + _BATCH]) for at in range(0, packets, _BATCH)]

    def prepare(switch: AnySwitch) -> None:
        tables = {name.rpartition(".")[2]: table for name, table in switch.tables.items()}
        for (value, length), next_hop in routes.items():
            tables["routes"].insert(TableEntry((Lpm(value, length),), ActionData("RouterIngress.route", (next_hop,))))
        for n in range(_NEXT_HOPS):
            forward = ActionData("RouterIngress.forward", (0x020000000000 + n, n % ports))
            tables["next_hops"].insert(TableEntry((Exact(n),), forward))
        for port in range(ports):
            tables["port_to_vrf"].insert(TableEntry((Exact(port),), ActionData("RouterIngress.set_vrf", (port,))))
            rewrite = ActionData("RouterEgress.rewrite", (0x020000010000 + port,))
            tables["port_to_address"].insert(TableEntry((Exact(port),), rewrite))
        for priority, (source, protocol) in enumerate(acl, 1):
            keys = Ternary(source, 0xFFFFFF00), Ternary(protocol, 0xFF) if priority % 2 else ANY
            tables["acl"].insert(TableEntry(keys, ActionData("RouterIngress.permit"), priority))

    source = Path(__file__).with_name("router.p4")
    return SwitchWorkload(f"router, {frame_bytes} B", source, prepare, batches, repeatable=True)


def _ipv4(rng: random.Random, destination: int, frame_bytes: int) -> bytes:
    header = bytearray(20)
    header[0], header[8], header[9] = 0x45, 64, rng.choice([6, 17])
    header[2:4] = (frame_bytes - 14).to_bytes(2, "big")
    header[12:16], header[16:20] = rng.randbytes(4), destination.to_bytes(4, "big")
    header[10:12] = csum16(bytes(header)).to_bytes(2, "big")
    return (bytes(12) + b"\x08\x00" + bytes(header)).ljust(frame_bytes, b"\x55")
