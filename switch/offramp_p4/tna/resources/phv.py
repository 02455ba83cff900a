# SPDX-License-Identifier: Apache-2.0
"""Bits and containers of the packet header vector that the match-action stages of a pipe work on.

Bytes of a header that stand side by side share containers; small metadata are packed into bytes. Headers that the
stages never touch travel in containers of their own, which are not counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from offramp_p4.tna.resources.chip import ChipLimits
    from offramp_p4.tna.resources.fields import VariableField
    from offramp_p4.tna.resources.graph import LogicalTable


@dataclass(frozen=True, slots=True)
class HeaderVector:
    """Use of the packet header vector: bits, and containers by width."""

    bits: int
    containers: dict[int, int] = field(default_factory=dict)

    @property
    def container_bits(self) -> int:
        """Bits of the containers in use."""
        return sum(width * count for width, count in self.containers.items())


def header_vector(tables: Iterable[LogicalTable], chip: ChipLimits) -> HeaderVector:
    """The containers that the fields of these tables take, wide ones for wide fields while there are any."""
    fields = {f for t in tables for f in [*t.matches, *t.conditions, *t.reads, *t.writes] if f.root >= 0}
    octets = sum(_header_octets(fs) for fs in _by_header(fields))
    metadata = [f.bits for f in fields if not f.header]
    octets += sum(-(-bits // 8) for bits in metadata if bits >= 8) + -(-sum(b for b in metadata if b < 8) // 8)
    return HeaderVector(sum(f.bits for f in fields), _containers(octets, chip))


def _by_header(fields: set[VariableField]) -> list[list[VariableField]]:
    inside = sorted((f for f in fields if f.header), key=lambda f: (f.root, f.path[:-1], f.path))
    return [list(group) for _, group in groupby(inside, key=lambda f: (f.root, f.path[:-1]))]


def _header_octets(fields: list[VariableField]) -> int:
    return -(-sum(f.bits for f in fields) // 8)


def _containers(octets: int, chip: ChipLimits) -> dict[int, int]:
    used = {}
    for width in sorted(chip.containers, reverse=True):
        used[width] = min(chip.containers[width], octets * 8 // width)
        octets -= used[width] * width // 8
    used[8] = used.get(8, 0) + max(0, octets)
    return dict(sorted(used.items()))
