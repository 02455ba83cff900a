"""Execution once at most: what a process leaves behind when it dies, and what its successor makes of it."""

from __future__ import annotations

import os

import numpy as np
import pytest

from offramp.errors import OfframpError
from offramp.leo.runtime import journal as at
from offramp.leo.runtime.machine import machine
from offramp.leo.runtime.memory import Host
from offramp.sealed_memory import SharedMemory

RECOVER = machine(at.recover)["recover"]


def made(rows=4):
    words = np.zeros(at.journal_words(rows), np.int64)
    at.prepare(words, rows)
    return words, np.zeros(64, np.int64)


def entry(words, row, trip):
    start = at.TABLE + (row * 4 + trip) * at.ENTRY
    return words[start : start + at.ENTRY]


def test_a_committed_write_is_completed_once():
    words, memory = made()
    words[at.OFFSET], words[at.LENGTH], words[at.CONTENT] = 24, 8, 77
    entry(words, 2, 1)[at.STATE] = at.COMMITTED
    assert RECOVER(words, at.entries_of(4), memory, memory.nbytes) == 1
    assert memory.tolist() == [0, 0, 0, 77] + [0] * 60
    assert entry(words, 2, 1)[at.STATE] == at.KEPT
    memory[3] = 5
    assert RECOVER(words, at.entries_of(4), memory, memory.nbytes) == 0
    assert memory[3] == 5


def test_what_was_running_has_left_no_trace():
    words, memory = made()
    words[at.OFFSET], words[at.LENGTH], words[at.CONTENT] = 0, 8, 1
    entry(words, 0, 0)[at.STATE] = at.RUNNING
    assert RECOVER(words, at.entries_of(4), memory, memory.nbytes) == 0
    assert not memory.any()
    assert entry(words, 0, 0)[at.STATE] == at.NEW


def test_journals_belong_to_requesters():
    words = at.journal_words(8)
    segment = SharedMemory(Host.size(100, 2, words))
    try:
        host = Host(segment, 100, 2, words)
        first, known = host.journal(11, 8, set())
        assert not known
        entry(first, 1, 0)[at.STATE] = at.KEPT
        again, known = Host(SharedMemory.attach(os.dup(segment.fd), segment.size), 100, 2, words).journal(11, 8, set())
        assert known
        assert entry(again, 1, 0)[at.STATE] == at.KEPT
        host.journal(12, 8, {11})
        with pytest.raises(OfframpError, match="2 requesters are connected: the responder takes no more"):
            host.journal(13, 8, {11, 12})
        fresh, known = host.journal(13, 8, {12})
        assert not known
        assert entry(fresh, 1, 0)[at.STATE] == at.NEW
        with pytest.raises(OfframpError, match="request table of 9 rows: the responder's journals are for fewer"):
            host.journal(14, 9, set())
    finally:
        segment.close()
