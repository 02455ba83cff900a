# SPDX-License-Identifier: Apache-2.0
"""Floors of a step's time: what links, cuts, switches and this machine's processors need, whatever a model says.

A kind says what a step by one of its ways has to move (:class:`StepTraffic`); nothing here knows ways or models. The
costs of software are measurements (docs/PERFORMANCE.md, on the machine of that page), not limits of physics.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from offramp.cluster.reach import is_here
from offramp.job.cuts import Cut, cuts

if TYPE_CHECKING:
    from offramp.job.kind import PlacedJob

Matrix = npt.NDArray[np.float64]
PASS_S: Final = {"v1model": 75e-9, "tna": 1 / 1.2e9}
"""Seconds of a switch for one pass of a frame, by target: the embedded switch in memory, and a Tofino."""
PLAIN_BYTE_S: Final = 0.66e-9
"""Seconds of a processor for a byte that gloo sends over the loopback interface, both ends together."""
FORWARDED_BYTE_S: Final = 0.17e-9
"""The same for a byte that an embedded switch forwards, in frames of 1,500 bytes."""
SUMMED_FRAME_S: Final = 7.0e-6
SUMMED_BYTE_S: Final = 1.7e-9
"""Seconds of a processor for a rank's frame that the embedded switch sums, and for each byte of it, ranks' work
included."""


class Bottleneck(StrEnum):
    """The bound that decides a prediction."""

    MODEL = "model"
    LINKS = "links of the hosts"
    CUT = "narrowest cut"
    PASSES = "passes of the switch"
    PROCESSORS = "processors of this machine"


@dataclass(frozen=True, kw_only=True)
class StepTraffic:
    """The least traffic of a step, in whatever order; ranks are numbered as in the job.

    Attributes:
        across: bytes that cross every cut between hosts, each way: what one side has of a sum, and what it gets.
        total: bytes that all hosts together send beside those of the other fields but ``across``.
        pair: bytes that each rank sends to each other.
        between: ``(ranks, ranks)`` bytes from each rank to each other.
        up, down: ``(ranks,)`` bytes that each rank sends to switches, and gets from them.
        crossing: bytes through switches that have to leave a set of ranks at least.
        passes_s: seconds that its passes take the busiest switch.
        processor_s: seconds of one processor for switches and ranks that share this machine.
    """

    across: float = 0.0
    total: float = 0.0
    pair: float = 0.0
    between: Matrix | None = None
    up: Sequence[float] | Matrix | None = None
    down: Sequence[float] | Matrix | None = None
    crossing: Callable[[frozenset[int]], float] | None = None
    passes_s: float = 0.0
    processor_s: float = 0.0


@dataclass(frozen=True)
class Floor:
    """The least seconds of a step's communication, and what needs them."""

    seconds: float = 0.0
    bound: Bottleneck = Bottleneck.MODEL


class Floors:
    """Floors of a job on its hosts."""

    def __init__(self, placed: PlacedJob) -> None:
        self._placed = placed
        count = len(placed.hosts)
        self._host = np.repeat(np.arange(count), [host.processes for host in placed.hosts])
        self._ranks = np.bincount(self._host, minlength=count).astype(np.float64)
        fabric = placed.fabric
        self._rate = fabric.host_bps[[fabric.number[host.name] for host in placed.hosts]]
        self._here = all(is_here(host) for host in placed.hosts)

    @cached_property
    def _cuts(self) -> list[Cut]:
        return cuts(self._placed.fabric, self._placed.hosts)

    def floor(self, traffic: StepTraffic, *, measured: bool = False) -> Floor:
        """The largest floor.

        Args:
            traffic: traffic of a step.
            measured: the prediction was measured here, with all that processors had to do.
        """
        between = self._between_hosts(traffic)
        floors = [
            Floor(self._links_s(traffic, between), Bottleneck.LINKS),
            Floor(self._cut_s(traffic, between), Bottleneck.CUT),
            Floor(0.0 if measured else traffic.passes_s, Bottleneck.PASSES),
            Floor(0.0 if measured else self._processors_s(traffic, between), Bottleneck.PROCESSORS),
        ]
        return max(floors, key=lambda each: each.seconds)

    def _between_hosts(self, traffic: StepTraffic) -> Matrix:
        """``(hosts, hosts)`` bytes from each host to each other, and on the diagonal those that stay inside."""
        count = len(self._rate)
        sent = traffic.pair * np.outer(self._ranks, self._ranks)
        sent[np.diag_indices(count)] -= traffic.pair * self._ranks
        if traffic.between is not None:
            to_hosts = np.zeros((len(self._host), count))
            np.add.at(to_hosts.T, self._host, traffic.between.T)
            np.add.at(sent, self._host, to_hosts)
        return sent

    def _of_hosts(self, of_ranks: Sequence[float] | Matrix | None) -> Matrix:
        weights = np.zeros(len(self._host)) if of_ranks is None else np.asarray(of_ranks, dtype=np.float64)
        return np.bincount(self._host, weights, minlength=len(self._rate)).astype(np.float64)

    def _links_s(self, traffic: StepTraffic, between: Matrix) -> float:
        if len(self._rate) < 2 or not self._rate.all():
            return 0.0
        inside = np.diag(between)
        sent = between.sum(axis=1) - inside + self._of_hosts(traffic.up)
        received = between.sum(axis=0) - inside + self._of_hosts(traffic.down)
        alone = float((8 * (np.maximum(sent, received) + traffic.across) / self._rate).max())
        return max(alone, 8 * float(sent.sum() + traffic.total) / float(self._rate.sum()))

    def _cut_s(self, traffic: StepTraffic, between: Matrix) -> float:
        longest = 0.0
        for cut in self._cuts:
            inside = np.isin(np.arange(len(self._rate)), list(cut.inside))
            out, back = between[np.ix_(inside, ~inside)].sum(), between[np.ix_(~inside, inside)].sum()
            crossing = 0.0
            if traffic.crossing is not None:
                ranks = np.flatnonzero(inside[self._host])
                crossing = traffic.crossing(frozenset(ranks.tolist()))
            needs = traffic.across + max(float(out), float(back)) + crossing
            if cut.rate_bps:
                longest = max(longest, 8 * needs / cut.rate_bps)
        return longest

    def _processors_s(self, traffic: StepTraffic, between: Matrix) -> float:
        if not self._here:
            return 0.0
        through_switches = any(host.reach != "local" for host in self._placed.hosts)
        plain = float(between.sum()) + traffic.total
        forwarded = plain - float(np.trace(between)) if through_switches else 0.0
        return (plain * PLAIN_BYTE_S + forwarded * FORWARDED_BYTE_S + traffic.processor_s) / processors()


def processors() -> int:
    """Processors of this machine that a job may use."""
    return len(os.sched_getaffinity(0))
