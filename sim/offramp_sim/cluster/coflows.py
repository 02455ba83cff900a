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
_MOST_PORTS: Final = 100_000
_MOST_CELLS: Final = 100_000_000
"""Most ports times coflows: 1.6 GB."""
_MEGABYTE: Final = 1e6
_MOST_MS: Final = 1e15
_DONE: Final = 1e-9
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
        width: flows.
    """

    name: str
    arrival_s: float
    bytes: Floats
    width: int


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
    coflows = []
    for number, words in lines[1:]:
        try:
            coflows.append(_coflow(words, ports))
        except (ValueError, IndexError) as error:
            raise OfframpError(
                f"line {number}: expected ID ARRIVAL_MS MAPPERS m... REDUCERS r:MB...: {error}"
            ) from None
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
    size = np.zeros(2 * ports)
    for port, megabytes in pairs:
        amount = float(megabytes) * _MEGABYTE
        if not 0 <= int(port) < ports or not 0 < amount < math.inf:
            raise ValueError(f"{port}:{megabytes}")
        size[ports + int(port)] += amount
        for mapper in mappers:
            if not 0 <= mapper < ports:
                raise ValueError(f"mapper {mapper}")
            size[mapper] += amount / len(mappers)
    return PortCoflow(words[0], arrival / 1e3, size, len(mappers) * len(pairs))


def completion_s(
    coflows: list[PortCoflow],
    order: str,
    rate_bps: float = 1e9,
    progress: Callable[[float], None] | None = None,
) -> Floats:
    """``(coflows,)`` seconds from the arrival of each until it is complete.

    The flows of a coflow end together: they get the least rates for that (Varys's MADD); what these leave goes to the
    coflows behind, in order.

    Args:
        coflows: by arrival.
        order: one of :data:`ORDERS`.
        rate_bps: what each port carries each way, in bits per second.
        progress: gets the share of coflows that are complete.

    Raises:
        OfframpError: an unknown order.
    """
    if order not in ORDERS:
        raise OfframpError(f"order {order}: expected one of {', '.join(ORDERS)}")
    seconds = [_port_seconds(each, rate_bps) for each in coflows]
    bottleneck = np.array([float(need.max()) for _, need in seconds])
    keys: dict[str, Callable[[int, float], float]] = {
        "sebf": lambda k, left: bottleneck[k] * left,
        "scf": lambda k, left: float(coflows[k].bytes.sum()) * left,
        "ncf": lambda k, _: float(coflows[k].width),
        "fifo": lambda k, _: coflows[k].arrival_s,
    }
    key = keys[order]
    ports = len(coflows[0].bytes) if coflows else 0
    complete = np.zeros(len(coflows))
    left: dict[int, float] = {}
    rate: dict[int, float] = {}
    now, following, done = 0.0, 0, 0
    while left or following < len(coflows):
        step = coflows[following].arrival_s - now if following < len(coflows) else math.inf
        for k, share in left.items():
            if rate[k] > 0:
                step = min(step, share / rate[k])
        now += step
        for k in list(left):
            left[k] -= rate[k] * step
            if left[k] <= _DONE:
                del left[k]
                complete[k] = now - coflows[k].arrival_s
                done += 1
                if progress is not None:
                    progress(done / len(coflows))
        while following < len(coflows) and coflows[following].arrival_s <= now + 1e-12:
            left[following] = 1.0
            following += 1
        room = np.ones(ports)
        rate = {}
        for k in sorted(left, key=lambda k: (key(k, left[k]), k)):
            used, need = seconds[k]
            rate[k] = max(0.0, float((room[used] / need).min()))
            room[used] -= rate[k] * need
    return complete


def _port_seconds(coflow: PortCoflow, rate_bps: float) -> tuple[npt.NDArray[np.int64], Floats]:
    """The ports that a coflow uses, and seconds of each."""
    used = np.flatnonzero(coflow.bytes)
    return used, coflow.bytes[used] * 8 / rate_bps
