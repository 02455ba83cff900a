"""A network that loses, doubles and delays frames, from a seed."""

from __future__ import annotations

import numpy as np

from offramp.wire.batch import PacketBatch


class UnrulyChannel:
    """What becomes of frames between workers and switch: a :data:`~offramp_sim.switchgnn.lockstep.Channel`.

    Args:
        seed: of every random choice.
        duplication: probability that a frame comes twice.
        loss: probability that a frame vanishes.
        delay: probability, for each turn, that a frame waits for a later one; the others change order.
    """

    def __init__(self, seed: int, duplication: float, delay: float, loss: float = 0.0) -> None:
        self._rng = np.random.default_rng(seed)
        self._loss = loss
        self._duplication = duplication
        self._delay = delay
        self._held = PacketBatch.empty()

    def __call__(self, batch: PacketBatch) -> PacketBatch:
        """The frames that arrive in this turn; at least one while any is under way that is not lost."""
        rng = self._rng
        if not len(batch) and not len(self._held):
            return batch
        if self._loss:
            batch = batch.select(rng.random(len(batch)) >= self._loss)
        twice = rng.random(len(batch)) < self._duplication
        frames = PacketBatch.concatenate([self._held, batch, batch.select(twice)])
        order = rng.permutation(len(frames))
        waits = rng.random(len(frames)) < self._delay
        waits[:1] = False
        self._held = frames.select(order[waits])
        return frames.select(order[~waits])
