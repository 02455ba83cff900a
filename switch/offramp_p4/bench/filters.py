# SPDX-License-Identifier: Apache-2.0
"""Entries of the shapes of ClassBench's seeds (Taylor and Turner, IEEE/ACM ToN 2007), from a generator of our own.

*ACL*: long destination prefixes, sources of all lengths, exact destination ports. *Firewall*: every second address and
most ports are wildcards, ranges of ports. *IP chain*: between these. *Random masks*: every bit of every key counts
for one entry in two, so hardly two entries have equal masks.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from offramp_base.wire.batch import PacketBatch
from offramp_p4.bench.workload import SwitchWorkload
from offramp_p4.state import ANY, ActionData, Match, Range, TableEntry, Ternary
from offramp_p4.state.match import prefix_mask

if TYPE_CHECKING:
    from offramp_p4.engines import AnySwitch

WIDTHS: Final = (32, 32, 16, 16, 8)
TABLE: Final = "FiltersIngress.filters"
_SOURCE: Final = Path(__file__).with_name("filters.p4")
_BATCH: Final = 1024
_PORTS: Final = (53, 80, 123, 161, 443, 1433, 1521, 3306, 5432, 8080)
_HIGH: Final = (1024, 65535)
Keys = tuple[Match, ...]


@dataclass(frozen=True, slots=True)
class FilterMix:
    """Weights of the forms of addresses, ports and protocols in entries.

    Attributes:
        source, destination: weights by length of the prefix.
        source_port, destination_port: weights of no port, one port, those from 1024 on, and other ranges.
        protocol: weights of TCP, UDP, ICMP and any.
        networks: networks of 16 bits that the addresses come from, for each.
    """

    source: Mapping[int, float]
    destination: Mapping[int, float]
    source_port: Sequence[float]
    destination_port: Sequence[float]
    protocol: Sequence[float]
    networks: tuple[int, int]


SHAPES: Final = {
    "ACL": FilterMix(
        source={
            0: 6,
            8: 1,
            14: 1,
            16: 6,
            18: 2,
            20: 4,
            21: 3,
            22: 5,
            23: 6,
            24: 22,
            25: 3,
            26: 3,
            27: 4,
            28: 6,
            32: 28,
        },
        destination={0: 1, 16: 2, 20: 2, 22: 3, 23: 4, 24: 18, 25: 3, 26: 4, 27: 5, 28: 6, 29: 3, 30: 4, 32: 45},
        source_port=(97, 2, 1, 0),
        destination_port=(22, 60, 8, 10),
        protocol=(68, 18, 5, 9),
        networks=(900, 120),
    ),
    "firewall": FilterMix(
        source={0: 48, 8: 3, 16: 8, 20: 3, 24: 14, 27: 3, 28: 3, 32: 18},
        destination={0: 30, 16: 6, 24: 14, 26: 4, 28: 6, 32: 40},
        source_port=(72, 6, 14, 8),
        destination_port=(28, 48, 10, 14),
        protocol=(60, 26, 6, 8),
        networks=(300, 60),
    ),
    "IP chain": FilterMix(
        source={0: 14, 8: 2, 12: 1, 16: 9, 19: 3, 20: 4, 22: 6, 23: 4, 24: 22, 26: 4, 28: 6, 32: 25},
        destination={0: 12, 8: 2, 16: 9, 20: 4, 22: 5, 24: 20, 26: 4, 27: 3, 28: 6, 30: 2, 32: 33},
        source_port=(80, 8, 7, 5),
        destination_port=(42, 38, 9, 11),
        protocol=(55, 24, 8, 13),
        networks=(600, 300),
    ),
}


def shaped_entries(shape: FilterMix, count: int, *, ranges: bool, seed: int = 1) -> list[Keys]:
    """The keys of ``count`` different entries; without ``ranges`` a range of ports is one of its prefixes."""
    rng = random.Random(seed)
    networks = [[rng.getrandbits(16) << 16 for _ in range(n)] for n in shape.networks]
    hosts = [_Addresses(rng, n, max(16, count // 8)) for n in networks]
    entries: dict[Keys, None] = {}
    while len(entries) < count:
        addresses = [
            _prefix(a.draw(), rng.choices(list(lengths), list(lengths.values()))[0])
            for a, lengths in zip(hosts, (shape.source, shape.destination), strict=True)
        ]
        ports = [_port(rng, weights, ranges) for weights in (shape.source_port, shape.destination_port)]
        protocol = rng.choices([6, 17, 1, None], shape.protocol)[0]
        entries[(*addresses, *ports, ANY if protocol is None else Ternary(protocol, 0xFF))] = None
    return list(entries)


def random_entries(count: int, seed: int = 1) -> list[Keys]:
    """The keys of entries with random masks."""
    rng = random.Random(seed)
    return [tuple(_masked(rng.getrandbits(w), rng.getrandbits(w)) for w in WIDTHS) for _ in range(count)]


def filters(keys: Sequence[Keys], name: str, *, ranges: bool, packets: int = 16_384, seed: int = 1) -> SwitchWorkload:
    """Packets, nine in ten of which match an entry; priorities are random."""
    rng = random.Random(seed)
    priorities = [rng.randint(1, 1 << 16) for _ in keys]
    frames = []
    for _ in range(packets):
        if keys and rng.random() < 0.9:
            values = [_inside(rng, match, width) for match, width in zip(rng.choice(keys), WIDTHS, strict=True)]
        else:
            values = [rng.getrandbits(width) for width in WIDTHS]
        frames.append((0, b"".join(v.to_bytes(w // 8, "big") for v, w in zip(values, WIDTHS, strict=True)).ljust(64)))

    def prepare(switch: AnySwitch) -> None:
        table = switch.tables[TABLE]
        for number, (entry, priority) in enumerate(zip(keys, priorities, strict=True)):
            table.insert(TableEntry(entry, ActionData("FiltersIngress.to", (number % 500,)), priority))

    batches = [PacketBatch.of(frames[at : at + _BATCH]) for at in range(0, packets, _BATCH)]
    return SwitchWorkload(
        name, _SOURCE, prepare, batches, repeatable=True, defines={"PORTS": "range" if ranges else "ternary"}
    )


class _Addresses:
    """Addresses, some much more frequent than others."""

    def __init__(self, rng: random.Random, networks: Sequence[int], count: int) -> None:
        self._rng = rng
        subnets = [self._skewed(networks) | rng.getrandbits(8) << 8 for _ in range(max(4, count // 8))]
        self._pool = [self._skewed(subnets) | rng.getrandbits(8) for _ in range(count)]

    def draw(self) -> int:
        """An address."""
        return self._skewed(self._pool)

    def _skewed(self, pool: Sequence[int]) -> int:
        return pool[int(len(pool) * self._rng.random() ** 2)]


def _prefix(address: int, length: int) -> Match:
    return _masked(address, prefix_mask(length, 32))


def _masked(value: int, mask: int) -> Match:
    return Ternary(value & mask, mask) if mask else ANY


def _port(rng: random.Random, weights: Sequence[float], ranges: bool) -> Match:
    form: Callable[[], tuple[int, int]] = rng.choices(
        [
            lambda: (0, 65535),
            lambda: (rng.choice(_PORTS),) * 2 if rng.random() < 0.7 else (rng.getrandbits(16),) * 2,
            lambda: _HIGH,
            lambda: ((low := rng.randrange(60_000)), low + rng.choice([1, 3, 9, 99, 999])),
        ],
        weights,
    )[0]
    low, high = form()
    if ranges:
        return ANY if (low, high) == (0, 65535) else Range(low, high)
    common = 0xFFFF ^ ((1 << (low ^ high).bit_length()) - 1)
    return _masked(low, common)


def _inside(rng: random.Random, match: Match, width: int) -> int:
    """A value that matches."""
    if isinstance(match, Range):
        return rng.randint(match.low, match.high)
    value = rng.getrandbits(width)
    return value & ~match.mask | match.value if isinstance(match, Ternary) else value
