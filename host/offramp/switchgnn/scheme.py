# SPDX-License-Identifier: Apache-2.0
"""The improvements on the paper's exchange that are switched on, and their notation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

from offramp.switchgnn.wire import LANES
from offramp_base.settings.error import SettingsError
from offramp_base.wire.objects import sendable

LANE_BITS = 32
FIELDS = (2, 4, 8, 16, 32)
"""Possible widths in bits of a sum on the wire, several to a lane."""

BITS = (32, 16, 8)
"""Bits of a value on the wire: 32 is exact fixed point, 16 and 8 are quantised, two and four to a lane."""

PAPER, AUTO = "paper", "auto"


@sendable
@dataclass(frozen=True, order=True)
class Scheme:
    """A scheme for exchanges through the switch; the default is the paper's design.

    Attributes:
        pairwise: workers upload a partial sum for each destination, in place of vertices.
        chunk_major: one chunk of every vertex before the next, so that memory holds one chunk of each.
        bits: bits of a value on the wire, one of :data:`BITS`.
        hybrid: contributions that cost more bytes through the switch go from worker to worker.
        balanced: blocks also share their uploads out among the workers.
        binned: blocks follow G3's bins: the earlier its vertices are computed, the earlier a block.
        code_bits: bits of a value, if all contributions to a sum share one step (Sylvie's codes; pairwise only) and
            fields are as wide as their sums; 0: as many levels as the field has room for.
    """

    pairwise: bool = False
    chunk_major: bool = False
    bits: int = LANE_BITS
    hybrid: bool = False
    balanced: bool = False
    binned: bool = False
    code_bits: int = 0

    def __str__(self) -> str:
        parts = [name for name, part in _PARTS.items() if getattr(self, part[0]) == part[1]]
        if self.code_bits:
            parts = [name for name in parts if name not in {"q16", "q8"}]
            parts.append(f"{self.code_bits}-bit codes in {self.bits} bits")
        return "+".join(parts) or PAPER

    @property
    def cut(self) -> Scheme:
        """The paper's exchange over blocks that are cut as in this scheme."""
        return Scheme(balanced=self.balanced, binned=self.binned)

    def lanes(self, features: int) -> int:
        """32-bit lanes that ``features`` values take."""
        return -(-features * self.bits // LANE_BITS)

    def chunks_a_round(self, features: int, lanes: int = LANES) -> int:
        """Packets of a vertex in one round, of at most ``lanes`` lanes; the others follow in rounds of their own."""
        return 1 if self.chunk_major else -(-self.lanes(features) // lanes)

    def slices(self, features: int, lanes: int = LANES) -> int:
        """Number of times that the blocks run for one exchange."""
        return -(-self.lanes(features) // lanes) if self.chunk_major else 1


_PARTS: dict[str, tuple[str, bool | int]] = {
    "pairwise": ("pairwise", True),
    "chunk-major": ("chunk_major", True),
    "q16": ("bits", 16),
    "q8": ("bits", 8),
    "hybrid": ("hybrid", True),
    "balanced": ("balanced", True),
    "binned": ("binned", True),
}

SYNTAX = f"{PAPER}, {AUTO}, or some of {', '.join(_PARTS)} joined by +"


def parse_scheme(text: str) -> tuple[Scheme, bool]:
    """Parse a scheme's parts, and whether the planner may add others (``auto``, alone or as a part).

    Raises:
        OfframpError: an unknown or repeated part, or two widths of values.
    """
    words = text.split("+")
    free = AUTO in words
    named = [word for word in words if word not in (PAPER, AUTO)]
    fields: dict[str, bool | int] = {}
    for word in named:
        if word not in _PARTS:
            raise SettingsError("scheme", f"expected {SYNTAX}", text)
        name, value = _PARTS[word]
        if name in fields:
            raise SettingsError("scheme", f"{name.replace('_', '-')} is given twice", text)
        fields[name] = value
    if len(words) > 1 and PAPER in words:
        raise SettingsError("scheme", f"{PAPER} goes without other parts", text)
    if words.count(AUTO) > 1:
        raise SettingsError("scheme", f"{AUTO} is given twice", text)
    for part in ("balanced", "binned"):
        if {"pairwise", part} <= fields.keys():
            raise SettingsError("scheme", f"{part} is about blocks of a graph, which pairwise does not cut", text)
    if {"balanced", "binned"} <= fields.keys():
        raise SettingsError("scheme", "balanced and binned are two ways to cut blocks", text)
    return Scheme(**fields), free  # type: ignore[arg-type]


def candidates(scheme: Scheme, *, all_bits: bool = False) -> list[Scheme]:
    """Every scheme that includes the parts of ``scheme``, simplest first.

    Partial sums are never cut into blocks of a graph, so ``balanced`` goes with vertices only, and without ``binned``,
    which is never added. Other widths of values change what is computed: they are candidates only with ``all_bits``.
    """

    def free(flag: bool) -> tuple[bool, ...]:
        return (True,) if flag else (False, True)

    bits = BITS if all_bits and scheme.bits == LANE_BITS else (scheme.bits,)
    schemes = [
        replace(scheme, pairwise=pairwise, chunk_major=chunk_major, bits=width, hybrid=hybrid, balanced=balanced)
        for pairwise, chunk_major, width, hybrid, balanced in product(
            free(scheme.pairwise), free(scheme.chunk_major), bits, free(scheme.hybrid), free(scheme.balanced)
        )
        if not (pairwise and (balanced or scheme.binned)) and not (balanced and scheme.binned)
    ]
    return sorted(schemes, key=lambda s: (-s.bits, s.pairwise + s.chunk_major + s.hybrid + s.balanced))
