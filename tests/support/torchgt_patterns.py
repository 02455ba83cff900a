# SPDX-License-Identifier: Apache-2.0
"""Attention patterns small enough for dense checks."""

from __future__ import annotations

from typing import Any

import numpy as np

from offramp.torchgt.pattern import Pattern, pair_keys, pattern_of


def some_bucket(rows: Any, columns: Any) -> Any:
    """A bucket of four for any pair."""
    return (rows * 7 + columns * 3) % 4


def random_pattern(tokens: int, degree: int, seed: int = 0, *, loops: bool = True) -> Pattern:
    """Uniform pairs, each row with its own loop."""
    rng = np.random.default_rng(seed)
    keys = pair_keys(tokens, rng.integers(0, tokens, tokens * degree), rng.integers(0, tokens, tokens * degree))
    if loops:
        keys = np.concatenate([keys, np.arange(tokens) * (tokens + 1)])
    return pattern_of(tokens, keys, some_bucket)
