# SPDX-License-Identifier: Apache-2.0
"""Execution once at most: what a process leaves behind when it dies, and what its successor makes of it."""

from __future__ import annotations

import os

import numpy as np
import pytest

from offramp.device import Status
from offramp.leo.native import journal as at
from offramp.leo.native.journal import KeptAnswer
from offramp.leo.native.machine import machine
from offramp.leo.runtime.host import ResponderState
from offramp_base.errors import OfframpError
from offramp_base.sealed_memory import SharedMemory

RECOVER = machine(at.recover)["recover"]


def prepared(rows=4):
    words = np.zeros(at.journal_words(rows), np.int64)
    at.prepare(words, rows)
    return words, np.zeros(64, np.int64)


def entry(words, row, trip):
    start = at.Journal.WORDS + (row * 4 + trip) * KeptAnswer.WORDS
    return words[start : start + KeptAnswer.WORDS]


def test_a_committed_write_is_completed_once():
    words, memory = prepared()
    words[at.Journal.offset], words[at.Journal.length], words[at.Journal.content] = 24, 8, 77
    entry(words, 2, 1)[KeptAnswer.state] = at.COMMITTED
    assert RECOVER(words, at.entries_of(4), memory, memory.nbytes) == 1
    assert memory.tolist() == [0, 0, 0, 77] + [0] * 60
    assert entry(words, 2, 1)[KeptAnswer.state] == at.KEPT
    memory[3] = 5
    assert RECOVER(words, at.entries_of(4), memory, memory.nbytes) == 0
    assert memory[3] == 5


def test_what_was_running_has_left_no_trace():
    words, memory = prepared()
    words[at.Journal.offset], words[at.Journal.length], words[at.Journal.content] = 0, 8, 1
    entry(words, 0, 0)[KeptAnswer.state] = at.RUNNING
    assert RECOVER(words, at.entries_of(4), memory, memory.nbytes) == 0
    assert not memory.any()
    assert entry(words, 0, 0)[KeptAnswer.state] == at.NEW


def test_journals_belong_to_requesters():
    words = at.journal_words(8)
    segment = SharedMemory(ResponderState.size(100, 2, words))
    try:
        host = ResponderState(segment, 100, 2, words)
        first, known = host.journal(11, 8, set())
        assert not known
        entry(first, 1, 0)[KeptAnswer.state] = at.KEPT
        again, known = ResponderState(SharedMemory.attach(os.dup(segment.fd), segment.size), 100, 2, words).journal(
            11, 8, set()
        )
        assert known
        assert entry(again, 1, 0)[KeptAnswer.state] == at.KEPT
        host.journal(12, 8, {11})
        with pytest.raises(OfframpError, match="2 requesters are connected: the responder takes no more"):
            host.journal(13, 8, {11, 12})
        fresh, known = host.journal(13, 8, {12})
        assert not known
        assert entry(fresh, 1, 0)[KeptAnswer.state] == at.NEW
        with pytest.raises(OfframpError, match="request table of 9 rows: the responder's journals are for fewer"):
            host.journal(14, 9, set())
    finally:
        segment.close()


def test_a_log_that_would_write_elsewhere_is_not_carried_out():
    """Whoever damaged the journal's memory cannot make a recovery write outside of the host's."""
    for offset, length in (
        (-8, 8),
        (-8, 16),
        (64 * 8 - 7, 8),
        (64 * 8, 1),
        (0, -1),
        (0, at.MOST_WRITE + 1),
        (1 << 62, 8),
    ):
        words, _ = prepared()
        around = np.zeros(4096, np.int64)
        memory = around[2000 : 2000 + 64]
        words[at.Journal.offset], words[at.Journal.length] = offset, length
        words[at.Journal.content : at.Journal.WORDS] = 9
        entry(words, 0, 0)[KeptAnswer.state] = at.COMMITTED
        RECOVER(words, at.entries_of(4), memory, memory.nbytes)
        assert not around.any(), (offset, length)
    words, memory = prepared()
    words[at.Journal.offset], words[at.Journal.length], words[at.Journal.content] = 63 * 8, 8, 9
    entry(words, 0, 0)[KeptAnswer.state] = at.COMMITTED
    RECOVER(words, at.entries_of(4), memory, memory.nbytes)
    assert memory[63] == 9


def test_a_recovery_sees_the_last_entry_and_none_behind_it():
    words, memory = prepared(rows=3)
    words = np.concatenate([words, np.full(KeptAnswer.WORDS, at.RUNNING, np.int64)])
    entry(words, 2, 3)[KeptAnswer.state] = at.RUNNING
    RECOVER(words, at.entries_of(3), memory, memory.nbytes)
    assert entry(words, 2, 3)[KeptAnswer.state] == at.NEW
    assert (words[-KeptAnswer.WORDS :] == at.RUNNING).all()


def test_what_was_given_away_is_lost_and_kept_so():
    words, memory = prepared()
    given = entry(words, 1, 2)
    given[KeptAnswer.state], given[KeptAnswer.answered], given[KeptAnswer.status] = at.GIVEN, 64, 0
    assert RECOVER(words, at.entries_of(4), memory, memory.nbytes) == 0
    assert (given[KeptAnswer.state], given[KeptAnswer.status], given[KeptAnswer.answered]) == (
        at.KEPT,
        Status.LOST,
        0,
    )


def test_a_journal_has_as_many_rows_as_its_requester():
    words = at.journal_words(8)
    segment = SharedMemory(ResponderState.size(100, 1, words))
    try:
        host = ResponderState(segment, 100, 1, words)
        host.journal(11, 4, set())
        with pytest.raises(OfframpError, match="request table of 5 rows: the requester's journal is for another"):
            host.journal(11, 5, set())
    finally:
        segment.close()


@pytest.mark.parametrize("rows", [0, -1, (1 << 16) + 1])
def test_tables_of_no_rows_or_too_many(rows):
    with pytest.raises(OfframpError, match="expected 1 to 65536"):
        at.journal_words(rows)


def test_the_longest_answers_of_neighbours_are_kept_side_by_side():
    words, memory = prepared()
    commit = machine(at.commit)["commit"]
    places = [(row, trip) for row in range(4) for trip in range(4)]
    for row, trip in places:
        held = entry(words, row, trip)
        held[KeptAnswer.number] = 100 * row + trip
        answer = np.full(at.MOST_ANSWER, 16 * row + trip, np.uint8)
        commit(words, held, memory, memory.nbytes, row, answer, at.MOST_ANSWER)
    for row, trip in places:
        held = entry(words, row, trip)
        assert held[[KeptAnswer.number, KeptAnswer.state, KeptAnswer.status, KeptAnswer.answered]].tolist() == [
            100 * row + trip,
            at.KEPT,
            row,
            64,
        ]
        assert (held[KeptAnswer.answer :].view(np.uint8)[:64] == 16 * row + trip).all()
    assert words[at.Journal.entries] == at.entries_of(4)
