# SPDX-License-Identifier: Apache-2.0
"""The most switches and ports that a network of dimensions may have."""

from __future__ import annotations

import pytest

from offramp.cluster.formats import Defaults, npus
from offramp.cluster.model import ClusterDimension

GRID = tuple(ClusterDimension(type="switch", size=size, rate_bps=10**9) for size in (2, 3))  # 6 routers, 3 + 2 switches


@pytest.mark.parametrize(
    ("name", "fits"), [("MOST_SWITCHES", 11), ("MOST_PORTS", 3), ("MOST_HOSTS", 6), ("MOST_LINKS", 18)]
)
def test_a_network_has_as_many_as_fit(monkeypatch: pytest.MonkeyPatch, name: str, fits: int) -> None:
    monkeypatch.setattr(npus, name, fits)
    parts = npus.joined(GRID, Defaults())
    assert parts is not None
    assert [len(parts[kind]) for kind in ("hosts", "switches", "links")] == [6, 11, 6 + 6 + 6]
    monkeypatch.setattr(npus, name, fits - 1)
    assert npus.joined(GRID, Defaults()) is None
