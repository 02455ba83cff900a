# SPDX-License-Identifier: Apache-2.0
"""Collectives in NCCL's way: a ring or a tree, with the protocol that its tuner predicts to be fastest.

Each stage on a dimension is one call of NCCL, alone on the dimension. Its time is the tuner's own model, latency and
bytes over the bandwidth of algorithm and protocol, with the constants of ``tuning.cc`` in 2024 (NCCL 2.20 and near it).
Limits by channel and by GPU generation, NVLS and CollNet are left out. An all-to-all, which the tuner does not cover,
consists of concurrent sends and receives with the protocol Simple.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, NamedTuple

from offramp.themis.kinds import Collective


class NcclAlgorithm(StrEnum):
    """Topology along which data is sent."""

    RING = "ring"
    TREE = "tree"


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


_Row = dict[NcclProtocol, float]


def _row(ll: float, ll128: float, simple: float) -> _Row:
    return {NcclProtocol.LL: ll, NcclProtocol.LL128: ll128, NcclProtocol.SIMPLE: simple}


_LAUNCH_US: Final = {NcclAlgorithm.TREE: _row(6.8, 14.0, 0.0), NcclAlgorithm.RING: _row(6.6, 14.0, 8.4)}
_STEP_US: Final = {
    (GpuInterconnect.NVLINK, NcclAlgorithm.TREE): _row(0.6, 1.25, 28.0),
    (GpuInterconnect.NVLINK, NcclAlgorithm.RING): _row(0.6, 1.9, 3.4),
    (GpuInterconnect.NETWORK, NcclAlgorithm.TREE): _row(5.0, 8.5, 28.0),
    (GpuInterconnect.NETWORK, NcclAlgorithm.RING): _row(2.7, 4.0, 14.0),
}
_TREES: Final = {  # of a tree's bandwidth, by size: 64 bytes and each power of two above it
    NcclProtocol.LL: (
        1,
        1,
        1,
        1,
        0.9,
        0.8,
        0.7,
        0.7,
        0.7,
        0.7,
        0.6,
        0.5,
        0.4,
        0.4,
        0.5,
        0.6,
        0.7,
        0.8,
        0.9,
        1,
        1,
        1,
        1,
    ),
    NcclProtocol.LL128: (
        *(1, 1, 1, 1, 1, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6),
        *(0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1, 1),
    ),
    NcclProtocol.SIMPLE: (
        *(0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5),
        *(0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9),
    ),
}
_CHANNELS: Final = 16
_PLATEAU: Final = 1.4
"""Factor on a ring's latency over the network at which each channel has 64 bytes for each GPU."""


class NcclCall(NamedTuple):
    """One call of an NCCL collective."""

    microseconds: float
    algorithm: NcclAlgorithm
    protocol: NcclProtocol


@dataclass(frozen=True, slots=True)
class Nccl:
    """NCCL's execution of a dimension's collectives.

    Attributes:
        hardware: connection between the GPUs.
        bandwidth_bps: bandwidth of a GPU on this dimension, one direction.
        hop_ns: latency of the network in addition to what NCCL assumes for it.
    """

    hardware: GpuInterconnect
    bandwidth_bps: float
    hop_ns: float = 0.0

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
            sent = size * (peers - 1) / peers
            latency = _LAUNCH_US[NcclAlgorithm.RING][NcclProtocol.SIMPLE] + self._step_us(
                NcclAlgorithm.RING, NcclProtocol.SIMPLE
            )
            yield NcclCall(latency + sent * 8e6 / self.bandwidth_bps, NcclAlgorithm.RING, NcclProtocol.SIMPLE)
            return
        whole = size * peers if stage is Collective.ALL_GATHER else size
        for algorithm in NcclAlgorithm if stage is Collective.ALL_REDUCE else (NcclAlgorithm.RING,):
            for protocol in NcclProtocol:
                latency = _LAUNCH_US[algorithm][protocol]
                if algorithm is NcclAlgorithm.RING:
                    latency += self._ring_us(stage, protocol, peers)
                    rate = self._ring_bps(stage, protocol, peers)
                    if self._plateau(stage, protocol, whole, peers):
                        latency *= _PLATEAU
                else:
                    steps = peers - 1 if self.hardware is GpuInterconnect.NVLINK else peers.bit_length() - 1
                    latency += 2 * steps * self._step_us(algorithm, protocol)
                    rate = self._tree_bps(protocol, whole)
                yield NcclCall(latency + whole * 8e6 / rate, algorithm, protocol)

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
        return passes * whole * (peers - 1) / peers * 8e12 / self.bandwidth_bps

    def _step_us(self, algorithm: NcclAlgorithm, protocol: NcclProtocol) -> float:
        flushes = 2 if protocol is NcclProtocol.SIMPLE else 1  # what has come is flushed by one more read
        more = flushes * self.hop_ns / 1e3 if self.hardware is GpuInterconnect.NETWORK else 0.0
        return _STEP_US[self.hardware, algorithm][protocol] + more

    def _ring_us(self, stage: Collective, protocol: NcclProtocol, peers: int) -> float:
        reduces = stage is Collective.ALL_REDUCE
        steps = (2 if reduces else 1) * (peers - 1)
        step = self._step_us(NcclAlgorithm.RING, protocol)
        if self.hardware is GpuInterconnect.NVLINK or not reduces:
            return steps * step
        # As the tuner has it: 2 P steps between machines, of which those beyond the ring's are taken off within one.
        within = max(
            _STEP_US[GpuInterconnect.NVLINK, NcclAlgorithm.RING][protocol],
            3.0 if protocol is NcclProtocol.SIMPLE else 1.0,
        )
        return 2 * peers * step - 2 * within

    def _plateau(self, stage: Collective, protocol: NcclProtocol, whole: float, peers: int) -> bool:
        far = (
            self.hardware is GpuInterconnect.NETWORK
            and stage is Collective.ALL_REDUCE
            and protocol is NcclProtocol.SIMPLE
        )
        return far and whole / (_CHANNELS * peers) >= 64

    def _ring_bps(self, stage: Collective, protocol: NcclProtocol, peers: int) -> float:
        far, reduces = self.hardware is GpuInterconnect.NETWORK, stage is Collective.ALL_REDUCE
        share = {
            NcclProtocol.LL: 1 / 4 if far or reduces else 1 / 3,
            NcclProtocol.LL128: 0.7 if far else 0.92,
            NcclProtocol.SIMPLE: 1.0,
        }[protocol]
        return self.bandwidth_bps * share * peers / ((2 if reduces else 1) * (peers - 1))

    def _tree_bps(self, protocol: NcclProtocol, whole: float) -> float:
        near = self.hardware is GpuInterconnect.NVLINK
        share = {NcclProtocol.LL: 1 / 3.8, NcclProtocol.LL128: 7 / 9 if near else 120 / 128, NcclProtocol.SIMPLE: 1.0}[
            protocol
        ]
        power = max(0, (int(whole) >> 6).bit_length() - 1)
        corrected = _TREES[protocol][power] if power < len(_TREES[protocol]) else 1.0
        return self.bandwidth_bps * 0.92 * share * corrected / 2
