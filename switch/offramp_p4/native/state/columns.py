# SPDX-License-Identifier: Apache-2.0
"""Columns of a batch as what machine code reads: keys of words, rows of actions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from offramp_p4.native.actions import ActionRow
from offramp_p4.native.keys import KeyFormat
from offramp_p4.native.shape import container
from offramp_p4.native.state.context import Words
from offramp_p4.state.batch import Column, EntryBatch, as_unsigned

_WORD = 64


def key_words(key: KeyFormat, batch: EntryBatch) -> Words:
    """The keys of a batch, concatenated, of shape ``(n, words)``."""
    words = np.zeros((len(batch), key.words), np.uint64)
    at = sum(key.widths)
    for i in key.order:
        at -= key.widths[i]
        for number, part in enumerate(_words(batch.keys[i])):
            word, shift = divmod(at + _WORD * number, _WORD)
            words[:, word] |= part << np.uint64(shift)
            if shift and word + 1 < key.words:
                words[:, word + 1] |= part >> np.uint64(_WORD - shift)
    return words.view(np.int64)


def action_rows(action: ActionRow, size: int, batch: EntryBatch) -> npt.NDArray[np.uint8]:
    """The rows of a batch's action with its data, of ``size`` bytes each."""
    rows = np.zeros((len(batch), size), np.uint8)
    rows[:, :4] = np.frombuffer(action.number.to_bytes(4, "little"), np.uint8)
    for values, (at, width) in zip(batch.args, action.cells, strict=True):
        raw = np.ascontiguousarray(as_unsigned(values)).view(np.uint8).reshape(len(batch), -1)
        held = min(container(width), raw.shape[1])
        rows[:, at : at + held] = raw[:, :held]
    return rows


def _words(values: Column) -> list[Column]:
    """The words of a column, the lowest first."""
    whole = as_unsigned(values)
    return [whole] if whole.ndim == 1 else [whole[:, i] for i in range(whole.shape[1])]
