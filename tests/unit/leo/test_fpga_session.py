# SPDX-License-Identifier: Apache-2.0
"""The host's side of the request layer against a model card, over a wire that loses, doubles and delays.

Blind spot: the card here is a model; the RTL is driven in ``tests/fpga/udp``.
"""

import heapq
import random

import pytest

from fpga_card import ModelCard
from offramp.fpga.session import FIRST_RTO_S, CardRefused, CardSession
from offramp.fpga.udp import HEADER, MAGIC, DatagramStatus, DatagramType, PacketTarget

WINDOW = 8


def backwards(_, packet):
    """Engines whose answer is the request from its end."""
    return packet[::-1]


@pytest.mark.full
@pytest.mark.parametrize("first", [0, 0xFFFFFFF0])
@pytest.mark.parametrize("bad", [0.0, 0.1, 0.3])
def test_each_request_is_carried_out_once_and_answered_once(bad, first):
    dice, card, now = random.Random(7), ModelCard(WINDOW, backwards), 0.0
    session = CardSession(5, now)
    session._next = first
    answers_by_number, wire, count = {}, [], 0

    def post(way, datagram):
        nonlocal count
        for _ in range(0 if dice.random() < bad else 2 if dice.random() < bad else 1):
            count += 1
            late = dice.random() * 0.05 if dice.random() < bad else 0.0
            heapq.heappush(wire, (now + 0.001 + late, count, way, datagram))

    for number in range(500):
        packet = number.to_bytes(4, "big")
        session.request(
            PacketTarget.KVS,
            packet,
            lambda _, answer, number=number: answers_by_number.setdefault(number, []).append(answer),
        )
    while not session.idle:
        for datagram in session.due(now):
            post("card", datagram)
        now = max(now, min([session.wakes_at() + 1e-6, *(entry[0] for entry in wire[:1])]))
        while wire and wire[0][0] <= now:
            _, _, way, datagram = heapq.heappop(wire)
            if way == "host":
                session.heard(datagram, now)
            elif (reply := card.take(datagram)) is not None:
                post("host", reply)
        assert now < 1000
    assert answers_by_number == {number: [number.to_bytes(4, "big")[::-1]] for number in range(500)}
    assert sorted(card.executed) == [number.to_bytes(4, "big") for number in range(500)]
    assert bool(session.resent) == bool(bad)


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        (DatagramType.OPEN, DatagramStatus.BUSY),
        (DatagramType.OPEN, DatagramStatus.NO_SESSION),
        (DatagramType.REQUEST, DatagramStatus.NO_SESSION),
    ],
)
def test_a_card_of_another_host_is_refused(kind, outcome):
    reply = {"magic": MAGIC, "kind": kind, "session": 5, "outcome": outcome}
    with pytest.raises(CardRefused, match="the card"):
        CardSession(5, 0.0).heard(HEADER.encode(reply), 0.1)


def test_what_is_no_answer_of_the_session_changes_nothing():
    session = CardSession(5, 0.0)
    good = {"magic": MAGIC, "kind": DatagramType.OPEN, "session": 5, "window": 8, "cycles": 1}
    for wrong in (good | {"magic": 1}, good | {"session": 6}, good | {"window": 0}, good | {"kind": 9}):
        session.heard(HEADER.encode(wrong), 0.1)
    session.heard(b"OF", 0.1)
    assert not session.opened


@pytest.mark.parametrize("outcome", [DatagramStatus.DONE, DatagramStatus.NO_SESSION])
def test_a_card_is_told_that_it_is_free_until_it_answers(outcome):
    card, session = ModelCard(WINDOW, backwards), CardSession(5, 0.0)
    (opening,) = session.due(0.0)
    session.heard(card.take(opening), 0.01)
    session.close()
    datagrams = []
    while len(datagrams) < 3:  # two are lost
        now = session.wakes_at() + 1e-6 if datagrams else 0.01
        datagrams += session.due(now)
        assert session.due(now) == []
        assert not session.closed
    assert {HEADER.decode(each)["kind"] for each in datagrams} == {DatagramType.CLOSE}
    session.heard(HEADER.encode(HEADER.decode(datagrams[0]) | {"outcome": outcome}), now)
    assert session.closed
    assert session.due(now + 100) == []


def heard(session, kind, now, **fields):
    reply = {"magic": MAGIC, "kind": kind, "session": 5, "outcome": DatagramStatus.DONE} | fields
    session.heard(HEADER.encode(reply), now)


def opened(took=0.016, window=2):
    """A session from time 0 on whose card has agreed after so long."""
    session = CardSession(5, 0.0, most_rto_s=10.0)
    assert len(session.due(0.0)) == 1
    heard(session, DatagramType.OPEN, took, window=window, cycles=250, lines=64)
    return session


def test_a_card_agrees_with_all_that_it_says_or_not_at_all():
    session = CardSession(5, 0.0)
    session.due(0.0)
    for fields in ({"window": 0, "cycles": 1}, {"window": 1, "cycles": 0}, {"window": 1, "cycles": 1, "outcome": 77}):
        heard(session, DatagramType.OPEN, 0.01, **fields)
        assert not session.opened
    heard(session, DatagramType.OPEN, 0.01, window=3, cycles=250, lines=64)
    assert (session.opened, session.window, session.clock_hz, session.lines) == (True, 3, 250, 64)


def test_the_time_out_follows_rfc_6298():
    """The first way R: R + 4 R/2; later ways: 1/8 of the way and 1/4 of its difference count, the difference first."""
    session = opened(took=0.016)
    assert session._wait() == pytest.approx(0.016 + 4 * 0.008)
    session.request(PacketTarget.KVS, b"x", lambda *_: None)
    session.due(1.0)
    heard(session, DatagramType.REQUEST, 1.032, sequence=0)
    vary, smooth = 0.75 * 0.008 + 0.25 * 0.016, 0.875 * 0.016 + 0.125 * 0.032
    assert session._wait() == pytest.approx(smooth + 4 * vary)


def test_what_is_late_is_sent_again_at_its_time():
    session = opened(took=0.25)
    session.request(PacketTarget.KVS, b"x", lambda *_: None)
    assert len(session.due(1.0)) == 1
    assert session._wait() == 0.75
    assert session.due(1.5) == []
    assert session.wakes_at() == 1.75
    assert len(session.due(1.75)) == 1
    assert (session.requests, session.resent) == (1, 1)


def test_a_window_is_full_at_its_size_and_while_a_request_as_far_back_waits():
    session = opened(window=2)
    assert session.room
    for _ in range(3):
        session.request(PacketTarget.KVS, b"x", lambda *_: None)
    assert [HEADER.decode(each[: HEADER.size])["sequence"] for each in session.due(1.0)] == [0, 1]
    assert not session.room
    heard(session, DatagramType.REQUEST, 1.001, sequence=1)
    assert session.due(1.001) == []  # the card still keeps the answer to 0, in whose place 2 would be
    heard(session, DatagramType.REQUEST, 1.002, sequence=0)
    assert [HEADER.decode(each[: HEADER.size])["sequence"] for each in session.due(1.002)] == [2]
    assert session.room


def test_closing_is_said_by_the_session_alone():
    session = opened()
    session.close()
    (datagram,) = session.due(5.0)
    head = HEADER.decode(datagram[: HEADER.size])
    assert (head["kind"], head["target"], head["sequence"], head["session"]) == (DatagramType.CLOSE, 0, 0, 5)


def test_a_card_that_says_nothing_is_asked_again_after_twice_as_long_each_time():
    session = CardSession(5, 0.0, most_rto_s=100.0)
    now, waits = 0.0, []
    for _ in range(4):
        assert len(session.due(now)) == 1
        assert session.due(now) == []
        waits.append(session.wakes_at() - now)
        now = session.wakes_at()
    assert waits == pytest.approx([FIRST_RTO_S * factor for factor in (1, 2, 4, 8)])


def test_what_is_late_twice_waits_twice_as_long_and_its_answer_is_no_measurement():
    """RFC 6298, 5.5, and Karn: nobody knows which of the two an answer is to."""
    session = opened(took=0.25)
    session.request(PacketTarget.KVS, b"x", lambda *_: None)
    session.due(1.0)
    session.due(1.75)
    assert session.wakes_at() == 1.75 + 2 * 0.75
    heard(session, DatagramType.REQUEST, 1.76, sequence=0)
    session.request(PacketTarget.KVS, b"x", lambda *_: None)
    session.due(2.0)
    assert session.wakes_at() == 2.0 + 2 * 0.75
