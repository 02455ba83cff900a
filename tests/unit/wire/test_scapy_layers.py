# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from offramp.switch_packets import host_ip, host_mac
from offramp.switchgnn.wire import LANES, build_frames

pytest.importorskip("scapy", reason="scapy is not installed")

from scapy.layers.inet import IP
from scapy.layers.l2 import Ether

from scapy_layers import SwitchGNN, SwitchGNNPayload


def test_scapy_reads_what_numpy_builds() -> None:
    lanes = np.arange(-3, LANES - 3, dtype=np.int32).reshape(1, LANES)
    fields = {"src_id": 7, "dst_id": 0xFFFFFFFF, "block_id": 3, "count": 5, "chunk_id": 2, "round": 17, "ecn": 1}
    frame = next(build_frames(4, fields, 1, lanes).frames())
    packet = Ether(frame)
    assert int(packet.src.replace(":", ""), 16) == host_mac(4)
    assert packet[IP].src == "10.0.0.5"
    assert host_ip(4) == 0x0A000005
    assert {name: packet[SwitchGNN].getfieldval(name) for name in fields} == fields
    assert packet[SwitchGNNPayload].lanes == lanes[0].tolist()
    del packet[IP].chksum
    assert bytes(packet) == frame


def test_scapy_builds_what_numpy_builds() -> None:
    frame = next(build_frames(0, {"src_id": 5, "is_ack": 1, "is_fetch": 1, "round": 9}, 1).frames())
    built = (
        Ether(src="02:00:00:00:00:01", dst="02:00:00:00:ff:fe")
        / IP(src="10.0.0.1", dst="10.0.255.254", id=0)
        / SwitchGNN(src_id=5, is_ack=1, is_fetch=1, round=9)
    )
    assert bytes(built) == frame
    assert not Ether(frame).haslayer(SwitchGNNPayload)
