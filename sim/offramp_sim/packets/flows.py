# SPDX-License-Identifier: Apache-2.0
"""Unicast flows: background traffic, and the streams of host-based exchanges."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.graph.boundary import Boundary
from offramp_base.documents import read_text
from offramp_base.errors import OfframpError
from offramp_base.numerals import whole_number

HADOOP_BYTES = ((100, 0.0), (300, 0.20), (1_000, 0.45), (2_000, 0.55), (10_000, 0.65), (100_000, 0.80),
                (300_000, 0.90), (1_000_000, 0.95), (10_000_000, 1.0))  # fmt: skip
"""Flow sizes of a Hadoop cluster, read off a curve of Roy et al. (SIGCOMM 2015): bytes, share of flows below."""


@dataclass(frozen=True, eq=False)
class FlowSchedule:
    """Flows in order of their start.

    Attributes:
        source, sink: ``(f,)`` hosts.
        size: ``(f,)`` bytes of payload.
        start_ps: ``(f,)``.
    """

    source: npt.NDArray[np.int64]
    sink: npt.NDArray[np.int64]
    size: npt.NDArray[np.int64]
    start_ps: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.size)


def flows(rows: npt.ArrayLike) -> FlowSchedule:
    """Flows from ``(f, 4)`` sources, sinks, bytes, starts in picoseconds.

    Raises:
        OfframpError: a flow to its own source, or of no bytes.
    """
    table = np.asarray(rows, np.int64).reshape(-1, 4)
    if (table[:, 0] == table[:, 1]).any() or (table[:, 2] < 1).any() or (table < 0).any():
        raise OfframpError("flows: expected two different hosts, at least 1 byte and a start of 0 or later")
    table = table[np.argsort(table[:, 3], kind="stable")]
    return FlowSchedule(*np.ascontiguousarray(table.T))


def pattern(name: str, hosts: int, size: int, seed: int) -> FlowSchedule:
    """Flows of ``size`` bytes that begin together.

    ``incast`` leads to the last host, ``permutation`` from each to one other, ``ring`` to the next, and ``all-to-all``
    from each to each.

    Raises:
        OfframpError: fewer than 2 hosts.
    """
    if hosts < 2:
        raise OfframpError(f"hosts {hosts}: expected at least 2")
    source = np.arange(hosts)
    if name == "incast":
        source = source[:-1]
        sink = np.full(hosts - 1, hosts - 1)
    elif name == "permutation":  # in a circle, so that nobody sends to himself
        circle = np.random.default_rng(seed).permutation(hosts)
        sink = np.empty(hosts, np.int64)
        sink[circle] = np.roll(circle, 1)
    elif name == "ring":
        sink = (source + 1) % hosts
    else:
        shift, source = (each.ravel() for each in np.meshgrid(np.arange(1, hosts), source, indexing="ij"))
        sink = (source + shift) % hosts
    return FlowSchedule(source, sink, np.full(len(source), size), np.zeros(len(source), np.int64))


_CONNECTION: Final = re.compile(r"([0-9]{1,9})->([0-9]{1,9})\s+(.*)")


def read_matrix(path: str | Path, hosts: int) -> FlowSchedule:
    """Flows of a connection matrix of htsim: lines ``SOURCE->SINK id N start PICOSECONDS size BYTES``.

    Raises:
        OfframpError: names the file and line; triggers and hosts that do not exist are refused.
    """
    rows = []
    for number, line in enumerate(read_text(Path(path), 1 << 30).splitlines(), 1):
        match = _CONNECTION.match(line.strip())
        if match is None:
            if line.strip() and line.split()[0] not in ("Nodes", "Connections") and not line.startswith("#"):
                raise OfframpError(f"{path}:{number}: {line[:40]}: expected SOURCE->SINK id N start T size BYTES")
            continue
        words = match[3].split()
        fields = dict(zip(words[::2], words[1::2], strict=False))
        source, sink = int(match[1]), int(match[2])
        start, size = whole_number(fields.get("start", "")), whole_number(fields.get("size", ""))
        if start is None or not size or {"trigger", "send_done_trigger", "recv_done_trigger"} & set(fields):
            raise OfframpError(f"{path}:{number}: expected start and size, and no triggers")
        if max(source, sink) >= hosts or source == sink:
            raise OfframpError(f"{path}:{number}: {source}->{sink}: expected two of {hosts} hosts")
        rows.append((source, sink, size, start))
    if not rows:
        raise OfframpError(f"{path}: no connections")
    return flows(rows)


def mean_hadoop_bytes() -> float:
    """Mean of the distribution, in bytes, with uniform sizes between its points."""
    sizes, shares = np.array(HADOOP_BYTES).T
    return float((np.diff(shares) * (sizes[1:] + sizes[:-1]) / 2).sum())


def background(hosts: int, load: float, rate_bps: int, until_ps: int, seed: int) -> FlowSchedule:
    """Hadoop flows between random pairs of hosts, Poisson arrivals, ``load`` of every host's link on average.

    Raises:
        OfframpError: a load outside 0 to 1, or fewer than 2 hosts.
    """
    if not 0 <= load < 1:
        raise OfframpError(f"load {load}: expected 0 to below 1")
    if hosts < 2:
        raise OfframpError(f"hosts {hosts}: background traffic needs at least 2")
    rng = np.random.default_rng(seed)
    expected = load * hosts * rate_bps / 8 / mean_hadoop_bytes() * until_ps / 1e12
    count = int(rng.poisson(expected))
    start = np.sort(rng.integers(0, max(1, until_ps), count))
    source = rng.integers(0, hosts, count)
    sink = (source + rng.integers(1, hosts, count)) % hosts
    sizes, shares = np.array(HADOOP_BYTES).T
    size = np.interp(rng.random(count), shares, sizes).astype(np.int64)
    return FlowSchedule(source, sink, size, start)


def all_to_all(boundary: Boundary, features: int) -> FlowSchedule:
    """A host-based exchange: a stream for each pair of workers, beginning with each worker's successor."""
    workers = boundary.workers
    pairs = boundary.owner[boundary.copies[:, 0]].astype(np.int64) * workers + boundary.copies[:, 1]
    sizes = 4 * features * np.bincount(pairs, minlength=workers * workers)
    pair = np.flatnonzero(sizes)
    source, sink = np.divmod(pair, workers)
    order = np.lexsort(((sink - source) % workers, source))
    return FlowSchedule(source[order], sink[order], sizes[pair][order], np.zeros(len(pair), np.int64))


def balanced(streams: FlowSchedule, rounds: int = 50) -> FlowSchedule:
    """Scale the bytes so that every host sends and receives about the same, which is G3's aim.

    This is Sinkhorn's iteration over rows and columns; hosts without a stream stay without.
    """
    hosts = int(max(streams.source.max(initial=-1), streams.sink.max(initial=-1))) + 1
    size = streams.size.astype(np.float64)
    for _ in range(rounds):
        for ends in (streams.source, streams.sink):
            load = np.bincount(ends, weights=size, minlength=hosts)
            size *= (size.sum() / np.count_nonzero(load) / np.maximum(load, 1))[ends]
    return FlowSchedule(streams.source, streams.sink, np.maximum(1, np.round(size)).astype(np.int64), streams.start_ps)
