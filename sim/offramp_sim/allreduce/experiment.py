# SPDX-License-Identifier: Apache-2.0
"""An experiment: ranks that sum tensors through the embedded switch, and by gloo's ring beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from offramp.allreduce.wire import HEADER_BYTES, MOST_RANKS, SEGMENT
from offramp_base.settings.check import check
from offramp_base.settings.error import SettingsError
from offramp_base.settings.field import Field
from offramp_base.settings.units import BITS_PER_SECOND
from offramp_base.transport.links import TRANSPORTS
from offramp_base.wire.ethernet import ETHERNET, IPV4

_UDP_BYTES: Final = 8
MEGABYTE: Final = 1 << 20


def _transports() -> list[str]:
    return ["auto", *TRANSPORTS]


@dataclass(frozen=True, slots=True)
class Experiment:
    """Ranks on this machine, the size of their tensors, and the links between them and the switch."""

    ranks: Annotated[int, Field("Processes", least=1, most=MOST_RANKS)] = 4
    size: Annotated[tuple[float, ...], Field("Megabytes of float32; repeatable", least=0, most=1024, short="-s")] = (
        1.0,
    )
    rounds: Annotated[int, Field("All-reduces of each size", least=1, most=1000)] = 3
    segments: Annotated[int, Field("Segments of 256 bytes in a packet: 1 (a Tofino's), 4 or 32")] = 4
    pages: Annotated[int, Field("Pages of 256 slots for the job", least=1, most=16)] = 1
    rate_bps: Annotated[
        int | None,
        Field(
            "Rate of each rank's link, as for tc: namespaces, veth pairs and HTB; needs root",
            key="rate",
            least=10**6,
            most=10**11,
            unit=BITS_PER_SECOND,
        ),
    ] = None
    mtu: Annotated[int, Field("MTU of links that have a rate", least=1000, most=65_000)] = 9000
    transport: Annotated[str, Field("Transport of links without a rate", choices=_transports)] = "auto"
    loss: Annotated[float, Field("Probability that a frame is lost, each way", least=0, most=0.9)] = 0.0
    compare: Annotated[bool, Field("Also measure gloo's all_reduce, alternating with ours")] = False
    seed: Annotated[int, Field("Random seed for the tensors and for lost frames", least=0)] = 0

    def __post_init__(self) -> None:
        check(self)
        if self.segments not in (1, 4, 32):
            raise SettingsError("segments", "expected 1, 4 or 32", self.segments)
        packet = self.frame_bytes + IPV4.size + _UDP_BYTES
        if self.rate_bps is not None and packet > self.mtu:
            raise SettingsError("mtu", f"expected at least {packet} for {self.segments} segments", self.mtu)

    @property
    def frame_bytes(self) -> int:
        """Bytes of the frame that carries one chunk."""
        return HEADER_BYTES + self.segments * SEGMENT.size

    @property
    def overhead(self) -> float:
        """Bytes on a rated link for each byte of a tensor, each way."""
        return (ETHERNET.size + IPV4.size + _UDP_BYTES + self.frame_bytes) / (self.segments * SEGMENT.size)


@dataclass(frozen=True, slots=True)
class SizeTiming:
    """All-reduces of one size; seconds are those of the slowest rank, one for each round.

    Attributes:
        way: ``offramp`` or ``gloo``.
    """

    way: str
    megabytes: float
    seconds: tuple[float, ...]

    @property
    def median_s(self) -> float:
        """Median seconds; the lower of two middle values."""
        return sorted(self.seconds)[(len(self.seconds) - 1) // 2]


@dataclass(frozen=True, slots=True)
class AllReduceTimings:
    """Measured times of all-reduces; ``sent``, ``repeated`` and ``lost`` are frames of all ranks together."""

    timings: tuple[SizeTiming, ...]
    sent: int
    repeated: int
    lost: int

    def gain(self, megabytes: float) -> float | None:
        """Median time of gloo's all-reduce over that of ours."""
        median_s = {timing.way: timing.median_s for timing in self.timings if timing.megabytes == megabytes}
        return median_s["gloo"] / median_s["offramp"] if "gloo" in median_s else None
