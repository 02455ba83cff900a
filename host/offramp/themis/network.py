# SPDX-License-Identifier: Apache-2.0
"""Networks of several dimensions: the bytes and steps of a collective's stages (paper sections 2, 4.4)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from offramp.themis.kinds import Collective, DimensionTopology, kind_named
from offramp.themis.messages import MessageParameters
from offramp.themis.nccl import CHANNELS, GpuGeneration, GpuInterconnect, Nccl
from offramp.themis.nccl_constants import NcclConstants
from offramp.themis.packets import PacketFormat, spread
from offramp.themis.rounds import rounds
from offramp_base.errors import OfframpError

_LEAST_BPS = 1e-6
_MOST_NS = 1e18
"""Times are integers of picoseconds, computed in floating point: these are far from its ends, and of no network."""


def coordinates(npu: int, sizes: Sequence[int]) -> tuple[int, ...]:
    """Coordinates of an NPU along dimensions of these sizes; dim1 varies fastest, like ranks inside a server."""
    position = []
    for size in sizes:
        npu, c = divmod(npu, size)
        position.append(c)
    return tuple(position)


__all__ = ["Collective", "Dimension", "DimensionTopology", "Network", "coordinates", "kind_named"]


@dataclass(frozen=True, slots=True)
class Dimension:
    """One dimension of a network.

    Attributes:
        kind: how its NPUs are connected.
        size: number of NPUs that communicate along it, P.
        bandwidth_bps: bandwidth of all links of an NPU on it, one direction.
        latency_ns: latency of one step, from NPU to NPU, for a message of minimum size.
        payload_share: payload share for an in-network dimension, bytes of data per byte on the wire.
        messages: model of dependent messages, or of NCCL's calls; None: the paper's cost model.
        packets: packets of its messages; None: messages have no headers.
        bidirectional: for a ring, whether collectives use both directions, with half of a chunk each, or only one;
            None: the cost model's default, both in the paper's, one with messages.

    Raises:
        OfframpError: a value is out of range.
    """

    kind: DimensionTopology
    size: int
    bandwidth_bps: float
    latency_ns: float = 0.0
    payload_share: float = 1.0
    messages: MessageParameters | Nccl | None = None
    bidirectional: bool | None = None
    packets: PacketFormat | None = None

    def __post_init__(self) -> None:
        if isinstance(self.size, bool) or not isinstance(self.size, int) or self.size < 1:
            raise OfframpError(f"{self.kind} dimension: size {self.size}: expected an integer of at least 1")
        if not (math.isfinite(self.bandwidth_bps) and self.bandwidth_bps >= _LEAST_BPS):
            least = f"expected at least {_LEAST_BPS:g}"
            raise OfframpError(f"{self.kind} dimension: bandwidth {self.bandwidth_bps} bit/s: {least}")
        if not 0 <= self.latency_ns <= _MOST_NS:
            most = f"expected 0 to {_MOST_NS:g}"
            raise OfframpError(f"{self.kind} dimension: latency {self.latency_ns} ns: {most}")
        if not 0 < self.payload_share <= 1:
            raise OfframpError(f"{self.kind} dimension: payload share {self.payload_share}: expected above 0, up to 1")
        if self.bidirectional is not None and self.kind is not DimensionTopology.RING:
            raise OfframpError(f"{self.kind} dimension: bidirectional: applies to rings only")
        if self.packets is not None and self.messages is not None:
            raise OfframpError(f"{self.kind} dimension: packets: apply to the paper's cost model only")

    @property
    def one_way(self) -> bool:
        """Whether collectives use one of an NPU's two links on a ring."""
        return self.bidirectional is False and self.size > 2

    @property
    def used_bps(self) -> float:
        """Bandwidth of the links that collectives use, one direction."""
        return self.bandwidth_bps / 2 if self.one_way else self.bandwidth_bps

    def sent(self, stage: Collective, size: float) -> float:
        """Bytes that an NPU sends for a stage that starts with ``size`` bytes on each NPU (table 1, footnote 7)."""
        if self.size == 1:
            return 0.0
        if stage is Collective.ALL_GATHER:
            return (self.size - 1) * size
        share = (self.size - 1) / self.size
        if stage is Collective.REDUCE_SCATTER:
            return share * size
        if stage is Collective.ALL_REDUCE:
            return size / self.payload_share if self.kind is DimensionTopology.IN_NETWORK else 2 * share * size
        if (
            self.kind is DimensionTopology.RING
        ):  # a block for the NPU at distance d crosses d links, the shorter way round if it can
            ways = (d if self.one_way else min(d, self.size - d) for d in range(1, self.size))
            return size / self.size * sum(ways)
        return share * size

    def lengths(self, stage: Collective, size: float) -> list[tuple[int, float]]:
        """Messages that an NPU sends for a stage, as :meth:`sent` counts their bytes: how many, and bytes of each.

        A message that crosses several links of a ring counts for each of them.
        """
        if self.size == 1:
            return []
        if stage is Collective.ALL_REDUCE:
            if self.kind is DimensionTopology.IN_NETWORK:
                return [(1, self.sent(stage, size))]
            return [(2 * count, length) for count, length in self.lengths(Collective.REDUCE_SCATTER, size)]
        block = size if stage is Collective.ALL_GATHER else size / self.size
        if stage is Collective.ALL_TO_ALL:
            return [(round(self.sent(stage, size) / block) if block else 0, block)]
        if self.kind is DimensionTopology.RING and not self.one_way and self.size > 2:
            return [(2 * (self.size - 1), block / 2)]
        if self.kind in (DimensionTopology.RING, DimensionTopology.FULLY_CONNECTED):
            return [(self.size - 1, block)]
        return [(1, blocks * block) for _, blocks in rounds(self.size)]

    def steps(self, stage: Collective) -> int:
        """Sequential steps of the dimension's algorithm (table 1).

        Through a switch, halving and doubling takes log2 P steps. Where P is no power of two, Bruck's rounds send the
        same (P-1)/P of the data in the next whole number of them (:mod:`offramp.themis.rounds`).
        """
        if self.size == 1:
            return 0
        if stage is Collective.ALL_REDUCE:
            return 1 if self.kind is DimensionTopology.IN_NETWORK else 2 * self.steps(Collective.REDUCE_SCATTER)
        if stage is Collective.ALL_TO_ALL:
            farthest = self.size - 1 if self.one_way else self.size // 2
            return farthest if self.kind is DimensionTopology.RING else 1
        if self.kind is DimensionTopology.RING:
            return self.size - 1
        return 1 if self.kind is DimensionTopology.FULLY_CONNECTED else len(rounds(self.size))

    def after(self, stage: Collective, size: float) -> float:
        """Bytes on each NPU after a stage that starts with ``size``."""
        if stage is Collective.REDUCE_SCATTER:
            return size / self.size
        return size * self.size if stage is Collective.ALL_GATHER else size

    def at_speed(self, factor: float) -> Dimension:
        """The dimension with its bandwidth multiplied by ``factor``."""
        messages = None if self.messages is None else self.messages.faster(factor)
        return replace(self, bandwidth_bps=self.bandwidth_bps * factor, messages=messages)

    def wire_ps(self, stage: Collective, size: float) -> float:
        """Picoseconds that the bytes of a stage take at the dimension's bandwidth; no schedule takes less."""
        if self.messages is not None:
            return self.messages.wire_ps(stage, size, self.size)
        return self.sent(stage, size) * 8e12 / self.used_bps

    def divided(self, inner: int) -> tuple[Dimension, Dimension]:
        """Two dimensions that replace this one: groups of ``inner`` neighbours, and across these groups.

        Each is modelled as if it alone were used. A group on a ring is a line, closed by the other direction of its
        links; rings across groups pass everything in between.

        Raises:
            OfframpError: groups do not divide the size, or lie on a ring with specified directions.
        """
        outer, rest = divmod(self.size, inner)
        if rest:
            raise OfframpError(f"groups of {inner} do not divide a dimension of {self.size}")
        if self.bidirectional is not None and inner > 1 < outer:
            raise OfframpError(f"groups of {inner} on a ring of {self.size}: expected none that gives its directions")
        if isinstance(self.messages, Nccl):
            bare, model = replace(self, messages=None), self.messages
            near, far = bare.divided(inner)
            return (
                replace(near, messages=model.faster(near.bandwidth_bps / self.bandwidth_bps)),
                replace(far, messages=model.faster(far.bandwidth_bps / self.bandwidth_bps)),
            )
        near, far = replace(self, size=inner), replace(self, size=outer)
        if self.kind is DimensionTopology.FULLY_CONNECTED and self.size > 1:
            link = self.bandwidth_bps / (self.size - 1)
            return (
                replace(near, bandwidth_bps=link * max(1, inner - 1)),
                replace(far, bandwidth_bps=link * max(1, outer - 1)),
            )
        if self.kind is DimensionTopology.RING and inner > 1 < outer:
            if self.messages is not None:
                hop_ns = self.messages.hop_ns
                near = replace(near, messages=replace(self.messages, hop_ns=hop_ns * (inner - 1)))
                far = replace(far, messages=replace(self.messages, hop_ns=hop_ns * inner))
            return (
                replace(near, bandwidth_bps=self.bandwidth_bps / 2, latency_ns=self.latency_ns * (inner - 1)),
                replace(far, bandwidth_bps=self.bandwidth_bps / inner, latency_ns=self.latency_ns * inner),
            )
        return near, far

    def transfer_ps(self, stage: Collective, size: float) -> int:
        """The latency model (section 4.4): picoseconds that a stage keeps the dimension busy, n·B."""
        if self.messages is not None:
            return self.messages.time_ps(stage, size, self.size)
        headers = self.packets.headers(self.lengths(stage, size)) if self.packets is not None else 0.0
        return round((self.sent(stage, size) + headers) * 8e12 / self.used_bps)

    def fixed_ps(self, stage: Collective) -> int:
        """The fixed delay A (section 4.4): steps times the latency of one, in picoseconds.

        With messages it is 0, since their transfers include it.
        """
        if self.messages is not None:
            return 0
        return round(self.steps(stage) * self.latency_ns * 1e3)


@dataclass(frozen=True, slots=True)
class Network:
    """Dimensions from the innermost (dim1) outwards, each with its own links.

    Raises:
        OfframpError: there is no dimension.
    """

    name: str
    dimensions: tuple[Dimension, ...]

    def __post_init__(self) -> None:
        if not self.dimensions:
            raise OfframpError(f"network {self.name}: expected at least one dimension")

    @property
    def npus(self) -> int:
        """Total number of NPUs."""
        return math.prod(d.size for d in self.dimensions)

    @property
    def at_once(self) -> int:
        """Chunks that a dimension processes concurrently; one in the paper's model."""
        return max(1 if d.messages is None else d.messages.at_once for d in self.dimensions)

    @property
    def bandwidth_bps(self) -> float:
        """Bandwidth of an NPU over all dimensions, in bits per second."""
        return sum(d.bandwidth_bps for d in self.dimensions)

    def part(self, dims: Iterable[int]) -> Network:
        """The network from the view of a group that communicates along some dimensions only; the others have size 1.

        Raises:
            OfframpError: a dimension does not exist, or is given twice.
        """
        chosen = list(dims)
        if any(not 0 <= k < len(self.dimensions) for k in chosen) or len(set(chosen)) != len(chosen):
            there = len(self.dimensions)
            raise OfframpError(f"dimensions {chosen} of {self.name}: expected different numbers from 0 to {there - 1}")
        kept = tuple(d if k in chosen else replace(d, size=1) for k, d in enumerate(self.dimensions))
        return Network(self.name, kept)

    def at_speed(self, factors: Sequence[float]) -> Network:
        """The network with each dimension's bandwidth multiplied by a factor.

        Raises:
            OfframpError: there is not one positive factor for each dimension.
        """
        if len(factors) != len(self.dimensions):
            raise OfframpError(f"{len(factors)} speeds for {self.name}: expected {len(self.dimensions)}")
        pairs = zip(self.dimensions, factors, strict=True)
        return Network(self.name, tuple(d.at_speed(f) for d, f in pairs))

    def by_nccl(
        self,
        gpu: GpuGeneration | None = None,
        channels: int = CHANNELS,
        constants: NcclConstants | None = None,
    ) -> Network:
        """The network with NCCL calls as stages: the first of several dimensions is NVLink, others connect machines.

        A switch among GPUs is an NVSwitch, an in-network dimension between machines has CollNet.

        Args:
            gpu: generation of the GPUs; None: no limits by channel, and no NVLS.
            channels: channels of a communicator.
            constants: the tuner's numbers; None: NCCL's.

        Raises:
            OfframpError: no channel, or an in-network dimension among the GPUs of a machine.
        """
        if channels < 1:
            raise OfframpError(f"{channels} channels: expected at least 1")
        known = constants or NcclConstants.read()
        first = self.dimensions[0]
        several = len(self.dimensions) > 1
        if several and first.kind is DimensionTopology.IN_NETWORK:
            raise OfframpError(f"{self.name}: {first.kind} dimension of NVLink: expected one between machines")
        nvswitch = several and first.kind is DimensionTopology.SWITCH
        dimensions = []
        for k, d in enumerate(self.dimensions):
            hardware = GpuInterconnect.NVLINK if k == 0 and several else GpuInterconnect.NETWORK
            collnet = d.kind is DimensionTopology.IN_NETWORK
            model = Nccl(hardware, d.used_bps, d.latency_ns, gpu, nvswitch, collnet, channels, known)
            dimensions.append(replace(d, messages=model))
        return Network(self.name, tuple(dimensions))

    def with_rings(self, *, bidirectional: bool) -> Network:
        """The network whose rings' collectives use both directions, or one.

        Raises:
            OfframpError: it has no ring.
        """
        if not any(d.kind is DimensionTopology.RING for d in self.dimensions):
            raise OfframpError(f"{self.name}: bidirectional: expected a ring among its dimensions")
        rings = (
            replace(d, bidirectional=bidirectional) if d.kind is DimensionTopology.RING else d for d in self.dimensions
        )
        return Network(self.name, tuple(rings))

    def with_packets(self, formats: Sequence[PacketFormat]) -> Network:
        """The network whose messages travel in packets: of one format, or of one for each dimension.

        Raises:
            OfframpError: another number of formats, or a dimension that does not follow the paper's cost model.
        """
        pairs = zip(self.dimensions, spread(formats, len(self.dimensions)), strict=True)
        return Network(self.name, tuple(replace(d, packets=each) for d, each in pairs))

    def divided(self, npus: int) -> Network:
        """The network whose first dimensions have ``npus`` NPUs, one of them divided in two if necessary.

        Raises:
            OfframpError: the group ends within a dimension that it does not divide.
        """
        product = 1
        for k, d in enumerate(self.dimensions):
            if product >= npus:
                break
            if product * d.size > npus:
                inner, rest = divmod(npus, product)
                if rest or d.size % inner:
                    self.up_to(npus)
                return Network(self.name, (*self.dimensions[:k], *d.divided(inner), *self.dimensions[k + 1 :]))
            product *= d.size
        self.up_to(npus)
        return self

    def up_to(self, npus: int) -> tuple[int, ...]:
        """The first dimensions with ``npus`` NPUs together, for model parallelism.

        Raises:
            OfframpError: no number of first dimensions has this product.
        """
        products = [math.prod(d.size for d in islice(self.dimensions, k)) for k in range(len(self.dimensions) + 1)]
        if npus not in products:
            sizes = ", ".join(map(str, products))
            raise OfframpError(f"a group of {npus} NPUs does not divide {self.name}: its dimensions make {sizes}")
        return tuple(range(products.index(npus)))
