# SPDX-License-Identifier: Apache-2.0
"""The client's side of an agent's rings, byte by byte, with a test in the agent's place."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from offramp.nic import wire
from offramp.nic.rings import ClientRings, Completed, Submission
from offramp_base.errors import OfframpError

ENTRIES, AT = 4, 64


class Agent:
    """The other side: reads submissions, writes completions, rings."""

    def __init__(self) -> None:
        self.view = memoryview(bytearray(b"\xff" * (AT + wire.queue_bytes(ENTRIES))))
        memory: Any = SimpleNamespace(view=self.view)
        self.rings = ClientRings(memory, AT, ENTRIES)
        self.bell, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        theirs.setblocking(False)
        self.theirs = theirs
        self.rings.connect(theirs)

    def counter(self, offset: int) -> int:
        (value,) = struct.unpack_from("<Q", self.view, AT + offset)
        return int(value)

    def submission(self, number: int) -> tuple[int, ...]:
        at = AT + wire.RINGS_AT + number % ENTRIES * wire.SUBMISSION.size
        return wire.SUBMISSION.unpack_from(self.view, at)

    def complete(self, number: int, *values: int) -> None:
        at = AT + wire.RINGS_AT + ENTRIES * wire.SUBMISSION.size + number % ENTRIES * wire.COMPLETION.size
        count = len(wire.COMPLETION.unpack_from(self.view, at))
        wire.COMPLETION.pack_into(self.view, at, *values, *[0] * (count - len(values)))
        struct.pack_into("<Q", self.view, AT + wire.COMPLETED, number + 1)


@pytest.fixture
def agent() -> Iterator[Agent]:
    played = Agent()
    with contextlib.closing(played.bell), contextlib.closing(played.theirs):
        yield played


def entry(request: int) -> Submission:
    return Submission(request, 2, 3, 8 * request, 100 + request, 5, 16 * request, 200)


def test_entries_come_and_go_around_the_ring(agent: Agent) -> None:
    rings = agent.rings
    assert [agent.counter(at) for at in (wire.SUBMITTED, wire.COMPLETED, wire.HEARD)] == [0, 0, 0]
    for number in range(3 * ENTRIES + 1):
        rings.submit(entry(number))
        assert agent.counter(wire.SUBMITTED) == number + 1
        assert agent.bell.recv(16) == b"!"
        message = (number, 2, 0, 3, 5, 8 * number, 100 + number, 16 * number, 200)
        assert agent.submission(number)[: len(message)] == message
        assert rings.completions() == []
        agent.complete(number, number, 7, 50 + number, 9)
        assert rings.completions() == [Completed(number, 7, 50 + number, 9)]
        assert agent.counter(wire.HEARD) == number + 1
    assert not rings.gone


def test_it_is_full_at_as_many_as_it_has(agent: Agent) -> None:
    for number in range(ENTRIES):
        assert not agent.rings.full
        agent.rings.submit(entry(number))
    assert agent.rings.full
    agent.complete(0, 0, 0, 0, 0)
    agent.complete(1, 1, 0, 0, 0)
    assert [each.request for each in agent.rings.completions()] == [0, 1]
    assert not agent.rings.full


@pytest.mark.parametrize("claimed", [2, 1 << 63])
def test_an_agent_that_claims_too_much_is_given_up(agent: Agent, claimed: int) -> None:
    agent.rings.submit(entry(0))
    struct.pack_into("<Q", agent.view, AT + wire.COMPLETED, claimed)
    with pytest.raises(OfframpError, match=f"claims that {claimed} of 1 requests are done, after 0"):
        agent.rings.completions()
    assert agent.rings.gone


def test_an_agent_that_claims_less_than_before_is_given_up(agent: Agent) -> None:
    agent.rings.submit(entry(0))
    agent.complete(0, 0, 0, 0, 0)
    agent.rings.completions()
    struct.pack_into("<Q", agent.view, AT + wire.COMPLETED, 0)
    with pytest.raises(OfframpError, match="claims that 0 of 1 requests are done, after 1"):
        agent.rings.completions()


def test_waiting_ends_with_the_bell_and_with_the_agent(agent: Agent) -> None:
    agent.bell.send(b"!")
    agent.rings.wait(60)
    assert not agent.rings.gone
    agent.rings.wait(0)  # nothing rings
    assert not agent.rings.gone
    agent.bell.close()
    agent.rings.wait(60)
    assert agent.rings.gone
    agent.rings.wait(60)  # nobody is waited for


def test_an_agent_that_is_gone_is_seen_when_it_is_rung(agent: Agent) -> None:
    agent.bell.close()
    agent.rings.submit(entry(0))
    assert agent.rings.gone
