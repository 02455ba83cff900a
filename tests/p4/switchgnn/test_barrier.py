# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from offramp.switch_packets import SWITCH_IP, SWITCH_MAC
from offramp.switchgnn.wire import NO_ID, SWITCHGNN, build_frames
from offramp_base.wire.batch import PacketBatch
from offramp_base.wire.ethernet import BROADCAST_IP, BROADCAST_MAC, ETHERNET, IPV4, ipv4_checksum
from offramp_sim.switchgnn.jobs import six_vertices
from switchgnn_senders import from_senders

pytestmark = pytest.mark.p4


def done(host: int, round_: int, block: int = 3) -> bytes:
    fields = {"src_id": host, "block_id": block, "is_ack": 1, "is_fetch": 1, "round": round_}
    return next(build_frames(0, fields, 1).frames())


def gos(target, *frames: bytes) -> list[tuple[int, int]]:
    """(port, round) of each GO that the frames cause."""
    out = target.process(from_senders(frames))
    return sorted((port, SWITCHGNN.decode(frame[34:])["round"]) for port, frame in out)


def test_golden_barrier(make_target) -> None:
    """Specification section 14.9; hosts 0, 1, 2 are on ports 1, 2, 3."""
    target = make_target(six_vertices())
    target.set_round(5)
    assert gos(target, done(0, 5), done(0, 5), done(2, 5)) == []
    assert gos(target, done(1, 5)) == [(1, 6), (2, 6), (3, 6)]
    assert gos(target, done(2, 5)) == [(3, 6)]
    assert gos(target, done(1, 6)) == []
    counts = target.counters()
    assert (counts["done"], counts["done_repeated"], counts["go"], counts["go_repeated"]) == (4, 1, 1, 1)
    assert gos(target, done(0, 6), done(2, 6)) == [(1, 7), (2, 7), (3, 7)]


def test_go_is_a_well_formed_frame_from_the_switch(make_target) -> None:
    target = make_target(six_vertices())
    target.set_round(17)
    out = list(target.process(PacketBatch.of((1 + h, done(h, 17)) for h in range(3))))
    assert [port for port, _ in out] == [1, 2, 3]
    for _, frame in out:
        assert len(frame) == 50
        ethernet, ip = ETHERNET.decode(frame), IPV4.decode(frame[14:])
        assert (ethernet["dst_addr"], ethernet["src_addr"]) == (BROADCAST_MAC, SWITCH_MAC)
        assert (ip["dst_addr"], ip["src_addr"]) == (BROADCAST_IP, SWITCH_IP)
        assert ipv4_checksum(frame[14:34]) == 0
        assert frame[34:].hex() == "ffffffffffffffff00040003c0000012"


def test_the_first_round_is_a_start_barrier(make_target) -> None:
    target = make_target(six_vertices())
    assert gos(target, done(0, 0), done(0, 0), done(1, 0)) == []
    assert gos(target, done(2, 0)) == [(1, 1), (2, 1), (3, 1)]


def test_rounds_skip_zero_when_they_wrap(make_target) -> None:
    target = make_target(six_vertices())
    target.set_round(65535)
    assert gos(target, *(done(h, 65535) for h in range(3))) == [(1, 1), (2, 1), (3, 1)]
    assert gos(target, done(1, 65535)) == [(2, 1)]
    assert gos(target, *(done(h, 1) for h in range(3))) == [(1, 2), (2, 2), (3, 2)]


def test_a_host_that_missed_several_gos_is_told_the_current_round(make_target) -> None:
    target = make_target(six_vertices())
    target.set_round(9)
    assert gos(target, done(2, 4)) == [(3, 9)]


def test_half_of_all_rounds_are_past_and_half_are_to_come(make_target) -> None:
    target = make_target(six_vertices())
    target.set_round(40000)
    assert gos(target, done(0, 40000 - 0x7FFF)) == [(1, 40000)]
    assert gos(target, done(0, 40000 - 0x8000)) == []
    assert target.counters()["stale"] == 1


def test_a_round_that_has_not_come_and_a_host_that_is_not_announced_change_nothing(make_target) -> None:
    target = make_target(six_vertices())
    target.set_round(5)
    assert gos(target, done(0, 6), done(1, 6), done(2, 6), done(3, 5), done(NO_ID, 5), done(77, 4)) == []
    counts = target.counters()
    assert (counts["stale"], counts["unknown"], counts["done"]) == (3, 3, 0)
    assert gos(target, *(done(h, 5) for h in range(3))) == [(1, 6), (2, 6), (3, 6)]


@pytest.mark.parametrize("round_", [1, 0x7FFF, 0x8000, 0xFFFF])
def test_any_round_can_be_taken_up(make_target, round_: int) -> None:
    target = make_target(six_vertices())
    assert gos(target, done(1, round_)) == [(port, round_) for port in (1, 2, 3)]


def test_a_switch_that_lost_its_round_takes_that_of_a_done(make_target) -> None:
    """Hosts 0 and 1 wait in round 7, host 2 in round 6; the registers are those of a fresh switch."""
    target = make_target(six_vertices())
    assert gos(target, done(2, 6)) == [(1, 6), (2, 6), (3, 6)]  # which nobody waits for
    assert gos(target, done(2, 6), done(0, 7), done(0, 6)) == []
    assert gos(target, done(1, 6)) == [(1, 7), (2, 7), (3, 7)]
    assert gos(target, done(0, 7), done(1, 7), done(2, 7)) == [(1, 8), (2, 8), (3, 8)]
    counts = target.counters()
    assert (counts["resumed"], counts["stale"], counts["go"]) == (1, 1, 3)


def test_what_was_counted_before_a_round_was_taken_up_is_forgotten(make_target) -> None:
    target = make_target(six_vertices())
    assert gos(target, done(0, 0), done(1, 0)) == []
    assert gos(target, done(0, 3)) == [(1, 3), (2, 3), (3, 3)]
    assert gos(target, done(0, 3), done(1, 3)) == []
    assert gos(target, done(2, 3)) == [(1, 4), (2, 4), (3, 4)]


def test_a_stranger_gives_no_round(make_target) -> None:
    target = make_target(six_vertices())
    assert gos(target, done(3, 6), done(NO_ID, 6)) == []
    assert gos(target, *(done(h, 0) for h in range(3))) == [(1, 1), (2, 1), (3, 1)]
