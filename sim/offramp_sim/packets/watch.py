# SPDX-License-Identifier: Apache-2.0
"""A queue over time: its length as packets find it at the port that leads to a host."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from offramp_base.errors import OfframpError
from offramp_sim.packets import layout as at
from offramp_sim.packets.machine import SimulationMemory
from offramp_sim.packets.topology import Topology


@dataclass(frozen=True, slots=True)
class QueueWatch:
    """The queue to watch.

    Attributes:
        host: host to which the switch's port leads.
        every_ps: length of an interval.
        intervals: number of intervals, from the beginning.
    """

    host: int
    every_ps: int
    intervals: int


def load_watch(machine: SimulationMemory, topology: Topology, watch: QueueWatch | None) -> None:
    """Reserve room for the samples.

    Raises:
        OfframpError: a host that does not exist, or no intervals.
    """
    if watch is not None and not (0 <= watch.host < topology.hosts and watch.every_ps > 0 and watch.intervals > 0):
        raise OfframpError(f"watch {watch}: expected a host below {topology.hosts}, and times above 0")
    samples = np.zeros((watch.intervals if watch else 1, at.QueueSample.WORDS), np.int64)
    samples[:, at.QueueSample.least] = at.NEVER_PS
    machine.give(at.PartitionState.samples, samples)
    for context in machine.contexts:
        context.watched = at.NOTHING
        if watch is not None:
            context.watched = int(np.flatnonzero(topology.target == watch.host)[0])
            context.sample_ps, context.sample_count = watch.every_ps, watch.intervals
    if watch is not None:  # every packet goes the way of those that may be marked or dropped
        machine[at.PartitionState.ports][machine.contexts[0].watched, at.PortRecord.check] = 0


def watched(machine: SimulationMemory, topology: Topology) -> npt.NDArray[np.float64]:
    """``(intervals, 3)`` least, mean and most bytes that packets found queued; NaN if none came."""
    samples, rate = machine[at.PartitionState.samples], float(topology.byte_ps[max(0, machine.contexts[0].watched)])
    delays = np.full((len(samples), 3), np.nan)
    some = samples[:, at.QueueSample.packets] > 0
    delays[some, 0] = samples[some, at.QueueSample.least]
    delays[some, 1] = samples[some, at.QueueSample.total] / samples[some, at.QueueSample.packets]
    delays[some, 2] = samples[some, at.QueueSample.most]
    lengths: npt.NDArray[np.float64] = delays / rate
    return lengths
