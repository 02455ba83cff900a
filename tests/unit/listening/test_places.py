# SPDX-License-Identifier: Apache-2.0
"""Places of clients: who has spoken keeps its place, and the oldest silent one gives way."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from offramp_base.listening.places import ClientPlaces


@pytest.fixture
def pairs() -> Iterator[list[tuple[socket.socket, socket.socket]]]:
    sockets = [socket.socketpair() for _ in range(4)]
    yield sockets
    for pair in sockets:
        for each in pair:
            each.close()


def is_open(peer: socket.socket) -> bool:
    peer.setblocking(False)
    try:
        return bool(peer.recv(1))
    except BlockingIOError:
        return True


def test_the_oldest_silent_client_gives_way(pairs) -> None:
    (a, at_a), (b, at_b), (c, at_c), (d, at_d) = pairs
    refusals: list[bool] = []  # whether the connection to be refused was open still
    places = ClientPlaces(2, lambda: refusals.append(is_open(at_d if len(refusals) else at_b)))
    assert places.take(a) is None
    assert places.take(b) is None
    places.greeted(a)
    assert places.take(c) is b
    assert [is_open(each) for each in (at_a, at_b, at_c)] == [True, False, True]
    places.greeted(b)  # which has lost its place, and takes none
    places.greeted(c)
    assert places.take(d) is d
    assert [is_open(each) for each in (at_a, at_c, at_d)] == [True, True, False]
    assert refusals == [True, True]  # said before the end that it explains
    places.leave(a)
    places.leave(d)
    other = pairs[1][0]
    assert places.take(other) is None
    places.cut()
    assert not is_open(at_c)
