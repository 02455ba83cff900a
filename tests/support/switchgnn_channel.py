# SPDX-License-Identifier: Apache-2.0
"""A network that loses, doubles and delays frames, from a seed."""

from __future__ import annotations

import numpy as np

from offramp_base.wire.batch import PacketBatch


class UnrulyChannel:
    """Fate of frames between workers and switch: a :data:`~offramp_sim.switchgnn.lockstep.Channel`.

    Args:
        seed: seed of every random choice.
        duplication: probability that a frame comes twice.
        loss: probability that a frame vanishes.
        delay: probability, for each turn, that a frame waits for a later one; the others change order.
    """

    def __init__(self, seed: int, duplication: float, delay: float, loss: float = 0.0) -> None:
        self._rng = np.random.default_rng(seed)
        self._chances = np.array([[loss], [duplication]])
        self._delay = delay
        self._held = PacketBatch.empty()

    def __call__(self, batch: PacketBatch) -> PacketBatch:
        """The frames that arrive in this turn; at least one while any is under way that is not lost."""
        rng, held, new = self._rng, len(self._held), len(batch)
        if not new and not held:
            return batch
        frames = PacketBatch.concatenate([self._held, batch])
        lost, twice = rng.random((2, new)) < self._chances
        copies = np.ones(held + new, np.intp)
        copies[held:] += twice
        copies[held:] *= ~lost
        order = rng.permutation(np.repeat(np.arange(held + new), copies))
        waits = rng.random(len(order)) < self._delay
        waits[:1] = False
        self._held = frames.select(order[waits]) if waits.any() else _NOTHING
        return frames.select(order[~waits])


_NOTHING = PacketBatch.empty()
