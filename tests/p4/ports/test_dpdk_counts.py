# SPDX-License-Identifier: Apache-2.0
"""Counts of a port of DPDK, from a library of this file; real devices are in ``test_dpdk_ports.py``."""

from __future__ import annotations

from typing import Any

import pytest

from offramp_p4.ports.dpdk.port import DpdkPort

pytestmark = pytest.mark.p4


class Library:
    """A library whose one port has the counts that are given, and may not know them."""

    def __init__(self) -> None:
        self.knows, self.counts, self.closed = True, {"received": 5, "sent": 4, "dropped": 3, "missed": 2, "up": 1}, []

    def open(self, *_: Any) -> int:
        return 0

    def check(self, *_: Any) -> None:
        pass

    def port_stats_of(self, _: int, counts: Any) -> int:
        for name, count in self.counts.items():
            setattr(counts._obj, name, count)
        return 0 if self.knows else -1

    def close(self, number: int) -> None:
        self.closed.append(number)


def test_counts_are_the_device_s_as_long_as_it_says_any() -> None:
    library: Any = Library()
    port = DpdkPort(library, "dpdk:net_null0", 3, 1)
    assert (port.stats.received, port.stats.sent, port.stats.dropped, port.stats.missed) == (5, 4, 3, 2)
    assert port.up
    library.counts |= {"received": 9, "up": 0}
    library.knows = False
    port.tick(1.0)
    assert (port.stats.received, port.up) == (5, True)
    library.knows = True
    port.tick(2.0)
    assert (port.stats.received, port.up) == (9, False)
    port.close()
    assert library.closed == [3]
