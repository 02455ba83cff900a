# SPDX-License-Identifier: Apache-2.0
"""AdaQP (Wan, Zhao, Wu 2023) on halo features: 2, 4 or 8 bits, chosen by the effect of rounding on sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Self

import numpy as np
import torch

from offramp.codecs.base import FeatureCodec
from offramp.codecs.sylvie import label_of
from offramp.sylvie import tensors
from offramp.sylvie.adaqp import BASE, WIDTHS, balanced_widths, row_weights
from offramp.sylvie.message import MessageLayout
from offramp.sylvie.quantiser import row_bytes
from offramp.sylvie.streams import stream
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp.codecs.base import CodecSettings
    from offramp.graph.halo_plan import HaloMessage, HaloPlan
    from offramp.graph.step_messages import StepMessage
    from offramp.sylvie.model import Bytes
    from offramp.sylvie.widths import Widths
    from offramp.workers.mailbox import Key
    from offramp_base.archive import Arrays

PERIOD: Final = 50
"""Training steps after which widths are chosen anew (AdaQP's default)."""

_NEVER: Final = -1
_CODE_BITS: Final = 2
"""Bits that encode a row's width in the table before each message."""


class AdaqpCodec(FeatureCodec):
    """Each message's sender chooses the widths that balance variance and bytes, and tells them with 2 bits per row.

    AdaQP balances all pairs of workers at once; here every message by itself, as bins are sent one by one. Gradients
    are added once by their owner, so that their ranges alone count.
    """

    bits: ClassVar[int | None] = BASE
    samples = False

    @classmethod
    def of(cls, settings: CodecSettings, plan: HaloPlan, rank: int) -> Self:  # noqa: ARG003
        """A codec with AdaQP's own tradeoff and period."""
        return cls(rank, settings.seed)

    def __init__(self, rank: int, seed: int, *, tradeoff: float = 0.5, period: int = PERIOD) -> None:
        """Args: rank: the worker; seed: of the rounding; tradeoff: 1 looks at variance alone; period: in steps."""
        self._rank, self._seed, self._tradeoff, self._period = rank, seed, tradeoff, period
        self._chosen: dict[tuple[int, int, int, bool], tuple[int, Widths]] = {}

    def encode(self, x: torch.Tensor, message: HaloMessage, key: Key) -> torch.Tensor:
        """The table of widths and a message of Sylvie's format.

        Raises:
            OfframpError: a row with a value that is not finite, by its number.
        """
        label = label_of(key, self._rank, message.peer)
        widths = self._widths(x, message, key)
        layout = MessageLayout(widths, x.shape[1], BASE, compact=True)
        parts = tensors.encode(layout, x, message.rows, label, stream(self._seed, *label, key.bin))
        return torch.cat([torch.from_numpy(_table(widths)).to(parts.device), parts])

    def decode(
        self, payload: torch.Tensor, message: HaloMessage, key: Key, out: torch.Tensor, *, add: bool = False
    ) -> None:
        """Write float32 values, quantised as the table before the message says.

        Raises:
            OfframpError: not the message that ``key`` says, or damaged.
        """
        count = len(message.rows)
        size = row_bytes(count, _CODE_BITS)
        label = label_of(key, message.peer, self._rank)
        codes = np.unpackbits(payload.numpy()[:size], bitorder="little").reshape(-1, _CODE_BITS) @ (1, 2)
        if len(codes) < count or (codes[:count] >= len(WIDTHS)).any():
            raise OfframpError(f"{label}: cut off or damaged in its table of widths")
        layout = MessageLayout(np.array(WIDTHS, np.uint8)[codes[:count]], out.shape[1], BASE, compact=True)
        tensors.decode(layout, payload[size:], label, out, message.rows, add=add)

    def arrays(self, sent: Sequence[StepMessage]) -> Arrays:
        """The widths of each message's rows, and the step at which they were chosen; -1: not yet."""
        known = [self._chosen.get(_place(each), (_NEVER, None)) for each in sent]
        widths = [
            np.zeros(len(e.message.rows), np.uint8) if w is None else w for e, (_, w) in zip(sent, known, strict=True)
        ]
        since = np.array([step for step, _ in known], np.int64)
        return {"since": since, "widths": np.concatenate([np.zeros(0, np.uint8), *widths])}

    def restore(self, sent: Sequence[StepMessage], arrays: Arrays) -> None:
        """Take over the widths.

        Raises:
            OfframpError: a width that is none of AdaQP's.
        """
        at = 0
        for each, since in zip(sent, arrays["since"].tolist(), strict=True):
            widths = arrays["widths"][at : at + len(each.message.rows)].copy()
            at += len(widths)
            if since != _NEVER:
                if not np.isin(widths, WIDTHS).all():
                    raise OfframpError(
                        f"widths of {sorted(set(widths.tolist()) - set(WIDTHS))} bits: expected {WIDTHS}"
                    )
                self._chosen[_place(each)] = since, widths

    def _widths(self, x: torch.Tensor, message: HaloMessage, key: Key) -> Widths:
        place = message.peer, message.bin, key.layer, key.backward
        since, widths = self._chosen.get(place, (-self._period, None))
        if widths is None or key.step - since >= self._period:
            rows = x[message.rows]
            ranges = (rows.amax(1) - rows.amin(1)).cpu().numpy()
            weights = row_weights(ranges, 1.0 if key.backward else message.weights)
            (widths,) = balanced_widths([weights], x.shape[1], [1.0], self._tradeoff)
            self._chosen[place] = key.step, widths
        return widths


def _place(each: StepMessage) -> tuple[int, int, int, bool]:
    return each.message.peer, each.message.bin, each.layer, each.backward


def _table(widths: Widths) -> Bytes:
    codes = np.searchsorted(WIDTHS, widths).astype(np.uint8)
    bits = codes[:, None] >> np.arange(_CODE_BITS, dtype=np.uint8) & 1
    return np.packbits(bits.ravel(), bitorder="little")
