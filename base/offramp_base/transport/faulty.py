# SPDX-License-Identifier: Apache-2.0
"""A link that loses, duplicates, reorders and truncates frames, from a seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from offramp_base.errors import OfframpError
from offramp_base.transport.base import FrameIO, LinkStats
from offramp_base.wire.batch import PacketBatch


@dataclass(frozen=True)
class FaultRates:
    """Probability of each fault for each frame, 0 to 1.

    Attributes:
        loss: the frame vanishes.
        duplication: it comes twice in a row.
        reordering: it changes places with the frame before it in the same batch.
        truncation: it ends early, anywhere from byte 0 on.
    """

    loss: float = 0.0
    duplication: float = 0.0
    reordering: float = 0.0
    truncation: float = 0.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 <= value <= 1:
                raise OfframpError(f"fault {name}: {value} is not a probability, expected 0 to 1")


class Faulty:
    """A FrameIO around another one: frames suffer ``sending`` going out and ``receiving`` coming in."""

    def __init__(
        self, inner: FrameIO, *, seed: int, sending: FaultRates | None = None, receiving: FaultRates | None = None
    ) -> None:
        self._inner = inner
        self._sending = sending or FaultRates()
        self._receiving = receiving or FaultRates()
        # One generator for each direction: what is lost on the way out does not depend on what comes in.
        self._out, self._in = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))

    @property
    def stats(self) -> LinkStats:
        """Counters of the inner link, before faults when receiving and after them when sending."""
        return self._inner.stats

    def send(self, batch: PacketBatch) -> None:
        """Send the frames that survive."""
        self._inner.send(apply_faults(batch, self._sending, self._out))

    def receive(self, timeout_s: float) -> PacketBatch:
        """Frames that survive; possibly none although some arrived."""
        return apply_faults(self._inner.receive(timeout_s), self._receiving, self._in)

    def close(self) -> None:
        """Release the link."""
        self._inner.close()


def apply_faults(batch: PacketBatch, faults: FaultRates, rng: np.random.Generator) -> PacketBatch:
    """The frames of ``batch`` after ``faults``; four random numbers are drawn for every frame."""
    if not len(batch):
        return batch
    lost, doubled, swapped, cut = rng.random((4, len(batch)))
    order = np.arange(len(batch))
    for i in np.flatnonzero(swapped < faults.reordering):
        if i:
            order[i - 1], order[i] = order[i], order[i - 1]
    copies = np.where(doubled < faults.duplication, 2, 1) * (lost >= faults.loss)
    short = np.where(cut < faults.truncation, (cut / max(faults.truncation, 1e-9) * batch.lengths), batch.lengths)
    lengths = short.astype(np.int32)
    data = np.where(np.arange(batch.data.shape[1]) < lengths[:, None], batch.data, 0).astype(np.uint8)
    return PacketBatch(batch.ports, lengths, data).select(np.repeat(order, copies[order]))
