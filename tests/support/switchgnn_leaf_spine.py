# SPDX-License-Identifier: Apache-2.0
"""Leaves and spines in one process, joined by links that may lose, double and delay frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from offramp.switchgnn.leaf_spine import LeafSpine
from offramp_base.wire.batch import PacketBatch
from offramp_sim.switchgnn.lockstep import Channel, Process, perfect


class LeafSpineNetwork:
    """All switches as one :data:`~offramp_sim.switchgnn.lockstep.Process`, whose port ``w + 1`` is worker *w*'s.

    Args:
        network: who is where.
        leaves: the process of each leaf.
        spines: the process of each spine.
        link: makes the channel of each direction of each link between switches.
        hops: turns of all switches in one turn of the workers.
    """

    def __init__(
        self,
        network: LeafSpine,
        leaves: Sequence[Process],
        spines: Sequence[Process],
        *,
        link: Callable[[], Channel] = lambda: perfect,
        hops: int = 4,
    ) -> None:
        self._leaves, self._spines = list(leaves), list(spines)
        self._hops = hops
        self._hosts = [(rack, network.host_port(worker)) for worker, rack in enumerate(network.racks)]
        links = [(leaf, spine) for leaf in range(network.leaves) for spine in range(network.spines)]
        self._up = {(leaf, network.uplink(leaf, spine)): (spine, network.downlink(leaf)) for leaf, spine in links}
        self._down = {there: here for here, there in self._up.items()}
        self._channels = {end: link() for end in [*(("up", *e) for e in self._up), *(("down", *e) for e in self._down)]}
        self._at_leaves = [PacketBatch.empty() for _ in leaves]
        self._at_spines = [PacketBatch.empty() for _ in spines]
        self._moving = dict.fromkeys(self._channels, 0)
        self.crossed = 0
        """Frames with a payload that left a leaf for a spine, before the link lost or doubled any."""

    def process(self, batch: PacketBatch) -> PacketBatch:
        """Frames that leave to workers within some turns of the switches; the rest is kept for the next call."""
        for worker, (leaf, port) in enumerate(self._hosts):
            if not len(batch):
                break
            mine = batch.select(batch.ports == worker + 1)
            mine.ports[:] = port
            self._at_leaves[leaf] = PacketBatch.concatenate([self._at_leaves[leaf], mine])
        out = [self._turn() for _ in range(self._hops)]
        return PacketBatch.concatenate(out)

    def busy(self) -> bool:
        """Whether frames wait before a switch; those that a channel keeps come with the next frame on their link."""
        return any(map(len, [*self._at_leaves, *self._at_spines])) or any(self._moving.values())

    def _turn(self) -> PacketBatch:
        at_leaves, self._at_leaves = self._at_leaves, [PacketBatch.empty() for _ in self._leaves]
        at_spines, self._at_spines = self._at_spines, [PacketBatch.empty() for _ in self._spines]
        from_leaves = [self._run(p, batch) for p, batch in zip(self._leaves, at_leaves, strict=True)]
        from_spines = [self._run(p, batch) for p, batch in zip(self._spines, at_spines, strict=True)]
        self._cross("up", self._up, from_leaves, self._at_spines)
        self._cross("down", self._down, from_spines, self._at_leaves)
        out = []
        for worker, (leaf, port) in enumerate(self._hosts):
            if not len(from_leaves[leaf]):
                continue
            mine = from_leaves[leaf].select(from_leaves[leaf].ports == port)
            mine.ports[:] = worker + 1
            out.append(mine)
        return PacketBatch.concatenate(out)

    @staticmethod
    def _run(process: Process, batch: PacketBatch) -> PacketBatch:
        return process(batch) if len(batch) else batch

    def _cross(
        self,
        channel: str,
        links: dict[tuple[int, int], tuple[int, int]],
        departed: list[PacketBatch],
        arriving: list[PacketBatch],
    ) -> None:
        for (switch, port), (other, its_port) in links.items():
            if not len(departed[switch]) and not self._moving[channel, switch, port]:
                continue
            sent = departed[switch].select(departed[switch].ports == port)
            if channel == "up":
                self.crossed += int(np.count_nonzero(sent.lengths >= _WITH_PAYLOAD))
            came = self._channels[channel, switch, port](sent)
            self._moving[channel, switch, port] = len(came)
            if not len(came):
                continue
            came = came.select(np.arange(len(came)))
            came.ports[:] = its_port
            arriving[other] = PacketBatch.concatenate([arriving[other], came])


_WITH_PAYLOAD = 100
