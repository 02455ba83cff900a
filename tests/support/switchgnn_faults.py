# SPDX-License-Identifier: Apache-2.0
"""Patterns of loss beyond the independent one, each a channel between workers and switch, from a seed."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import reduce

import numpy as np
import numpy.typing as npt

from offramp.switch_packets import PREFIX_BYTES
from offramp.switchgnn.wire import SwitchGnnPacketType, kinds_of
from offramp_base.wire.batch import PacketBatch
from offramp_sim.switchgnn.lockstep import Channel

Mask = npt.NDArray[np.bool_]


def chain(channels: Sequence[Channel]) -> Channel:
    """One channel after the other."""
    return lambda batch: reduce(lambda frames, channel: channel(frames), channels, batch)


class Bursts:
    """Loss in bursts (Gilbert's model): nothing is lost in the good state, everything in the bad one.

    Args:
        seed: seed of every random choice.
        begin: probability, for each frame, that a burst begins.
        mean: frames in a burst on average.
    """

    def __init__(self, seed: int, begin: float, mean: float) -> None:
        self._rng = np.random.default_rng(seed)
        self._leave = {False: begin, True: 1 / mean}
        self._bad = False

    def __call__(self, batch: PacketBatch) -> PacketBatch:
        """Frames that survive."""
        if not len(batch):
            return batch
        kept = np.zeros(len(batch), np.bool_)
        for i, chance in enumerate(self._rng.random(len(batch)).tolist()):
            self._bad ^= chance < self._leave[self._bad]
            kept[i] = not self._bad
        return batch.select(kept)


class LastLost:
    """Loses the last frame that each port sends or gets in a turn: the one that completes something.

    Args:
        seed: seed of every random choice.
        loss: probability that it is lost.
    """

    def __init__(self, seed: int, loss: float) -> None:
        self._rng = np.random.default_rng(seed)
        self._loss = loss

    def __call__(self, batch: PacketBatch) -> PacketBatch:
        """Frames that survive."""
        if not len(batch):
            return batch
        kept = np.ones(len(batch), np.bool_)
        for last in {port: at for at, port in enumerate(batch.ports.tolist())}.values():
            kept[last] = self._rng.random() >= self._loss
        return batch.select(kept)


class KindLost:
    """Loses the packets of one type, to or from one port or all, in so many of every hundred turns.

    Args:
        kind: GO counts as DONE, RESULT as DATA.
        port: None for all.
        turns: number of lossy turns in every hundred.
        first: the turn in which that begins.
    """

    def __init__(self, kind: SwitchGnnPacketType, port: int | None, turns: int, first: int = 0) -> None:
        self._kind = kind
        self._port = port
        self._turns = turns
        self._turn = -first

    def __call__(self, batch: PacketBatch) -> PacketBatch:
        """Frames that survive."""
        self._turn += 1
        if not len(batch) or self._turn < 0 or self._turn % 100 >= self._turns:
            return batch
        hit = kinds_of(batch.data[:, PREFIX_BYTES:]) == self._kind
        return batch.select(~(hit & (batch.ports == self._port) if self._port is not None else hit))


class Blackout:
    """Loses everything to or from one port in so many of every hundred turns."""

    def __init__(self, port: int, turns: int, first: int = 0) -> None:
        self._port = port
        self._turns = turns
        self._turn = -first

    def __call__(self, batch: PacketBatch) -> PacketBatch:
        """Frames that survive."""
        self._turn += 1
        dark = self._turn >= 0 and self._turn % 100 < self._turns
        return batch.select(batch.ports != self._port) if dark else batch


class Replay:
    """Brings frames of long ago again, those of earlier rounds among them.

    Args:
        seed: seed of every random choice.
        chance: probability, for each turn, that a handful comes.
        memory: batches that are remembered.
    """

    def __init__(self, seed: int, chance: float, memory: int = 100) -> None:
        self._rng = np.random.default_rng(seed)
        self._chance = chance
        self._past: deque[PacketBatch] = deque(maxlen=memory)

    def __call__(self, batch: PacketBatch) -> PacketBatch:
        """The frames, and some of the past."""
        rng, past = self._rng, self._past
        again = past[rng.integers(len(past))] if past and rng.random() < self._chance else _NOTHING
        if len(batch):
            past.append(batch)
        if not len(again):
            return batch
        return PacketBatch.concatenate([batch, again.select(rng.integers(0, len(again), 5))])


_NOTHING = PacketBatch.empty()
