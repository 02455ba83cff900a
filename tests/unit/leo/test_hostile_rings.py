# SPDX-License-Identifier: Apache-2.0
"""Rings that the peer writes as it likes: impossible entries end the connection with a line, and nothing else changes.

What these cannot see: reads outside of the rings that happen to hit memory of this process.
"""

from __future__ import annotations

import logging
import struct
import threading

import numpy as np
import pytest

from leo_hostile import HEAD, ROWS, STRIDE, TAIL, answers, connected, hello, responder, ring_info
from offramp.device import Status
from offramp.leo.native.journal import MOST_ANSWER, Journal, KeptAnswer
from offramp.leo.native.machine import machine
from offramp.leo.native.ring import ONCE
from offramp.leo.runtime import responder as module
from offramp_base.native import ring
from offramp_base.native.ring_end import make_end, ring_words

F = machine(ring.reserve, ring.publish_ring, ring.front, ring.pass_over, ring.give_back)
SIZE = 4096
ECHO, READ, WRITE, ADD, REVERSE = range(5)


def ends(longest=None):
    words = np.zeros(ring_words(SIZE), np.int64)
    return make_end(SIZE, words), make_end(SIZE, words, longest), words


def steps(server, count=4):
    for _ in range(count):
        server.step()


# --- the ring itself


@pytest.mark.parametrize("length", [-2, -(2**62), -(2**63), 2**62, 2**63 - 1, SIZE, SIZE - 39, 1 << 32])
def test_a_length_that_cannot_be(length):
    _, consumer, words = ends()
    words[16], words[HEAD] = length, SIZE
    assert F["front"](consumer.words) == ring.NOTHING
    assert consumer.fault == "a message of an impossible length"


@pytest.mark.parametrize("head", [-1, -8, SIZE + 1, SIZE + 8, 2**62, -(2**63)])
def test_a_head_outside_the_ring(head):
    _, consumer, words = ends()
    words[HEAD] = head
    assert F["front"](consumer.words) == ring.NOTHING
    assert consumer.fault == "a position outside the ring"


@pytest.mark.parametrize("tail", [1, 8, 2**62, -(2**63), -SIZE - 8])
def test_a_tail_outside_the_ring(tail):
    producer, _, words = ends()
    words[TAIL] = tail
    assert F["reserve"](producer.words, 8) == ring.NOTHING
    assert producer.fault == "a position outside the ring"


def test_a_ring_that_skips_for_ever():
    """A word of -1 where a ring begins says nothing; twice in a row it would send its reader round and round."""
    _, consumer, words = ends()
    words[16], words[HEAD] = ring.SKIP, SIZE
    assert F["front"](consumer.words) == ring.NOTHING
    assert consumer.fault == "a message of an impossible length"


def test_the_longest_entries_that_fit_and_the_first_that_does_not():
    producer, consumer, _ = ends()
    assert F["reserve"](producer.words, SIZE - 40 + 1) == ring.NOTHING
    assert F["reserve"](producer.words, SIZE - 40) == 0
    producer, consumer, words = ends(longest=100)
    for length, fault in ((100, ""), (101, "a message of an impossible length")):
        words[16], words[HEAD] = length, 40 + 104
        F["front"](consumer.words)
        assert consumer.fault == fault


@pytest.mark.parametrize("spare", [-8, 0, 8])
def test_an_entry_that_wraps_needs_the_rest_of_the_ring_and_itself(spare):
    """It fits if the rest and its own bytes are free, to the byte: one word less and it must not."""
    producer, _, words = ends()
    need = 40 + 200
    rest = 80
    assert F["reserve"](producer.words, SIZE - rest - 40) == 0
    words[TAIL] = need + spare
    place = F["reserve"](producer.words, 200)
    assert place == (0 if spare >= 0 else ring.NOTHING)
    assert not producer.fault
    if place == 0:
        assert words[16 + (SIZE - rest) // 8] == ring.SKIP
        assert producer.position == SIZE + need


@pytest.mark.parametrize("spare", [-8, 0])
def test_an_entry_that_does_not_wrap_needs_its_own_bytes(spare):
    producer, _, words = ends()
    assert F["reserve"](producer.words, SIZE // 2 - 40) == 0
    assert F["reserve"](producer.words, SIZE // 2 - 40) == SIZE // 2
    words[TAIL] = 240 + spare
    assert F["reserve"](producer.words, 200) == (0 if spare >= 0 else ring.NOTHING)


def test_who_rewrites_a_length_after_it_was_checked_changes_nothing():
    """The length that was checked is the one that is passed over."""
    producer, consumer, words = ends()
    for _ in range(2):
        F["reserve"](producer.words, 16)
    F["publish_ring"](producer.words)
    words[16] = words[16 + 7] = 16
    assert F["front"](consumer.words) == 0
    words[16] = 2**62
    F["pass_over"](consumer.words)
    assert consumer.position == 56
    assert F["front"](consumer.words) == 56


# --- the responder


@pytest.mark.parametrize("length", [-(2**62), -1, 2**62, 2 * STRIDE + 1])
def test_an_entry_of_an_impossible_length_ends_the_connection_and_no_other(length, caplog):
    with responder() as server, caplog.at_level(logging.WARNING, "offramp.leo"):
        good = connected(server, hello(owner=9))
        bad = connected(server)
        bad.put(length, b"12345678", (1, 0, 0, ring_info(ECHO)))
        steps(server)
        assert server.connected == 1
        assert server.refused == {"a message of an impossible length": 1}
        (line,) = caplog.messages
        assert line == "requester 7: connection ended: the peer has written a message of an impossible length"
        good.put(5, b"hello", (1, 0, 0, ring_info(ECHO)))
        steps(server)
        assert answers(good) == [(1, Status.OK, b"hello")]


@pytest.mark.parametrize("seed", range(30))
def test_random_bytes_end_the_connection(seed):
    with responder() as server:
        link = connected(server)
        rng = np.random.default_rng(seed)
        link.requests[16:] = rng.integers(-(2**63), 2**63 - 1, len(link.requests) - 16)
        link.requests[HEAD] = int(rng.integers(8, link.received.size + 1)) & ~7
        before = server.service.host.segment.words.copy()
        steps(server)
        assert server.connected == 0
        assert (server.service.host.segment.words == before).all()


@pytest.mark.parametrize(("number", "trip"), [(ROWS, 0), (0xFFFF, 0), (1, 4), (1, 255), (-1, 0), (1 << 20 | 0xFFFF, 3)])
@pytest.mark.parametrize("flags", [0, ONCE])
def test_rows_and_trips_that_the_journal_does_not_have(number, trip, flags):
    with responder() as server:
        link = connected(server)
        before = server.service.host.segment.words.copy()
        link.put(16, struct.pack("<qq", 0, 1), (number, 0, 0, ring_info(ADD, trip=trip, flags=flags)))
        steps(server)
        assert server.refused == {"a request of a row or round trip that it does not have": 1}
        assert (server.service.host.segment.words == before).all()


@pytest.mark.parametrize("function", [ECHO, READ, REVERSE])
def test_an_answer_that_a_journal_cannot_keep(function):
    """Executed once at most means that the answer is kept; what is longer than that is refused."""
    with responder() as server:
        link = connected(server)
        journal = server._connections[0].journal.copy()
        message = struct.pack("<qI", 0, MOST_ANSWER + 1) if function == READ else bytes(MOST_ANSWER + 1)
        link.put(len(message), message, (1, 0, 0, ring_info(function, flags=ONCE)))
        steps(server)
        ((number, status, answer),) = answers(link)
        assert (number, answer) == (1, b"")
        assert status in (Status.BAD_LENGTH, Status.OUT_OF_BOUNDS)
        changed = np.flatnonzero(server._connections[0].journal != journal)
        first = Journal.WORDS + 4 * KeptAnswer.WORDS
        assert all(place < 8 or first <= place < first + 4 for place in changed)


@pytest.mark.parametrize("offset", [-8, -1, 4096 - 7, 4096, 1 << 62, -(1 << 63)])
@pytest.mark.parametrize("function", [READ, WRITE, ADD])
def test_one_sided_operations_outside_of_the_memory(function, offset):
    with responder() as server:
        link = connected(server)
        rest = struct.pack("<I", 8) if function == READ else bytes(8)
        message = struct.pack("<q", offset) + rest
        link.put(len(message), message, (1, 0, 0, ring_info(function)))
        steps(server)
        assert [(status, m) for _, status, m in answers(link)] == [(Status.OUT_OF_BOUNDS, b"")]


def test_functions_and_devices_that_were_not_announced():
    pairs = frozenset({("cpu", "echo")})
    with responder() as server:
        link = connected(server, hello(pairs=pairs))
        for number, what in enumerate(((255, 0), (ECHO, 1), (REVERSE, 0), (ECHO, 200), (0xFFFF, 255))):
            link.put(8, bytes(8), (number, 0, 0, ring_info(*what)))
        steps(server)
        assert {status for _, status, _ in answers(link)} == {Status.UNKNOWN_FUNCTION}


def test_a_message_that_is_rewritten_while_it_is_executed():
    """A thread flips an address between one inside and one outside of the memory: every answer is one or the other."""
    with responder() as server:
        link = connected(server)
        server.service.host.memory[:] = 0x55
        stop = threading.Event()
        place = 16 + 5

        def flip():
            while not stop.is_set():
                link.requests[place] = 0
                link.requests[place] = 1 << 40

        thread = threading.Thread(target=flip)
        thread.start()
        try:
            for _ in range(400):
                link.requests[HEAD] = link.requests[TAIL]
                at = int(link.requests[HEAD]) & (link.received.size - 1)
                if at + 56 > link.received.size:
                    break
                place = 16 + at // 8 + 5
                link.put(12, struct.pack("<qI", 0, 8), (1, 0, 0, ring_info(READ)))
                steps(server, 1)
                for _, status, answer in answers(link):
                    assert (status, answer) in {(0, struct.pack("<q", 0x55)), (Status.OUT_OF_BOUNDS, b"")}
        finally:
            stop.set()
            thread.join()
        assert server.connected == 1


def test_a_requester_that_does_not_read_its_answers_has_to_wait(monkeypatch):
    """Requests that wait in Python are bounded: beyond, the ring is left alone; once answers are read, it goes on."""
    most = 1 << 16
    monkeypatch.setattr(module, "PENDING_BYTES", most)
    with responder() as server:
        link = connected(server)
        connection = server._connections[0]
        sent = 0

        def fill():
            nonlocal sent
            while link.received.size - int(link.requests[HEAD] - link.requests[TAIL]) >= 200:
                link.put(8, struct.pack("<q", sent), (sent % ROWS, 0, 0, ring_info(REVERSE)))
                sent += 1

        for _ in range(100):
            fill()
            server.step()
            assert connection.pending_bytes <= most + 2 * 256 * (512 + 8)
        held = int(link.requests[TAIL])
        steps(server)
        assert int(link.requests[TAIL]) == held
        received = []
        while len(received) < sent:
            received += answers(link)
            server.step()
        assert [answer for _, _, answer in received] == [struct.pack("<q", i)[::-1] for i in range(sent)]
        assert connection.pending_bytes == 0
