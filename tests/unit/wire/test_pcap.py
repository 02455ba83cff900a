# SPDX-License-Identifier: Apache-2.0
"""Captures of other programs are read, or refused in one line."""

import struct

import pytest

from offramp_base.errors import OfframpError
from offramp_base.wire import pcap

FRAMES = [(1_700_000_000_000_001, b"first" * 4), (1_700_000_000_999_999, b""), (1_700_000_001_000_000, b"x" * 1500)]


def capture(order, magic, per_us, link=1):
    head = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, link)
    rows = [
        struct.pack(order + "IIII", us // 1_000_000, us % 1_000_000 * per_us, len(f), len(f)) + f for us, f in FRAMES
    ]
    return head + b"".join(rows)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("magic", "per_us"), [(0xA1B2C3D4, 1), (0xA1B23C4D, 1000)])
def test_either_byte_order_and_unit(tmp_path, order, magic, per_us):
    path = tmp_path / "some.pcap"
    path.write_bytes(capture(order, magic, per_us))
    assert pcap.read(path) == FRAMES
    path.write_bytes(capture(order, magic, per_us, link=1 | 0x50000000))  # with the length of a check sequence
    assert pcap.read(path) == FRAMES


def test_what_was_written_is_read_at_every_length(tmp_path):
    path = tmp_path / "growing.pcap"
    assert pcap.read(path) == []
    pcap.write(path, FRAMES)
    whole = path.read_bytes()
    assert whole == capture("<", 0xA1B2C3D4, 1)
    assert len(whole) == pcap.size_of(frame for _, frame in FRAMES)
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        assert pcap.read(path) == FRAMES[: len(pcap.read(path))]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"\x0a\x0d\x0d\x0a" + bytes(40), "pcapng"),
        (b"GET / HTTP/1.1\r\nHost: example\r\n", "expected a capture in the format pcap"),
        (capture("<", 0xA1B2C3D4, 1, link=105), "Ethernet"),
    ],
)
def test_others_are_refused_by_name(tmp_path, content, what):
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(OfframpError, match=f"{path}.*{what}"):
        pcap.read(path)


def test_bmv2s_captures_name_no_link(tmp_path):
    path = tmp_path / "p1_out.pcap"
    path.write_bytes(capture("<", 0xA1B2C3D4, 1, link=0))
    with pytest.raises(OfframpError, match="expected a capture of Ethernet frames"):
        pcap.read(path)
    assert pcap.read(path, of_bmv2=True) == FRAMES
