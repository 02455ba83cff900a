# SPDX-License-Identifier: Apache-2.0
"""The priority as a 6-bit code point: MID in three bits, type in one, LID in two (thesis, section 5.4).

Code 0 is the most urgent; on the wire it is DSCP 63 - code, as strict priority serves the higher class first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from offramp.hermod.factors import CType, Factors
from offramp_base.errors import OfframpError

CODES: Final = 64
_BUCKETS: Final = 8
_FINE: Final = 32
_DP_INTERLEAVED: Final = 60
_BELOW_DP: Final = 56


def dscp_of(code: int) -> int:
    """The DSCP of a code, and the code of a DSCP."""
    if not 0 <= code < CODES:
        raise OfframpError(f"code {code}: expected 0 to {CODES - 1}")
    return CODES - 1 - code


@dataclass(frozen=True, slots=True)
class Meaning:
    """The coflows that share a code; bounds are included."""

    mids: tuple[int, int]
    ctypes: tuple[CType, ...]
    lids: tuple[int, int]


@dataclass(frozen=True)
class DscpCodec:
    """The codes of one job.

    Attributes:
        micro_batches, layers: number of the job's microbatches and layers.
        interleaved: whether EP goes before PP (interleaved 1F1B).
        plain: the layout as published, which inverts orders beyond 8 microbatches (interleaved: beyond 7); otherwise
            the microbatch takes the bits of the layer there (specification section 4, fix B and rank packing).

    Raises:
        OfframpError: no microbatch or layer.
    """

    micro_batches: int
    layers: int
    interleaved: bool = False
    plain: bool = False

    def __post_init__(self) -> None:
        for name, value in (("micro_batches", self.micro_batches), ("layers", self.layers)):
            if value < 1:
                raise OfframpError(f"{name} {value}: expected at least 1")

    def code(self, factors: Factors) -> int:
        """0, the most urgent, to 63.

        Raises:
            OfframpError: a factor outside the job, or TP, which leaves no server.
        """
        self._check(factors)
        layer = factors.lid * 4 // self.layers
        return self._interleaved(factors, layer) if self.interleaved else self._one_f_one_b(factors, layer)

    def dscp(self, factors: Factors) -> int:
        """The DSCP of the packets of a coflow."""
        return dscp_of(self.code(factors))

    def _one_f_one_b(self, f: Factors, layer: int) -> int:
        m = self.micro_batches
        if f.ctype is CType.DP:
            return _bucket(m - 1, m) << 3 | 4 | layer
        if m > _BUCKETS and not self.plain:
            fine = f.mid * _FINE // m
            return fine >> 2 << 3 | fine & 3
        return _bucket(f.mid, m) << 3 | layer

    def _interleaved(self, f: Factors, layer: int) -> int:
        m = self.micro_batches
        if f.ctype is CType.DP:
            return _DP_INTERLEAVED | layer
        if m >= _BUCKETS and not self.plain:
            return (2 * f.mid + f.ctype) * _BELOW_DP // (2 * m)
        return _bucket(f.mid, m) << 3 | int(f.ctype) << 2 | layer

    def _check(self, f: Factors) -> None:
        if not 0 <= f.mid < self.micro_batches:
            raise OfframpError(f"microbatch {f.mid}: the job has {self.micro_batches}, expected one from 0 on")
        if not 0 <= f.lid < self.layers:
            raise OfframpError(f"layer {f.lid}: the job has {self.layers}, expected one from 0 on")
        if f.ctype is CType.TP:
            raise OfframpError("type TP: stays inside a server and has no code point")
        if f.ctype is CType.DP and f.mid != self.micro_batches - 1:
            raise OfframpError(f"microbatch {f.mid}: DP starts after the last one, expected {self.micro_batches - 1}")

    def every(self) -> list[Factors]:
        """All coflows that the job can have, DP with the last microbatch."""
        layers = range(self.layers)
        transfers = [Factors(i, t, g) for i in range(self.micro_batches) for t in (CType.EP, CType.PP) for g in layers]
        return transfers + [Factors(self.micro_batches - 1, CType.DP, g) for g in layers]

    @cached_property
    def meanings(self) -> dict[int, Meaning]:
        """The coflows behind each code in use."""
        sharing: dict[int, list[Factors]] = {}
        for factors in self.every():
            sharing.setdefault(self.code(factors), []).append(factors)
        return {code: _meaning(sharing[code]) for code in sorted(sharing)}

    def decode(self, dscp: int) -> Meaning:
        """The coflows behind a DSCP.

        Raises:
            OfframpError: the job does not use it.
        """
        meaning = self.meanings.get(dscp_of(dscp))
        if meaning is None:
            raise OfframpError(f"DSCP {dscp}: not used by this job")
        return meaning


def _bucket(mid: int, micro_batches: int) -> int:
    return mid if micro_batches <= _BUCKETS else mid * _BUCKETS // micro_batches


def _meaning(sharing: list[Factors]) -> Meaning:
    mids, lids = [f.mid for f in sharing], [f.lid for f in sharing]
    return Meaning((min(mids), max(mids)), tuple(sorted({f.ctype for f in sharing})), (min(lids), max(lids)))
