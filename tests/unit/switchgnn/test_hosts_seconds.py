# SPDX-License-Identifier: Apache-2.0
"""Seconds of the messages between hosts: links or the busiest host decide, and nothing takes no time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from offramp.switchgnn import cost


@pytest.mark.parametrize(
    ("octets", "packets", "seconds"),
    [(1000, [[0, 1], [1, 0]], 8e-3), (10, [[0, 7], [3, 0]], 10e-3), (1000, [[0, 0], [0, 0]], None)],
)
def test_links_or_the_busiest_host_decide(
    monkeypatch: pytest.MonkeyPatch, octets: int, packets: list[list[int]], seconds: float | None
) -> None:
    monkeypatch.setattr(cost, "hosts_bytes", lambda _: octets)
    plan: Any = SimpleNamespace(by_hosts=SimpleNamespace(packets=np.array(packets)))
    rates: Any = SimpleNamespace(link_bps=1e6, host_pps=1e3, delay_s=1e-4)
    assert cost._hosts_seconds(plan, rates) == pytest.approx(0 if seconds is None else seconds + 2e-4)
