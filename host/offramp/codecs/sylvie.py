# SPDX-License-Identifier: Apache-2.0
"""Sylvie's quantiser on halo features (specification sections 1.4 to 1.6)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from offramp.codecs.base import FeatureCodec
from offramp.sylvie import tensors
from offramp.sylvie.message import Label, MessageLayout, read_label
from offramp.sylvie.streams import stream
from offramp.sylvie.widths import fixed_widths, importance, joint_widths, ranked
from offramp.sylvie.wire import BACKWARD, FORWARD, PLAIN

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from offramp.codecs.base import CodecSettings
    from offramp.graph.halo_plan import HaloMessage, HaloPlan
    from offramp.sylvie.widths import Doubles, Widths
    from offramp.workers.mailbox import Key


class SylvieCodec(FeatureCodec):
    """Rows as a few bits a value; with ``joint`` rows of vertices with many neighbours get more.

    A vertex's importance is its rank by in-degree among all that one worker needs of another, or among all that any
    worker needs of another, the same for its messages and their gradients.

    Attributes:
        base: width of the epoch's messages, in bits; 32 leaves float32. A message says what it was made with, so it may
            change while one is on its way.
    """

    bits: ClassVar[int | None] = None
    samples = False

    @classmethod
    def of(cls, settings: CodecSettings, plan: HaloPlan, rank: int) -> Self:
        """A codec with importance where the controller decides the width."""
        base, joint = cls.bits or 1, cls.bits is None
        return cls(plan, rank, settings.seed, base=base, joint=joint, ranking=settings.ranking, pool=settings.pool)

    def __init__(
        self,
        plan: HaloPlan,
        rank: int,
        seed: int,
        *,
        base: int,
        joint: bool,
        compact: bool = True,
        ranking: str = "ecdf",
        pool: str = "pairs",
    ) -> None:
        """Args: plan: the worker's rows; rank: the worker; seed: of the rounding; compact: bounds as bfloat16."""
        self.base = base
        self._rank, self._seed, self._joint, self._compact = rank, seed, joint, compact
        self._layouts: dict[tuple[str, int, int, int, int, int], MessageLayout] = {}
        ranks = partial(_by_all if pool == "all" else _by_pairs, plan, ranking)
        self._importance = {
            **{("sent", *_name(m)): p for m, p in ranks(plan.all_sends)},
            **{("received", *_name(m)): p for m, p in ranks(plan.all_receives)},
        }

    def encode(self, x: torch.Tensor, message: HaloMessage, key: Key) -> torch.Tensor:
        """A message of Sylvie's format, header and all.

        Raises:
            OfframpError: a row with a value that is not finite, by its number.
        """
        label = label_of(key, self._rank, message.peer)
        layout = self._layout(message, "received" if key.backward else "sent", x.shape[1], self.base)
        seed = stream(self._seed, *label, key.bin)
        return tensors.encode(layout, x, message.rows, label, seed)

    def decode(
        self, payload: torch.Tensor, message: HaloMessage, key: Key, out: torch.Tensor, *, add: bool = False
    ) -> None:
        """Write float32 values, which differ from the encoded ones by less than a step of the quantiser.

        Raises:
            OfframpError: not the message that ``key`` says, or damaged.
        """
        _, base = read_label(payload.numpy())
        layout = self._layout(message, "sent" if key.backward else "received", out.shape[1], base)
        tensors.decode(layout, payload, label_of(key, message.peer, self._rank), out, message.rows, add=add)

    def set_bits(self, bits: int) -> None:
        """Base width of the messages."""
        self.base = bits

    def _layout(self, message: HaloMessage, end: str, width: int, base: int) -> MessageLayout:
        place = end, *_name(message), width, base
        layout = self._layouts.get(place)
        if layout is None or layout.rows != len(message.rows):  # of a sample, another number each time
            widths = self._widths(message, end, base)
            layout = self._layouts[place] = MessageLayout(widths, width, base, compact=self._compact and base != PLAIN)
        return layout

    def _widths(self, message: HaloMessage, end: str, base: int) -> Widths:
        if not self._joint:
            return fixed_widths(len(message.rows), base)
        return joint_widths(self._importance[end, *_name(message)], base)


class _FixedWidth(SylvieCodec):
    """One width for all vertices and epochs, so that codes of several workers share their steps and add up."""

    summable = True
    samples = True


class Q1(_FixedWidth):
    """Always 1 bit per value."""

    bits = 1


class Q2(_FixedWidth):
    """Always 2 bits per value."""

    bits = 2


class Q4(_FixedWidth):
    """Always 4 bits per value."""

    bits = 4


class Q8(_FixedWidth):
    """Always 8 bits per value."""

    bits = 8


def _name(message: HaloMessage) -> tuple[int, int, int]:
    return message.layer, message.peer, message.bin


def _by_pairs(plan: HaloPlan, ranking: str, messages: Sequence[HaloMessage]) -> list[tuple[HaloMessage, Doubles]]:
    """The importance of each message's rows among all rows of the same pair of workers."""
    pools = []
    for pair in sorted({(message.layer, message.peer) for message in messages}):
        of = [message for message in messages if (message.layer, message.peer) == pair]
        p = importance(plan.degree[np.concatenate([message.rows for message in of])], ranking)
        ends = np.cumsum([len(message.rows) for message in of])
        pools += list(zip(of, np.split(p, ends[:-1]), strict=True))
    return pools


def _by_all(plan: HaloPlan, ranking: str, messages: Sequence[HaloMessage]) -> list[tuple[HaloMessage, Doubles]]:
    """The importance of each message's rows among all rows of all workers."""
    degrees, counts = plan.pool.T
    p = ranked(counts, ranking)
    return [(message, p[np.searchsorted(degrees, plan.degree[message.rows])]) for message in messages]


def label_of(key: Key, src: int, dst: int) -> Label:
    """The label of a message: step, layer, direction, sender and receiver."""
    return Label(key.step, key.layer, BACKWARD if key.backward else FORWARD, src, dst)
