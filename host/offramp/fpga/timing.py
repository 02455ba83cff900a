# SPDX-License-Identifier: Apache-2.0
"""Cycles of the engines, packet by packet, as their RTL takes them: for load tests, and to say what a change costs.

A packet is given by the cycles in which its beats are offered; each function says in which cycle each beat is taken and
in which each beat of the answers is given. Memory answers in order after a fixed latency, one line per cycle and
port; the receiver of the answers is always ready. Under these conditions the numbers are the RTL's own for any packets:
tests compare them on random mixes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

_NEVER: Final = -1
_BUCKET: Final = 9
"""Cycles of ``ebs_bucket``."""


class BeatCycles(NamedTuple):
    """Cycles in which beats of requests were taken, and in which beats of answers were given."""

    taken: list[int]
    given: list[int]


class RequestPacket(NamedTuple):
    """A request: 64-bit words after its header, and when its beats are offered, the header first."""

    words: int
    offered: Sequence[int]


class Read(NamedTuple):
    """The effect of a read on ``ebs_lookup``.

    Attributes:
        volume: whose line it claims.
        lines: how many of the three tables it gets to: 0 for a volume that there cannot be.
        writes: whether it is found, so that the bucket goes back to memory.
    """

    volume: int
    lines: int
    writes: bool


class _Stage:
    """Cycles in which items leave a stage, as later stages see it; before the first item nothing has left."""

    def __init__(self) -> None:
        self.at: list[int] = []

    def back(self, number: int) -> int:
        """Cycle in which the item that many before the next one left."""
        return self.at[-number] if len(self.at) >= number else _NEVER

    def leave(self, *constraints: int) -> int:
        """The next item leaves in the latest of these cycles, one item per cycle."""
        self.at.append(max(self.back(1) + 1, *constraints))
        return self.at[-1]


class _MemoryPort:
    """A memory port and the two places for lines behind it."""

    def __init__(self, latency: int) -> None:
        self._latency = latency
        self._came, self._used = _Stage(), _Stage()

    def line(self, asked: int) -> int:
        """Cycle from which the line can be used of a read whose address is on the bus in cycle ``asked``."""
        return self._came.leave(asked + self._latency, self._used.back(2) + 1) + 1

    def use(self, cycle: int) -> None:
        """The oldest line is used."""
        self._used.at.append(cycle)


class _Pack:
    """``kvs_pack``: words into beats, and a completion."""

    def __init__(self, words: int) -> None:
        self._words = words
        self._held, self._last = 0, _NEVER
        self.given: list[int] = []

    def word(self, cycle: int) -> None:
        """A word comes, and is taken at once."""
        self._held, self._last = self._held + 1, cycle
        if self._held % self._words == 0:
            self.given.append(cycle + 2)

    def end(self, cycle: int) -> int:
        """A packet's end comes; when it is taken: later where words are still to leave."""
        partial = self._held % self._words != 0
        waits = self._held > 0 and (partial or cycle == self._last + 1)
        if partial:
            self.given.append(cycle + 1)
        self._held = 0
        self.given.append(cycle + waits + 1)
        return cycle + waits


def kvs_lookup(packets: Iterable[RequestPacket], *, width: int = 512, flight: int = 64, memory: int = 40) -> BeatCycles:
    """Cycles of look-ups; a packet's words are its keys.

    Args:
        packets: packets in order.
        width: width of the engine.
        flight: flight of the engine.
        memory: cycles from a read to its line.
    """
    taken: list[int] = []
    pack = _Pack(width // 64)
    port = _MemoryPort(memory)  # both ports do the same
    issued, matched, hit, out = _Stage(), _Stage(), _Stage(), _Stage()
    for word in _words(packets, width // 64, taken):
        at = issued.leave(word.ready, matched.back(flight) + 1)
        word.took(at)
        if word.end:
            matched.leave(at + 1, hit.back(1))
        else:
            port.use(matched.leave(at + 1, port.line(at + 2), hit.back(1)))
        came = hit.leave(matched.back(1) + 1, out.back(1)) + 1
        if word.end:
            out.leave(pack.end(came))
        else:
            pack.word(out.leave(came))
    return BeatCycles(taken, pack.given)


def ebs_lookup(
    packets: Iterable[RequestPacket], reads: Sequence[Read], *, width: int = 512, flight: int = 64, memory: int = 40
) -> BeatCycles:
    """Cycles of reads of three words each; ``reads`` says what those of all packets do, in order."""
    taken: list[int] = []
    pack = _Pack(width // 64)
    volume, entry, address = (_MemoryPort(memory) for _ in range(3))
    issued, gone, seen, measured, judged, matched, resolved, charged, answered = (_Stage() for _ in range(9))
    released: dict[int, int] = defaultdict(lambda: _NEVER)
    claims = _Stage()
    written = _NEVER
    left, held = iter(reads), 0
    for word in _words(packets, width // 64, taken):
        whole = word.end or held == 2
        at = issued.leave(word.ready, gone.back(2) + 1 if whole else _NEVER)
        word.took(at)
        held = 0 if whole else held + 1
        if not whole:
            continue
        read = Read(0, 0, False) if word.end else next(left)
        free = max(released[read.volume], claims.back(flight)) + 1 if read.lines else _NEVER
        a = gone.leave(at + 1, free, seen.back(flight) + 1)
        lines = [a + 1]
        if read.lines:
            lines.append(volume.line(a + 1))
        b = seen.leave(*lines, measured.back(2) + 1)
        if read.lines:
            volume.use(b)
        m = measured.leave(b + 1, judged.back(2) + 1)
        c = judged.leave(m + 1, matched.back(flight) + 1)
        d = matched.leave(c + 1, entry.line(c + 1) if read.lines > 1 else _NEVER, resolved.back(flight) + 1)
        if read.lines > 1:
            entry.use(d)
        e = resolved.leave(d + 1, address.line(d + 1) if read.lines > 2 else _NEVER, charged.back(flight) + 1)
        if read.lines > 2:
            address.use(e)
        g = charged.leave(e + _BUCKET + 1, answered.back(flight) + 1)
        first = max(g + 1, answered.back(1) + 1)
        if word.end:
            answered.leave(pack.end(first))
            continue
        if read.writes:
            first = max(first, g + 1 + memory, written + 1)
        pack.word(first)
        pack.word(first + 1)
        answered.leave(first + 1)
        if read.writes:
            written = first + 1
        if read.lines:
            released[read.volume] = first + 1
            claims.at.append(first + 1)
    return BeatCycles(taken, pack.given)


def reduce(packets: Iterable[tuple[int, Sequence[int]]], *, inputs: int = 8) -> BeatCycles:
    """Cycles of sums on ``inputs`` inputs: the beats of one vector, and when the request's beats are offered."""
    latency = 2 + 7 * (inputs - 1).bit_length()
    taken: list[int] = []
    given: list[int] = []
    for beats, offered in packets:
        for cycle in offered:
            taken.append(max(cycle, taken[-1] + 1 if taken else cycle))
        last = taken[len(taken) - beats :] if beats else []
        given += [cycle + latency + 2 for cycle in last]
        given.append(taken[-1] + latency + 3)
    return BeatCycles(taken, given)


class _ParserWord:
    """A word that ``kvs_parse`` offers, or a packet's end."""

    def __init__(self, ready: int, *, end: bool) -> None:
        self.ready, self.end = ready, end
        self.at = _NEVER

    def took(self, cycle: int) -> None:
        """Note the cycle in which the word was taken."""
        self.at = cycle


def _words(packets: Iterable[RequestPacket], wide: int, taken: list[int]) -> Iterator[_ParserWord]:
    """``kvs_parse``: the words of packets, each when the one before it was taken; beats are put into ``taken``."""
    ready = _NEVER
    for packet in packets:
        header, *beats = packet.offered
        at = max(header, ready)
        taken.append(at)
        for number, offered in enumerate(beats):
            accepted = max(offered, at + 1 if number == 0 else at)
            taken.append(accepted)
            ready = accepted + 1
            for _ in range(min(wide, packet.words - number * wide)):
                word = _ParserWord(ready, end=False)
                yield word
                at = word.at
                ready = at + 1
        word = _ParserWord(at + 1, end=True)
        yield word
        ready = word.at + 1
