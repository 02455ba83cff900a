# SPDX-License-Identifier: Apache-2.0
"""The reason for which a gress drops a packet, by the lowest bit of ``drop_ctl``."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from offramp_p4.tna.thread import GressThread

pytestmark = pytest.mark.p4


@pytest.mark.parametrize("where", ["ingress", "egress"])
@pytest.mark.parametrize(
    ("drop_ctl", "stops"), [(0, False), (1, True), (2, False), (4, False), (5, True), (6, False), (7, True)]
)
def test_only_the_lowest_bit_drops(where: str, drop_ctl: int, stops: bool) -> None:
    """The other bits are those of copies to the CPU and mirrors."""
    control = object()
    thread = object.__new__(GressThread)
    thread._gress = SimpleNamespace(control=control)  # type: ignore[assignment]
    thread._ingress = where == "ingress"
    thread._wanted = {"ucast_egress_port": 0, "drop_ctl": 1}
    memory = [9, drop_ctl]
    assert thread.dropped(control, memory) == (f"drop_ctl is {drop_ctl} after {where}" if stops else None)
    assert thread.dropped(object(), memory) is None
