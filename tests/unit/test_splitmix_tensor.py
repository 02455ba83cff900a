# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
import torch

from offramp import splitmix
from offramp.splitmix_tensor import mix, shifted, signed

WORDS = [0, 1, 2**62, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1, 0x9E3779B97F4A7C15]


@pytest.mark.parametrize("word", WORDS)
def test_signed_words_have_the_same_bits(word: int) -> None:
    number = signed(word)
    assert number == int(np.uint64(word).astype(np.int64))
    assert signed(word + 2**64) == signed(word - 2**64) == number


@pytest.mark.parametrize("by", [1, 30, 63])
def test_zeros_come_in_from_the_left(by: int) -> None:
    words = torch.tensor([signed(word) for word in WORDS])
    assert shifted(words, by).tolist() == [word >> by for word in WORDS]


def test_the_finaliser_is_that_on_arrays() -> None:
    words = np.concatenate([np.array(WORDS, np.uint64), np.random.default_rng(0).integers(0, 2**64, 500, np.uint64)])
    mixed = mix(torch.from_numpy(words.view(np.int64))).numpy().view(np.uint64)
    assert np.array_equal(mixed, splitmix.mix(words))
