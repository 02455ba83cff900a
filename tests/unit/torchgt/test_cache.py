# SPDX-License-Identifier: Apache-2.0
"""Clusters by the cache's size and blocks by a profile. Blind spot: whether the fastest block here is a good one."""

import pytest

from offramp.torchgt import cache
from offramp.torchgt.cache import BLOCKS, clusters_of, profiled_block, tuned
from offramp.torchgt.settings import TorchGtSettings
from offramp_base.settings.error import SettingsError


def test_the_thesiss_example() -> None:
    """An RTX 3090 has 6 MiB of L2; with d = 64 and blocks of 16 the thesis fits k = 8."""
    assert clusters_of(6 << 20, 64, 8, 16) == 8


def test_more_cache_or_narrower_layers_more_clusters() -> None:
    assert [clusters_of(size << 20, 64, 8, 16) for size in (1, 6, 40)] == [3, 8, 20]
    assert [clusters_of(6 << 20, width, 8, 16) for width in (16, 64, 768)] == [16, 8, 2]
    assert clusters_of(1, 64, 8, 16) == 1


def test_the_block_with_the_least_time() -> None:
    assert profiled_block(64, 8, lambda block: abs(block - 16)) == 16
    assert profiled_block(16, 2) in BLOCKS


def test_numbers_that_are_given_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "l2_bytes", lambda _: 6 << 20)
    monkeypatch.setattr(cache, "profiled_block", lambda *_: 32)
    assert tuned(TorchGtSettings("karate")) == TorchGtSettings("karate")
    chosen = tuned(TorchGtSettings("karate", clusters=0, block=0))
    assert (chosen.clusters, chosen.block) == (5, 32)
    assert tuned(TorchGtSettings("karate", clusters=0)).clusters == 8
    assert tuned(TorchGtSettings("karate", block=0)).clusters == 8


def test_the_size_of_this_machines_cache() -> None:
    assert cache.l2_bytes("cpu") >= 1 << 15


@pytest.mark.parametrize("field", ["clusters", "block"])
def test_a_negative_number_is_refused(field: str) -> None:
    with pytest.raises(SettingsError, match="expected a number of at least 1, or auto"):
        TorchGtSettings("karate", **{field: -1})  # type: ignore[arg-type]
