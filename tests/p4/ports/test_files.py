# SPDX-License-Identifier: Apache-2.0
"""Ports on capture files: frames in the order of their times, one file for each way."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from offramp_base.errors import OfframpError
from offramp_base.wire import pcap
from offramp_p4.ports.files import CaptureSchedule, open_files
from offramp_p4.serve import build
from offramp_p4.settings import Settings

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.p4


def test_the_schedule_keeps_the_order_of_times_across_ports() -> None:
    schedule = CaptureSchedule({1: [(1, b"a"), (5, b"d")], 2: [(3, b"c"), (2, b"b")], 3: []})
    assert schedule.take(2) == []
    assert schedule.take(1) == [b"a"]
    assert schedule.take(2) == [b"b", b"c"]
    assert schedule.take(3) == []
    assert schedule.left(1)
    assert schedule.take(1) == [b"d"]
    assert not schedule.left(1)


def test_a_switch_reads_and_writes_captures(tmp_path: Path) -> None:
    frames = {1: [(n, bytes(14) + bytes([1, n])) for n in range(100)], 2: [(50, bytes(14) + b"other")]}
    for port, sent in frames.items():
        pcap.write(tmp_path / f"p{port}_in.pcap", sent)
    ports = {port: f"files:{tmp_path}/p{port}" for port in frames}
    program = str(ROOT / "p4/examples/reflector.p4")
    running = build(Settings(program=program, ports=ports, address="127.0.0.1:0", engine="python"))
    loop = threading.Thread(target=running.forward)
    loop.start()
    try:
        expected = {port: pcap.size_of(frame for _, frame in sent) for port, sent in frames.items()}
        deadline = time.monotonic() + 20
        while any((tmp_path / f"p{port}_out.pcap").stat().st_size < size for port, size in expected.items()):
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        running.stop()
        loop.join()
    for port, sent in frames.items():
        left = [frame for _, frame in pcap.read(tmp_path / f"p{port}_out.pcap")]
        assert left == [frame for _, frame in sent]


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ("", "expected files:STEM or files:STEM,wait=SECONDS"),
        ("a,wait=x", "expected files:STEM or files:STEM,wait=SECONDS"),
        ("none", "none_in.pcap: no such file; port 1 reads its frames from it"),
    ],
)
def test_golden_errors(link: str, message: str) -> None:
    with pytest.raises(OfframpError, match=message):
        open_files({1: link})
