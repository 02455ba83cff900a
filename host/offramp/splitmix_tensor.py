# SPDX-License-Identifier: Apache-2.0
"""SplitMix64 on tensors, bit for bit like :mod:`offramp.splitmix`; words are int64, which every PyTorch device has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp.splitmix import STEPS

if TYPE_CHECKING:
    import torch

_WORD = 1 << 64


def signed(word: int) -> int:
    """The int64 with the same bits as an unsigned word."""
    word %= _WORD
    return word - _WORD if word >> 63 else word


def shifted(words: torch.Tensor, by: int) -> torch.Tensor:
    """A logical shift to the right by 1 to 63 bits."""
    return words >> by & (1 << (64 - by)) - 1


def mix(words: torch.Tensor) -> torch.Tensor:
    """The finaliser of :func:`offramp.splitmix.mix`."""
    for by, factor in STEPS:
        words = (words ^ shifted(words, by)) * signed(factor)
    return words
