# SPDX-License-Identifier: Apache-2.0
"""Collectives in NCCL's way: the algorithm and protocol that its tuner predicts to be fastest.

Each stage on a dimension is one call of NCCL, alone on the dimension. Its time is the tuner's own model, latency and
bytes over the bandwidth of algorithm and protocol, with the constants of :mod:`offramp.themis.nccl_constants`. Rings
and trees are everywhere; NVLS sums in the NVSwitch of GPUs that have it, CollNet in the switches of an in-network
dimension. With a GPU generation there are limits by channel. An all-to-all, which the tuner does not cover, consists of
concurrent sends and receives with the protocol Simple.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, NamedTuple

from offramp.themis.kinds import Collective
from offramp.themis.nccl_constants import NcclConstants


class NcclAlgorithm(StrEnum):
    """Topology along which data is sent."""

    RING = "ring"
    TREE = "tree"
    NVLS = "nvls"
    """Sums and copies in the NVSwitch of one machine."""
    COLLNET_DIRECT = "collnet-direct"
    COLLNET_CHAIN = "collnet-chain"
    """Sums in the network's switches."""


class NcclProtocol(StrEnum):
    """Protocol by which a receiver learns of data."""

    LL = "LL"
    """A flag in every 8 bytes: low latency, a quarter of the bandwidth."""
    LL128 = "LL128"
    """A flag in every 128 bytes, which requires NVLink's order of stores."""
    SIMPLE = "Simple"
    """Data in large pieces, each followed by a fence."""


class GpuInterconnect(StrEnum):
    """Connection of the GPUs of a dimension."""

    NVLINK = "NVLink"
    NETWORK = "network"
    """One GPU of each machine; other GPUs of the machine are on other dimensions."""


class GpuGeneration(StrEnum):
    """Generation of GPUs, on which limits depend."""

    VOLTA = "volta"
    AMPERE = "ampere"
    HOPPER = "hopper"


CHANNELS: Final = 16
"""Channels of a communicator; NCCL derives them from the topology."""


class NcclCall(NamedTuple):
    """One call of an NCCL collective."""

    microseconds: float
    algorithm: NcclAlgorithm
    protocol: NcclProtocol
    channels: int


@dataclass(frozen=True, slots=True)
class Nccl:
    """NCCL's execution of a dimension's collectives.

    Attributes:
        hardware: connection between the GPUs.
        bandwidth_bps: bandwidth of a GPU on this dimension, one direction.
        hop_ns: latency of the network in addition to what NCCL assumes for it.
        gpu: generation of the GPUs, whose channels have limits; None: no limits, and no NVLS.
        switched: whether the GPUs have an NVSwitch.
        collnet: whether the network's switches sum.
        channels: channels of a communicator.
        constants: the numbers of the tuner.
    """

    hardware: GpuInterconnect
    bandwidth_bps: float
    hop_ns: float = 0.0
    gpu: GpuGeneration | None = None
    switched: bool = False
    collnet: bool = False
    channels: int = CHANNELS
    constants: NcclConstants = field(default_factory=NcclConstants.read)

    at_once = 1
    """Concurrent calls on the dimension: NCCL's run one after the other."""

    def faster(self, factor: float) -> Nccl:
        """The same over links that are ``factor`` times as fast."""
        return replace(self, bandwidth_bps=self.bandwidth_bps * factor)

    def calls(self, stage: Collective, size: float, peers: int) -> Iterator[NcclCall]:
        """Each way to run a stage.

        Args:
            stage: the stage.
            size: bytes on each GPU before it.
            peers: number of GPUs of the dimension, at least two.
        """
        if stage is Collective.ALL_TO_ALL:
            ring, simple = NcclAlgorithm.RING, NcclProtocol.SIMPLE
            sent = size * (peers - 1) / peers
            latency = self._by_protocol("baseLat", ring, simple) + self._step_us(ring, simple)
            yield NcclCall(latency + sent * 8e6 / self.bandwidth_bps, ring, simple, self.channels)
            return
        yield from self.choices(stage, size * peers if stage is Collective.ALL_GATHER else size, peers)

    def choices(self, stage: Collective, whole: float, peers: int) -> Iterator[NcclCall]:
        """Each way to run a collective that the tuner covers, by the bytes of the larger of its input and output."""
        for algorithm in self._algorithms(stage):
            for protocol in _protocols(algorithm):
                latency = self._latency_us(algorithm, protocol, stage, peers)
                if algorithm is NcclAlgorithm.RING and self._plateau(stage, protocol, whole, peers):
                    latency *= self.constants["ringPlateau"]
                rate = self._bps(algorithm, protocol, stage, whole, peers)
                channels = self._channels(algorithm, protocol, whole, peers)
                yield NcclCall(latency + whole * 8e6 / rate, algorithm, protocol, channels)

    def best(self, stage: Collective, size: float, peers: int) -> NcclCall:
        """The call that NCCL's tuner would choose."""
        return min(self.calls(stage, size, peers))

    def time_ps(self, stage: Collective, size: float, peers: int) -> int:
        """Picoseconds for which a stage occupies the dimension."""
        return 0 if peers == 1 else round(self.best(stage, size, peers).microseconds * 1e6)

    def wire_ps(self, stage: Collective, size: float, peers: int) -> float:
        """Least picoseconds that the bytes of a stage take."""
        whole = size * peers if stage is Collective.ALL_GATHER else size
        passes = 2 if stage is Collective.ALL_REDUCE else 1
        least = passes * whole * (peers - 1) / peers * 8e12 / self.bandwidth_bps
        summing = [a for a in self._algorithms(stage) if a not in (NcclAlgorithm.RING, NcclAlgorithm.TREE)]
        rates = (self._bps(each, NcclProtocol.SIMPLE, stage, whole, peers) for each in summing)
        return min((least, *(whole * 8e12 / rate for rate in rates)))

    def _algorithms(self, stage: Collective) -> Iterator[NcclAlgorithm]:
        yield NcclAlgorithm.RING
        if stage is not Collective.ALL_REDUCE:
            return
        yield NcclAlgorithm.TREE
        near = self.hardware is GpuInterconnect.NVLINK
        if near and self.switched and self.gpu is GpuGeneration.HOPPER:
            yield NcclAlgorithm.NVLS
        if not near and self.collnet:
            yield NcclAlgorithm.COLLNET_CHAIN
            if self.switched:
                yield NcclAlgorithm.COLLNET_DIRECT

    def _by_protocol(self, name: str, algorithm: NcclAlgorithm, protocol: NcclProtocol) -> float:
        return float(self.constants[name][algorithm][_AT[protocol]])

    def _step_us(self, algorithm: NcclAlgorithm, protocol: NcclProtocol) -> float:
        flushes = 2 if protocol is NcclProtocol.SIMPLE else 1  # what has come is flushed by one more read
        more = flushes * self.hop_ns / 1e3 if self.hardware is GpuInterconnect.NETWORK else 0.0
        return float(self.constants["hwLat"][self.hardware][algorithm][_AT[protocol]]) + more

    def _latency_us(self, algorithm: NcclAlgorithm, protocol: NcclProtocol, stage: Collective, peers: int) -> float:
        if algorithm is NcclAlgorithm.NVLS:
            return self._step_us(algorithm, protocol)
        first = self._by_protocol("baseLat", algorithm, protocol)
        if algorithm is NcclAlgorithm.RING:
            return first + self._ring_us(stage, protocol, peers)
        if algorithm is NcclAlgorithm.TREE:
            steps = peers - 1 if self.hardware is GpuInterconnect.NVLINK else peers.bit_length() - 1
            return first + 2 * steps * self._step_us(algorithm, protocol)
        return first + self._step_us(algorithm, protocol)  # CollNet with one GPU of each machine: once up and down

    def _ring_us(self, stage: Collective, protocol: NcclProtocol, peers: int) -> float:
        reduces = stage is Collective.ALL_REDUCE
        steps = (2 if reduces else 1) * (peers - 1)
        step = self._step_us(NcclAlgorithm.RING, protocol)
        if self.hardware is GpuInterconnect.NVLINK or not reduces:
            return steps * step
        # As the tuner has it: 2 P steps between machines, of which those beyond the ring's are taken off within one.
        within = max(
            float(self.constants["hwLat"][GpuInterconnect.NVLINK][NcclAlgorithm.RING][_AT[protocol]]),
            float(self.constants["netOverhead"]) * (3.0 if protocol is NcclProtocol.SIMPLE else 1.0),
        )
        return 2 * peers * step - 2 * within

    def _plateau(self, stage: Collective, protocol: NcclProtocol, whole: float, peers: int) -> bool:
        far = (
            self.hardware is GpuInterconnect.NETWORK
            and stage is Collective.ALL_REDUCE
            and protocol is NcclProtocol.SIMPLE
        )
        return far and whole / (self.channels * peers) >= self.constants["ringPlateauBytes"]

    def _channels(self, algorithm: NcclAlgorithm, protocol: NcclProtocol, whole: float, peers: int) -> int:
        """Channels of a call: fewer for little data, which has to occupy the threads of each."""
        if algorithm is NcclAlgorithm.NVLS:
            return min(self.channels, int(self.constants["nvlsChannels"]))
        least = self._by_protocol("threadThresholds", algorithm, protocol)
        if algorithm is NcclAlgorithm.RING and protocol is NcclProtocol.LL:
            least *= peers
        return max(1, min(self.channels, int(whole // (self._by_protocol("maxThreads", algorithm, protocol) * least))))

    def _limit_bps(self, name: str, peers: int, count: int = 1) -> float:
        """A limit of the generation, times ``count``; on several machines LL's is that of the first row."""
        if self.gpu is None:
            return math.inf
        machines = 1 if self.hardware is GpuInterconnect.NVLINK else peers
        row = GpuGeneration.VOLTA if name == "llMaxBws" and machines > 1 else self.gpu
        return float(self.constants[name][row][min(machines, 3) - 1]) * 8e9 * count

    def _bps(
        self, algorithm: NcclAlgorithm, protocol: NcclProtocol, stage: Collective, whole: float, peers: int
    ) -> float:
        """Bytes of the collective over time, without latency, in bits per second."""
        if algorithm is NcclAlgorithm.RING:
            return self._ring_bps(stage, protocol, peers)
        if algorithm is NcclAlgorithm.TREE:
            return self._tree_bps(protocol, whole, peers)
        if algorithm is NcclAlgorithm.NVLS:
            return self.bandwidth_bps * float(self.constants["nvlsRatio"])
        if algorithm is NcclAlgorithm.COLLNET_CHAIN:
            return self.bandwidth_bps / 2
        hopper = float(self.constants["collnetDirectHopper"]) if self.gpu is GpuGeneration.HOPPER else 1.0
        return self.bandwidth_bps / ((1 / self.channels + 1) / 2) * hopper / 2

    def _ring_bps(self, stage: Collective, protocol: NcclProtocol, peers: int) -> float:
        far, reduces = self.hardware is GpuInterconnect.NETWORK, stage is Collective.ALL_REDUCE
        share = {
            NcclProtocol.LL: 1 / 4 if far or reduces else 1 / 3,
            NcclProtocol.LL128: 0.7 if far else 0.92,
            NcclProtocol.SIMPLE: 1.0,
        }[protocol]
        limit = {
            NcclProtocol.LL: self._limit_bps("llMaxBws", peers),
            NcclProtocol.LL128: self._limit_bps("perChMaxRingLL128Bws", peers, self.channels),
            NcclProtocol.SIMPLE: math.inf,
        }[protocol]
        return min(self.bandwidth_bps * share, limit) * peers / ((2 if reduces else 1) * (peers - 1))

    def _tree_bps(self, protocol: NcclProtocol, whole: float, peers: int) -> float:
        near = self.hardware is GpuInterconnect.NVLINK
        share = {NcclProtocol.LL: 1 / 3.8, NcclProtocol.LL128: 7 / 9 if near else 120 / 128, NcclProtocol.SIMPLE: 1.0}[
            protocol
        ]
        limit = {
            NcclProtocol.LL: self._limit_bps("llMaxBws", peers),
            NcclProtocol.LL128: self._limit_bps("perChMaxTreeLL128Bws", peers, self.channels),
            NcclProtocol.SIMPLE: math.inf,
        }[protocol]
        sizes = self.constants["treeCorrectionFactor"][protocol]
        power = max(0, (int(whole) >> 6).bit_length() - 1)
        corrected = sizes[power] if power < len(sizes) else 1.0
        busy = min(self.bandwidth_bps * 0.92, self._limit_bps("perChMaxTreeBws", peers, self.channels))
        return min(busy * share, limit) * corrected / 2


_AT: Final = {NcclProtocol.LL: 0, NcclProtocol.LL128: 1, NcclProtocol.SIMPLE: 2}


def _protocols(algorithm: NcclAlgorithm) -> tuple[NcclProtocol, ...]:
    if algorithm in (NcclAlgorithm.RING, NcclAlgorithm.TREE):
        return tuple(NcclProtocol)
    return (NcclProtocol.SIMPLE,)
