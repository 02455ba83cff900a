# SPDX-License-Identifier: Apache-2.0
"""Coflows of MapReduce on one big switch: the coflow benchmark's file, and Varys's orders on it.

A file begins with ``PORTS COFLOWS``; each further line is a coflow: ``ID ARRIVAL_MS MAPPERS m... REDUCERS r:MB...``.
What a reducer gets comes from all mappers evenly (https://github.com/coflow/coflow-benchmark).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp_base.documents import read_text
from offramp_base.errors import OfframpError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_MOST_PORTS: Final = 100_000
_MOST_CELLS: Final = 100_000_000
"""Most ports times coflows: 1.6 GB."""
_MOST_FLOWS: Final = 50_000_000
_MEGABYTE: Final = 1e6
_MOST_MS: Final = 1e15
_DONE: Final = 1e-9
"""Share of a flow, or of a port's rate, that counts as none."""
_ROUNDS: Final = 2
"""How often what is left of ports is offered to each coflow's flows."""
ORDERS: Final = ("sebf", "scf", "ncf", "fifo")
"""Smallest effective bottleneck, smallest coflow, narrowest coflow, and order of arrival, all of them preemptive but
the last."""


@dataclass(frozen=True, eq=False)
class PortCoflow:
    """A coflow.

    Attributes:
        name: as the file has it.
        arrival_s: when it is there.
        bytes: ``(2 ports,)`` that each port sends, then that each receives.
        source, sink, size: ``(flows,)`` port that sends, port that receives, and bytes.
    """

    name: str
    arrival_s: float
    bytes: Floats
    source: Ints
    sink: Ints
    size: Floats

    @property
    def width(self) -> int:
        """How many flows it has."""
        return len(self.size)


def read_coflows(path: str | Path) -> list[PortCoflow]:
    """The coflows of a file, by arrival.

    Raises:
        OfframpError: names the file and line.
    """
    try:
        return parse_coflows(read_text(Path(path), 1 << 30))
    except OfframpError as error:
        raise OfframpError(f"{path}: {error}") from None


def parse_coflows(text: str) -> list[PortCoflow]:
    """Coflows from the text of a file.

    Raises:
        OfframpError: names the line.
    """
    lines = [(n, line.split()) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    try:
        ports, count = (int(word) for word in lines[0][1])
    except (ValueError, IndexError):
        raise OfframpError("line 1: expected PORTS COFLOWS") from None
    if ports * count > _MOST_CELLS:
        raise OfframpError(f"line 1: {ports} ports times {count} coflows: expected at most {_MOST_CELLS}")
    if not 1 <= ports <= _MOST_PORTS or count != len(lines) - 1:
        raise OfframpError(f"line 1: {ports} ports, {count} coflows: there are {len(lines) - 1} lines of coflows")
    coflows: list[PortCoflow] = []
    flows = 0
    for number, words in lines[1:]:
        try:
            coflows.append(_coflow(words, ports))
        except (ValueError, IndexError) as error:
            raise OfframpError(
                f"line {number}: expected ID ARRIVAL_MS MAPPERS m... REDUCERS r:MB...: {error}"
            ) from None
        flows += coflows[-1].width
        if flows > _MOST_FLOWS:
            raise OfframpError(f"line {number}: more than {_MOST_FLOWS} flows")
    return sorted(coflows, key=lambda coflow: coflow.arrival_s)


def _coflow(words: list[str], ports: int) -> PortCoflow:
    mappers = [int(word) for word in words[3 : 3 + int(words[2])]]
    rest = words[3 + len(mappers) :]
    pairs = [word.split(":") for word in rest[1:]]
    if not mappers or len(pairs) != int(rest[0]) or not pairs:
        raise ValueError(f"{len(mappers)} mappers, {len(pairs)} reducers")
    arrival = float(words[1])
    if not 0 <= arrival < _MOST_MS:
        raise ValueError(f"arrival {words[1]}")
    if len(mappers) * len(pairs) > _MOST_FLOWS:
        raise ValueError(f"more than {_MOST_FLOWS} flows")
    for mapper in mappers:
        if not 0 <= mapper < ports:
            raise ValueError(f"mapper {mapper}")
    amount = np.zeros(len(pairs))
    for k, (port, megabytes) in enumerate(pairs):
        amount[k] = float(megabytes) * _MEGABYTE
        if not 0 <= int(port) < ports or not 0 < amount[k] < math.inf:
            raise ValueError(f"{port}:{megabytes}")
    reducers = np.array([int(port) for port, _ in pairs], np.int64)
    source, sink = np.repeat(np.array(mappers, np.int64), len(pairs)), np.tile(reducers, len(mappers))
    size = np.tile(amount / len(mappers), len(mappers))
    return PortCoflow(words[0], arrival / 1e3, _at_ports(source, sink, size, ports), source, sink, size)


def _at_ports(source: Ints, sink: Ints, amount: Floats, ports: int) -> Floats:
    """``(2 ports,)`` what flows put on each port that sends, then on each that receives."""
    return np.concatenate([np.bincount(source, amount, ports), np.bincount(sink, amount, ports)])


@dataclass(slots=True, eq=False)
class _ActiveCoflow:
    """A coflow under way, of its flows those that are not complete.

    Attributes:
        source, sink: ``(flows,)`` ports.
        left, whole: ``(flows,)`` seconds that a port needs for what is left of each, and for all of it.
        rate: ``(flows,)`` share of a port that each has.
    """

    source: Ints
    sink: Ints
    left: Floats
    whole: Floats
    rate: Floats

    def need(self, ports: int) -> Floats:
        """``(2 ports,)`` seconds of each port."""
        return _at_ports(self.source, self.sink, self.left, ports)

    def send(self, step: float) -> bool:
        """Send for a time; returns whether the coflow is complete."""
        self.left = self.left - self.rate * step
        open_ = self.left > _DONE * self.whole
        if not open_.all():
            self.source, self.sink = self.source[open_], self.sink[open_]
            self.left, self.whole, self.rate = self.left[open_], self.whole[open_], self.rate[open_]
        return not len(self.left)


def completion_s(
    coflows: list[PortCoflow],
    order: str,
    rate_bps: float = 1e9,
    progress: Callable[[float], None] | None = None,
    *,
    backfill: bool = True,
) -> Floats:
    """``(coflows,)`` seconds from the arrival of each until it is complete.

    The flows of a coflow end together: they get the least rates for that (Varys's MADD); what these leave goes to the
    coflows behind, in order. Rates change when a coflow arrives or is complete.

    Args:
        coflows: by arrival.
        order: one of :data:`ORDERS`.
        rate_bps: what each port carries each way, in bits per second.
        progress: gets the share of coflows that are complete.
        backfill: whether what ports have left then goes to single flows, in the same order, as in Varys; these flows
            end before the others of their coflow.

    Raises:
        OfframpError: an unknown order.
    """
    if order not in ORDERS:
        raise OfframpError(f"order {order}: expected one of {', '.join(ORDERS)}")
    ports = len(coflows[0].bytes) // 2 if coflows else 0
    complete = np.zeros(len(coflows))
    active: dict[int, _ActiveCoflow] = {}
    keys: dict[str, Callable[[int], float]] = {
        "sebf": lambda k: float(active[k].need(ports).max()),
        "scf": lambda k: float(active[k].left.sum()),
        "ncf": lambda k: float(coflows[k].width),
        "fifo": lambda k: coflows[k].arrival_s,
    }
    now, following, done = 0.0, 0, 0
    while active or following < len(coflows):
        step = coflows[following].arrival_s - now if following < len(coflows) else math.inf
        for each in active.values():
            if (each.rate > 0).all():
                step = min(step, float((each.left / each.rate).max()))
        now += step
        for k in [k for k, each in active.items() if each.send(step)]:
            del active[k]
            complete[k] = now - coflows[k].arrival_s
            done += 1
            if progress is not None:
                progress(done / len(coflows))
        while following < len(coflows) and coflows[following].arrival_s <= now + 1e-12:
            new = coflows[following]
            seconds = new.size * 8 / rate_bps
            active[following] = _ActiveCoflow(new.source, new.sink, seconds, seconds, np.zeros(new.width))
            following += 1
        rank = {k: (keys[order](k), k) for k in active}
        _allocate([active[k] for k in sorted(active, key=rank.__getitem__)], ports, backfill=backfill)
    return complete


def _allocate(ordered: list[_ActiveCoflow], ports: int, *, backfill: bool) -> None:
    """Give the flows of coflows their shares of ports, coflow by coflow."""
    room = np.ones(2 * ports)
    for each in ordered:
        need = each.need(ports)
        used = need > 0
        share = float((room[used] / need[used]).min())
        each.rate = each.left * share
        room -= share * need
        room[room < _DONE] = 0.0
    for _ in range(_ROUNDS if backfill else 0):
        for each in ordered:
            able = np.flatnonzero((room[each.source] > 0) & (room[ports + each.sink] > 0))
            if not len(able):
                continue
            source, sink = each.source[able], each.sink[able]
            flows = _at_ports(source, sink, np.ones(len(able)), ports)
            more = np.minimum(room[source] / flows[source], room[ports + sink] / flows[ports + sink])
            each.rate[able] += more
            room -= _at_ports(source, sink, more, ports)
            room[room < _DONE] = 0.0
