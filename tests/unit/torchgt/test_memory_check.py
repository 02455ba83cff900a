# SPDX-License-Identifier: Apache-2.0
"""Full attention that memory cannot hold is refused before training."""

from __future__ import annotations

import pytest

from offramp.torchgt.memory_check import LONG, check_full, full_bytes, resolved
from offramp_base.errors import OfframpError


def test_the_policy_follows_the_length(settings) -> None:
    assert resolved(settings(), LONG).interleave == "periodic"
    assert resolved(settings(), LONG + 1).interleave == "constructed"
    assert resolved(settings(interleave="never"), 10).interleave == "never"


def test_what_it_takes_is_near_what_was_measured(settings) -> None:
    """440 MB for 2,048 tokens, 8 heads and float32, besides the entries of 8 bytes for each pair."""
    chosen = settings(heads=8, workers=1, dtype="float32")
    assert full_bytes(chosen, 2048) - 8 * 2048**2 == pytest.approx(440e6, rel=0.1)
    assert full_bytes(settings(model="gt"), 2048) == 0


def test_only_where_it_comes_and_does_not_fit(settings) -> None:
    for changes, refused in (
        ({"attention": "full"}, True),
        ({"interleave": "periodic"}, True),
        ({"interleave": "conditions"}, True),
        ({"interleave": "constructed"}, False),
        ({"interleave": "never", "evaluate": "full"}, True),
        ({"attention": "topology"}, False),
        ({"attention": "full", "model": "gt"}, False),
    ):
        chosen = settings(**changes)
        check_full(chosen, 1000, available=10**9)
        if not refused:
            check_full(chosen, 1000, available=1)
            continue
        with pytest.raises(OfframpError) as caught:
            check_full(chosen, 100_000, available=10**9)
        assert str(caught.value) == (
            "full attention of 100,000 tokens takes 1280.0 GB, 1.0 GB are free; expected a shorter sequence, "
            "or attention topology, or interleave constructed or never"
        )
