# SPDX-License-Identifier: Apache-2.0
"""What a measured link counts, over a wire of this file; real ones carry frames in ``tests/p4/ports``."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace
from typing import Any

import pytest

from offramp_base.errors import OfframpError
from offramp_base.wire.batch import PacketBatch
from offramp_sim.transports import link
from offramp_sim.transports.report import report


class Wire:
    """A far end that reports each burst when it is asked, the last ones late; some frames are lost for good."""

    def __init__(self, lost: int = 0, late: int = 0) -> None:
        self.sent, self.arrived, self.most = 0, 0, 0
        self.lost, self._late, self.waits = lost, late, []

    def send(self, batch: PacketBatch) -> None:
        self.sent += len(batch)
        self.most = max(self.most, self.sent - self.arrived)

    def receive(self, timeout: float) -> PacketBatch:
        self.waits.append(timeout)
        ready = self.sent - self.lost - (self._late if timeout == 0.0 else 0)
        if ready <= self.arrived:
            return PacketBatch.of([])
        self.arrived = min(ready, self.arrived + link.BURST)
        return report(self.arrived)

    def close(self) -> None:
        pass


def test_the_first_burst_goes_alone_and_then_a_window(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire(late=4 * link.BURST)
    clock = iter(range(10**6))
    monkeypatch.setattr(link.time, "perf_counter", lambda: 0.001 * next(clock))
    sent, arrived, took = link._send(wire, 64, 0.05, 1)  # type: ignore[arg-type]
    assert (sent, arrived) == (wire.sent, wire.arrived)
    assert wire.waits[0] > 0  # nothing else is sent before the first report
    assert link.BURST < wire.most <= link.WINDOW + link.BURST
    assert 0.05 <= took < 0.1


def test_what_is_under_way_is_waited_for_and_what_is_lost_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire(lost=3)
    monkeypatch.setattr(link, "open_io", lambda name: wire)
    monkeypatch.setattr(
        link, "_send", lambda io, *_: (io.send(PacketBatch.of([(0, b"x")] * 1000)), (1000, 256, 2.0))[1]
    )
    process: Any = SimpleNamespace(stdin=io.StringIO(), stdout=io.StringIO(json.dumps({"received": 997}) + "\n"))
    rate = link._play("unix", "unix:x", process, 64, 1.0, 1)
    assert (rate.frames, rate.lost, rate.seconds) == (256, 3, 2.0)
    assert wire.arrived == 997
    assert process.stdin.closed


def test_a_far_end_that_does_not_start_says_why() -> None:
    with (
        pytest.raises(OfframpError, match=r"^far end of the link: last line$"),
        link._far_end(["sh", "-c", "echo first >&2; echo last line >&2", "--"], "unix:x"),
    ):
        pass
