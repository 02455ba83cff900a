# SPDX-License-Identifier: Apache-2.0
"""Rounds of the requester in machine code: requests are admitted when they are due, sent, answered and collected.

Python's part of a round costs as much as dozens of requests, and would be their latency.

Written in the part of Python that :mod:`offramp_base.native` compiles.
"""

from __future__ import annotations

from typing import Final

from offramp.leo.native.act import act
from offramp.leo.native.clock import now_ns
from offramp.leo.native.pace import IDLE_NS, after_round
from offramp.leo.native.request import admit, collect, receive, send
from offramp.leo.native.state import RequestTable
from offramp.leo.native.submission import COUNT, NEXT
from offramp.leo.selection.layout import SelectorState
from offramp_base.native.subset import Words, native

# The words of a call.
WINDOW: Final = 0  # requests under way, at most
LASTS: Final = 1  # ns: rounds are repeated for so long
ROOM: Final = 2  # requests that may be collected
DEVICES: Final = 3  # local devices
TURN: Final = 4  # the device that is first in the next round
ESCAPED_FROM: Final = 5  # the device whose tickets have escaped, or NOBODY
WORKED: Final = 6  # whether there was anything to do
FLOW_WORDS: Final = 7
NOBODY: Final = -1
RECEIVED: Final = 1000
"""Responses of a round, and requests that are collected at a time."""


@native
def _links(table: RequestTable, selector: SelectorState, links: Words) -> int:
    """Send and receive on the links that are up, whose sending and receiving rings follow one another in ``links``."""
    worked = 0
    for i in range(table.links):
        if links[2 * i] != 0:
            worked += send(table, i, Words(links[2 * i]))
            received = receive(table, selector, Words(links[2 * i + 1]), RECEIVED)
            if received > 0:
                worked += received + send(table, i, Words(links[2 * i]))
    return worked


@native
def _dispatchers(
    table: RequestTable, selector: SelectorState, words: Words, engines: Words, tickets: Words, most: int
) -> int:
    """Let local devices work, in turns, until one has requests that compiled code cannot serve."""
    worked = 0
    for _ in range(words[DEVICES]):
        i = words[TURN]
        words[TURN] = i + 1 if i + 1 < words[DEVICES] else 0
        worked += act(table, selector, i, Words(engines[i]), tickets, most)
        if table.escaped != 0:
            words[ESCAPED_FROM] = i
            break
    return worked


@native
def collected(table: RequestTable, room: Words, at: int, most: int) -> int:
    """As :func:`collect`, into the columns of ``room`` from ``at`` on."""
    rows = room + at
    users = rows + RECEIVED
    statuses = users + RECEIVED
    paths = statuses + RECEIVED
    jcts = paths + RECEIVED
    begun = jcts + RECEIVED
    ended = begun + RECEIVED
    return collect(table, most, rows, users, statuses, paths, jcts, begun, ended, ended + RECEIVED)


@native
def flow(
    table: RequestTable,
    selector: SelectorState,
    intake: Words,
    words: Words,
    links: Words,
    engines: Words,
    tickets: Words,
    most: int,
    room: Words,
) -> int:
    """Rounds until Python is needed or ``room``, ``(8, RECEIVED)``, is full; returns how many have ended."""
    begun = now_ns(Words(table))
    worked_at = begun
    ended = 0
    words[ESCAPED_FROM] = NOBODY
    words[WORKED] = 0
    while True:
        worked = admit(table, selector, intake, words[WINDOW]) + _links(table, selector, links)
        worked += _dispatchers(table, selector, words, engines, tickets, most)
        more = collected(table, room, ended, words[ROOM] - ended)
        ended += more
        words[WORKED] = words[WORKED] | worked | more
        if words[ESCAPED_FROM] != NOBODY or table.failed != 0 or ended == words[ROOM]:
            return ended
        if intake[NEXT] == intake[COUNT] and table.in_flight < words[WINDOW]:
            return ended
        now = after_round(Words(table), words[LASTS], worked + more)
        if worked + more > 0:
            worked_at = now
        if now - begun >= words[LASTS] or now - worked_at >= IDLE_NS:
            return ended
