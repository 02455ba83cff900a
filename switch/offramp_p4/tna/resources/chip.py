# SPDX-License-Identifier: Apache-2.0
"""The resources of a match-action stage and of the packet header vector (p4c's Tofino back end, ``specs/``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class ChipLimits:
    """Limits of one chip; all but ``stages`` and ``containers`` are of one stage.

    Attributes:
        stateful_alus: also run meters and action selectors.
        srams, tcams, map_rams: blocks of 1024 x 128, 512 x 44 and 1024 x 11 bits.
        hash_units: 16-bit slices of hash distribution, for indices that come from the packet.
        exact_bytes, ternary_bytes: widths of the match crossbars.
        containers: containers of the packet header vector, by width in bits.
    """

    name: str
    stages: int
    containers: dict[int, int]
    stateful_alus: int = 4
    statistics_alus: int = 4
    srams: int = 80
    tcams: int = 24
    map_rams: int = 48
    tables: int = 16
    gateways: int = 16
    hash_units: int = 6
    exact_bytes: int = 128
    ternary_bytes: int = 66

    @property
    def phv_bits(self) -> int:
        """All containers together."""
        return sum(width * count for width, count in self.containers.items())


TOFINO: Final = ChipLimits("Tofino", 12, {8: 64, 16: 96, 32: 64})
TOFINO2: Final = ChipLimits("Tofino 2", 20, {8: 64, 16: 96, 32: 64})

SRAM_ROWS: Final = 1024
SRAM_BITS: Final = 128
TCAM_ROWS: Final = 512
TCAM_BITS: Final = 44
