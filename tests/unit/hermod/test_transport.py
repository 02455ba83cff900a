# SPDX-License-Identifier: Apache-2.0
"""Both ends of a flow over a line that loses, and frames against scapy. Blind to congestion control: there is none."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp_sim.hermod.framing import (
    FlowFrames,
    NicAddress,
    ReceivedFrame,
    acknowledgement,
    acknowledgement_head,
    goodput,
    parse,
)
from offramp_sim.hermod.transport import FlowReceiver, FlowSender


@given(
    packets=st.integers(1, 60),
    window=st.integers(1, 12),
    loss=st.floats(0, 0.6),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=150, derandomize=True, deadline=None)
def test_everything_arrives_once_and_the_window_is_kept(packets: int, window: int, loss: float, seed: int) -> None:
    """Lines in order with a delay of a few packets; the timer goes off when nothing is under way."""
    rng = random.Random(seed)
    sender, receiver = FlowSender(packets, window), FlowReceiver(packets)
    there: list[int] = []
    back: list[tuple[int, int]] = []
    for _ in range(100_000):
        if sender.done:
            break
        if sender.may_send(packets):
            sequence = sender.take()
            assert len(sender.in_flight) <= window
            if rng.random() >= loss:
                there.append(sequence)
        elif not there and not back:
            sender.times_out()
        if there and rng.random() < 0.7:
            sequence = there.pop(0)
            if receiver.arrives(sequence) and rng.random() >= loss:
                back.append((sequence, receiver.received))
        if back and rng.random() < 0.7:
            sender.acknowledged(*back.pop(0))
    assert sender.done
    assert receiver.complete
    assert sender.sent - sender.retransmitted == packets


def test_a_packet_that_was_overtaken_goes_again_without_a_timer() -> None:
    sender, receiver = FlowSender(10, 8), FlowReceiver(10)
    sent = [sender.take() for _ in range(6)]
    for sequence in sent:
        if sequence != 2 and receiver.arrives(sequence):
            sender.acknowledged(sequence, receiver.received)
    assert list(sender.lost) == [2]
    assert sender.take() == 2
    assert sender.retransmitted == 1


@pytest.mark.full
def test_frames_are_rocev2_to_scapy() -> None:
    scapy = pytest.importorskip("scapy.all")
    from scapy.contrib.roce import BTH

    frames = FlowFrames.data(NicAddress(3), NicAddress(5, path=2), 46, 0x012345, 4096, 100)
    for frame, sequence, payload in ((frames.packet(7), 7, 4096), (frames.last_packet(9), 9, 100)):
        assert parse(frame) == ReceivedFrame(0x012345, sequence, None)
        read = scapy.Ether(frame)
        assert (read.dst, read.src) == ("02:00:00:02:00:05", "02:00:00:00:00:03")
        ip = read[scapy.IP]
        assert (ip.tos >> 2, ip.dst, ip.len) == (46, "10.2.0.5", len(frame) - 14)
        fresh = ip.copy()
        del fresh.chksum
        assert scapy.IP(bytes(fresh)).chksum == ip.chksum
        assert ip[scapy.UDP].dport == 4791
        assert (ip[BTH].dqpn, ip[BTH].psn) == (0x012345, sequence)
        assert len(frame) == 14 + 20 + 8 + 12 + payload + 4
    answer = acknowledgement(acknowledgement_head(NicAddress(5), NicAddress(3), 63, 9), 70, 71)
    assert parse(answer) == ReceivedFrame(9, 70, 71)
    assert scapy.Ether(answer)[BTH].opcode == 0x11
    assert goodput(4096) == pytest.approx(4096 / (4096 + 58 + 24))
