# SPDX-License-Identifier: Apache-2.0
"""Frames heard late, and on the monotonic clock, though somebody sets the system clock meanwhile."""

from __future__ import annotations

import socket
import struct
import time
from itertools import count
from types import SimpleNamespace
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


class Heard:
    """A socket with one frame on it, and the time that the kernel has given it."""

    def __init__(self, frame: bytes, seconds: int, nanoseconds: int, packet_type: int = 0) -> None:
        ancillary = [(socket.SOL_SOCKET, 35, struct.pack("@qq", seconds, nanoseconds))]
        self._row = frame, ancillary, 0, ("s1p1", 0x800, packet_type, 1, b"")

    def recvmsg(self, size: int, ancillary: int) -> tuple[bytes, list[tuple[int, int, bytes]], int, tuple[object, ...]]:
        del ancillary
        return (self._row[0][:size], *self._row[1:])


def hermod_frame(port: int = 47810, kind: int = 0, rank: int = 3, message: int = 9) -> bytes:
    """Ethernet, IPv4 and UDP, and the header of Hermod's DATA behind them."""
    udp = (4000).to_bytes(2, "big") + port.to_bytes(2, "big") + bytes(4)
    return bytes(34) + udp + struct.pack(">BxHI", kind, rank, message) + b"payload"


def test_data_alone_are_recorded_on_the_monotonic_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire_tap, "_listen", lambda _: None)
    tap = wire_tap.WireTap([], [])
    tap._lead = SimpleNamespace(now=lambda: 2_000_000_000)  # type: ignore[assignment]
    sockets = [Heard(hermod_frame(), 5, 17), Heard(hermod_frame(rank=1), 4, 0)]
    others = [
        Heard(hermod_frame(port=47811), 5, 0),
        Heard(hermod_frame(kind=1), 5, 0),
        Heard(hermod_frame()[:49], 5, 0),
        Heard(hermod_frame(), 5, 0, packet_type=4),
    ]
    tap._sockets = [*sockets, *others]  # type: ignore[list-item]
    for each in (*tap._sockets, tap._sockets[0]):
        tap._receive(each)
    assert tap._heard == [(3_000_000_017, 0, 3, 9), (2_000_000_000, 1, 1, 9), (3_000_000_017, 0, 3, 9)]
    assert [(each.at_ns, each.where) for each in tap.moments()] == [
        (2_000_000_000, "switch"),
        (3_000_000_017, "switch"),
    ]
