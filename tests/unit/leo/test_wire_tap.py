# SPDX-License-Identifier: Apache-2.0
"""Frames heard late, and on the monotonic clock, though somebody sets the system clock meanwhile."""

from __future__ import annotations

import socket
import time
from itertools import count
from typing import TYPE_CHECKING

from offramp_sim.leo import wire_tap

if TYPE_CHECKING:
    import pytest


def test_a_system_clock_that_is_set_between_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks, ahead = count(0, 10), [7_000]
    monkeypatch.setattr(time, "monotonic_ns", lambda: next(ticks))
    monkeypatch.setattr(time, "time_ns", lambda: next(ticks) + ahead[0])
    lead = wire_tap._Lead()
    assert lead.now() == 7_000
    ahead[0] = 3_000_000
    assert lead.now() == 3_000_000


def test_a_reading_that_was_interrupted_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0, 10] * wire_tap._SAMPLES + [0, 5_000])
    monkeypatch.setattr(time, "monotonic_ns", lambda: next(times))
    monkeypatch.setattr(time, "time_ns", lambda: 905)
    lead = wire_tap._Lead()
    assert lead.now() == 900


def test_frames_received_before_the_end_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    heard: list[bytes] = []
    monkeypatch.setattr(wire_tap, "_listen", lambda _: near)
    monkeypatch.setattr(wire_tap.WireTap, "_receive", lambda _, sock: heard.append(sock.recv(16)))
    tap = wire_tap.WireTap(["s1"], [])
    for number in range(3):
        far.send(bytes([number]))
    tap._end_write.send(b"!")  # the end comes before the thread has read anything
    with tap, far:
        pass
    assert heard == [b"\0", b"\1", b"\2"]
