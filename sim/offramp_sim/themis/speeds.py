# SPDX-License-Identifier: Apache-2.0
"""Dimensions that change speed at run time, and plans that adapt (beyond the paper)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from offramp.themis import themis
from offramp.themis.network import Collective
from offramp.themis.pipeline import ChunkPolicy, Finish, Operation, Timeline, execute
from offramp.themis.schedule import Chunk, ChunkSchedule
from offramp_base.errors import OfframpError


@dataclass(frozen=True, slots=True)
class SpeedChange:
    """A change of speed: from ``at_ps`` on, each dimension runs at a factor of its nominal bandwidth."""

    at_ps: int
    factors: tuple[float, ...]


class SpeedProfile:
    """Piecewise constant speeds; nominal until the first change."""

    def __init__(self, dims: int, changes: Sequence[SpeedChange]) -> None:
        """Raises OfframpError: times that do not rise from above 0, or not one positive factor for each dimension."""
        times = [change.at_ps for change in changes]
        if times != sorted(set(times)) or any(t <= 0 for t in times):
            raise OfframpError(f"changes of speed at {times} ps: expected rising times above 0")
        for change in changes:
            if len(change.factors) != dims or any(not factor > 0 for factor in change.factors):
                raise OfframpError(f"speeds {change.factors}: expected {dims} factors above 0")
        self.changes = tuple(changes)
        self._times = times
        self._factors = [(1.0,) * dims, *(change.factors for change in changes)]

    def finish(self, dim: int, start: int, work_ps: int) -> int:
        """End of a transfer of nominal duration ``work_ps`` that starts at ``start``."""
        at, left = bisect_right(self._times, start), float(work_ps)
        now = float(start)
        while at < len(self._times):
            possible = (self._times[at] - now) * self._factors[at][dim]
            if possible >= left:
                break
            left -= possible
            now = float(self._times[at])
            at += 1
        return max(start, round(now + left / self._factors[at][dim]))


def run_static(schedule: ChunkSchedule, profile: SpeedProfile, policy: ChunkPolicy = ChunkPolicy.SCF) -> Timeline:
    """Run the schedule as planned, at the actual speeds."""
    return execute(schedule.stages(), len(schedule.network.dimensions), policy, finish=profile.finish)


def run_adaptive(schedule: ChunkSchedule, profile: SpeedProfile, policy: ChunkPolicy = ChunkPolicy.SCF) -> Timeline:
    """Let Themis replan at every change what has not begun: whole chunks, and the gathering half of others.

    All NPUs learn of a change at the same moment; stages that have begun, and those after them in the same half, stay
    as they are.
    """
    current, release = schedule, [0] * len(schedule.chunks)
    for change in profile.changes:
        ran = _run(current, release, profile.finish, policy)
        if change.at_ps >= ran.finish_ps:
            break
        current, release = _again(current, release, ran, change)
    return _run(current, release, profile.finish, policy)


def _run(schedule: ChunkSchedule, release: Sequence[int], finish: Finish, policy: ChunkPolicy) -> Timeline:
    return execute(schedule.stages(), len(schedule.network.dimensions), policy, release, finish)


def _again(
    schedule: ChunkSchedule, release: Sequence[int], ran: Timeline, change: SpeedChange
) -> tuple[ChunkSchedule, list[int]]:
    """The schedule with new orders for stages that have not begun when the speed changes."""
    network = schedule.network.at_speed(change.factors)
    begun: dict[int, list[Operation]] = {}
    for op in ran.operations:
        if op.start < change.at_ps:
            begun.setdefault(op.chunk, []).append(op)
    tracker = themis.Tracker([0] * len(network.dimensions))
    stages = ChunkSchedule(network, schedule.collective, schedule.chunks).stages()
    for i, done in begun.items():  # what is left of the stages that stay
        for index, stage in enumerate(stages[i]):
            if index >= len(done) and not _gathers(schedule, i, index, len(done)):
                tracker.loads[stage.dim] += stage.busy_ps
    chunks, starts = list(schedule.chunks), list(release)
    for i, chunk in enumerate(schedule.chunks):
        if i not in begun:
            chunks[i] = themis.schedule(network, schedule.collective, [chunk.size], tracker=tracker).chunks[0]
            starts[i] = change.at_ps
        elif schedule.collective is Collective.ALL_REDUCE and len(begun[i]) < len(chunk.reduce):
            order = themis.order_chunk(network, Collective.ALL_GATHER, chunk.size, tracker.loads, 1 / 16)
            tracker.add(themis.chunk_loads(network, Collective.ALL_GATHER, order, chunk.size))
            chunks[i] = Chunk(chunk.size, chunk.reduce, order)
    return ChunkSchedule(schedule.network, schedule.collective, tuple(chunks)), starts


def _gathers(schedule: ChunkSchedule, chunk: int, index: int, done: int) -> bool:
    """Whether a stage belongs to a gathering half that can still be replanned."""
    if schedule.collective is not Collective.ALL_REDUCE:
        return False
    reduces = len(schedule.chunks[chunk].reduce)
    return done < reduces <= index
