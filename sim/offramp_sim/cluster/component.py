# SPDX-License-Identifier: Apache-2.0
"""Jobs that share links which cannot carry all of them at once, iteration by iteration.

The flow level's engine (:mod:`offramp_sim.hermod.flow`) runs them: an iteration is a delay and a load. Where jobs have
many iterations left, those of a while are run and the rest goes on at their pace, until something changes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp_base.errors import OfframpError
from offramp_sim.cluster.orders import JobOrder, SharingJob
from offramp_sim.cluster.shifts import shifts
from offramp_sim.hermod.flow.layout import FlowRunState
from offramp_sim.hermod.flow.network import PlainLoad
from offramp_sim.hermod.flow.policies import NO_FIFO, Order
from offramp_sim.hermod.flow.simulate import engine, memory

Array = npt.NDArray[np.float64]
_ENOUGH_TASKS: Final = 800
"""Iterations of all jobs that a sample need not exceed."""
_FEW: Final = 6
"""Iterations of the longest job that a sample has at least."""
_SLACK_S: Final = 1e-9
_EVENTS: Final = 1 << 62
_NEVER: Final = -1.0


@dataclass(frozen=True, slots=True)
class JobProgress:
    """How far a job is.

    Attributes:
        iterations: that it has left, the current one included.
        compute_s: computation left before it communicates.
        beside_s: computation left beside its communication.
        share: share of its communication left.
    """

    iterations: int
    compute_s: float
    beside_s: float
    share: float


_ENDED: Final = JobProgress(0, 0.0, 0.0, 0.0)


def first_progress(each: SharingJob, iterations: int) -> JobProgress:
    """A job at the begin of an iteration."""
    beside = each.job.overlap * each.job.compute_s
    return JobProgress(iterations, each.job.compute_s - beside, beside, 1.0 if each.load.seconds else 0.0)


def alone(each: SharingJob, progress: JobProgress, seconds: float) -> JobProgress:
    """The progress of a job that nobody hinders, after a time."""
    rest = max(progress.beside_s, progress.share * each.load.seconds)
    current = progress.compute_s + rest
    if seconds < current:
        return _within(each, progress, seconds)
    seconds -= current
    whole = min(int(seconds // each.iteration_s) if each.iteration_s else progress.iterations, progress.iterations)
    left = progress.iterations - 1 - whole
    if left <= 0:
        return _ENDED
    return _within(each, first_progress(each, left), seconds - whole * each.iteration_s)


def alone_s(each: SharingJob, progress: JobProgress) -> float:
    """Seconds until a job that nobody hinders ends."""
    if not progress.iterations:
        return 0.0
    rest = max(progress.beside_s, progress.share * each.load.seconds)
    return progress.compute_s + rest + (progress.iterations - 1) * each.iteration_s


def _within(each: SharingJob, progress: JobProgress, seconds: float) -> JobProgress:
    """The progress within an iteration, which does not end before."""
    compute = progress.compute_s - seconds
    if compute > 0:
        return replace(progress, compute_s=compute)
    done = seconds - progress.compute_s
    sent = done / each.load.seconds if each.load.seconds else 0.0
    return replace(
        progress, compute_s=0.0, beside_s=max(0.0, progress.beside_s - done), share=max(0.0, progress.share - sent)
    )


@dataclass(frozen=True, eq=False)
class Forecast:
    """What becomes of a component if nothing changes.

    Attributes:
        exact: whether all iterations were simulated.
        ends: when the simulated iterations of each job ended.
        pace: ``(jobs,)`` iterations per second after them.
        end_s: ``(jobs,)`` when each has ended all of its iterations.
    """

    exact: bool
    ends: list[Array]
    pace: Array
    end_s: Array


class Component:
    """Jobs that contend, from a time on.

    Args:
        jobs: jobs, with loads on resources of the fabric.
        progress: how far each is.
        capacity: bytes per second of the fabric's resources.
        order: who goes first.
        sample: iterations of the longest job that are simulated before the rest is taken to go on as these; 0: all.
        shifted: put iterations off so that they interleave.
    """

    def __init__(
        self,
        jobs: Sequence[SharingJob],
        progress: Sequence[JobProgress],
        capacity: Array,
        order: JobOrder,
        sample: int,
        *,
        shifted: bool = False,
    ) -> None:
        self._jobs, self._capacity = narrowed(jobs, capacity)
        self._level = np.array(order(self._jobs, self._capacity), np.int64)
        self._progress = list(progress)
        if shifted and len(jobs) > 1:
            until = [each.compute_s if each.share == 1.0 else 0.0 for each in self._progress]
            delays = shifts(self._jobs, until, self._capacity)
            self._progress = [
                replace(each, compute_s=each.compute_s + delay) if each.share == 1.0 else each
                for each, delay in zip(self._progress, delays, strict=True)
            ]
        self._sample = sample
        self._forecast: Forecast | None = None

    def forecast(self) -> Forecast:
        """The ends of all jobs, exact where their iterations are few."""
        if self._forecast is None:
            self._forecast = self._look()
        return self._forecast

    def after(self, seconds: float) -> list[JobProgress]:
        """The progress of each job after a time; within an iteration by the share of it that has passed."""
        forecast = self.forecast()
        if forecast.exact:
            return self._run(self._counts(), seconds).progress()
        return [self._at(k, forecast, seconds) for k in range(len(self._jobs))]

    def _at(self, k: int, forecast: Forecast, seconds: float) -> JobProgress:
        each, progress, ends = self._jobs[k], self._progress[k], forecast.ends[k]
        done = int(np.searchsorted(ends, seconds, side="right"))
        before = float(ends[done - 1]) if done else 0.0
        if done < len(ends):
            share = (seconds - before) / (float(ends[done]) - before)
        else:
            more = float(forecast.pace[k]) * (seconds - before)
            done, share = done + int(more), more - int(more)
        left = progress.iterations - done
        if left <= 0 or forecast.end_s[k] <= seconds:
            return _ENDED
        current = first_progress(each, left) if done else progress
        length = current.compute_s + max(current.beside_s, current.share * each.load.seconds)
        return _within(each, current, share * length)

    def _look(self) -> Forecast:
        counts = self._counts()
        exact = all(n == p.iterations for n, p in zip(counts, self._progress, strict=True))
        horizon = math.inf if exact else self._window
        run = self._run(counts, horizon)
        left = np.array([each.iterations for each in self._progress])
        ends = run.ends
        end = np.array([row[-1] if len(row) == n else math.inf for row, n in zip(ends, left, strict=True)])
        if exact:
            return Forecast(True, ends, np.zeros(len(left)), end)
        done = np.array([len(row) for row in ends])
        last = np.array([row[-1] if len(row) else 0.0 for row in ends])
        pace = np.array([_pace(row, horizon / 2, horizon) for row in ends])
        rest = np.where(pace > 0, (left - done) / np.where(pace > 0, pace, 1.0), math.inf)
        return Forecast(False, ends, pace, np.where(np.isinf(end), last + rest, end))

    @cached_property
    def _window(self) -> float:
        """Seconds of a sample: shorter where many jobs contend, whose means need fewer iterations of each."""
        if not self._sample:
            return math.inf
        longest = max(each.iteration_s for each in self._jobs)
        window = self._sample * longest
        tasks = sum(window / each.iteration_s for each in self._jobs if each.iteration_s)
        return max(min(window, _FEW * longest), window * min(1.0, _ENOUGH_TASKS / tasks))

    def _counts(self) -> list[int]:
        """Iterations of each job that are simulated: those of the window and some more."""
        counts = []
        for each, progress in zip(self._jobs, self._progress, strict=True):
            fit = self._window / each.iteration_s if each.iteration_s else math.inf
            counts.append(progress.iterations if fit >= progress.iterations else math.ceil(fit) + 2)
        return [min(n, each.iterations) for n, each in zip(counts, self._progress, strict=True)]

    def _run(self, counts: list[int], until_s: float) -> _ComponentRun:
        return _ComponentRun(self._jobs, self._progress, counts, self._capacity, self._level, until_s)


def _pace(ends: Array, middle: float, horizon: float) -> float:
    """Iterations per second between the first and last end of the second half of a window."""
    late = ends[ends > middle]
    if len(late) > 1 and late[-1] > late[0]:
        return float((len(late) - 1) / (late[-1] - late[0]))
    return len(ends) / horizon


def narrowed(jobs: Sequence[SharingJob], capacity: Array) -> tuple[list[SharingJob], Array]:
    """The jobs on those resources alone that may limit them, and the bytes per second of these.

    A resource that carries all of its jobs at full rate limits none. What limits a job by itself becomes a resource of
    its own. Of resources on which the same jobs load more of one than of another, only the former counts.
    """
    rate = [each.load.amount / each.load.seconds if each.load.seconds else each.load.amount for each in jobs]
    used, place = np.unique(np.concatenate([each.load.resource for each in jobs]), return_inverse=True)
    demand = np.bincount(place, np.concatenate(rate), len(used))
    tight = demand > capacity[used] * (1 + 1e-9)
    column = np.cumsum(tight) - 1
    share = np.zeros((int(tight.sum()), len(jobs)))
    first = 0
    for k, each in enumerate(jobs):
        mine = place[first : first + len(each.load.resource)]
        first += len(each.load.resource)
        kept = tight[mine]
        share[column[mine[kept]], k] = each.load.amount[kept] / capacity[each.load.resource[kept]]
    share = _undominated(share)
    on, amount = share > 0, share
    loads = []
    for k, each in enumerate(jobs):
        if not each.load.seconds:
            loads.append(replace(each, load=replace(each.load, resource=np.zeros(0, np.int64), amount=np.zeros(0))))
            continue
        mine = np.flatnonzero(on[:, k])
        resource = np.concatenate([[len(share) + k], mine])
        seconds = np.concatenate([[each.load.seconds], amount[mine, k]])
        loads.append(replace(each, load=replace(each.load, resource=resource, amount=seconds)))
    return loads, np.ones(len(share) + len(jobs))


def _undominated(share: Array) -> Array:
    """Rows that no other row of the same jobs exceeds everywhere; ``(resources, jobs)`` seconds of an iteration."""
    share = np.unique(share, axis=0)
    by_jobs: dict[bytes, list[int]] = {}
    for row, key in enumerate(np.packbits(share > 0, axis=1)):
        by_jobs.setdefault(key.tobytes(), []).append(row)
    kept: list[int] = []
    for rows in by_jobs.values():
        mine = share[rows]
        most = mine.max(axis=0)
        above = np.flatnonzero((mine >= most * (1 - 1e-12)).all(axis=1))
        kept += [rows[above[0]]] if len(above) else rows
    return share[sorted(kept)]


@dataclass(frozen=True, slots=True)
class _Chain:
    """The iterations of a job as tasks.

    Attributes:
        delay, load: each task's computation and the load that it sends; -1: none.
        edges: pairs of tasks, the second of which waits for the first.
    """

    delay: Array
    load: npt.NDArray[np.int64]
    edges: npt.NDArray[np.int64]


def _chain(each: SharingJob, progress: JobProgress, count: int, load: int, first: int) -> _Chain:
    """The tasks of a job from number ``first`` on: what is left of an iteration has this load, others the next one."""
    whole = first_progress(each, count)
    width = 3 if each.job.overlap > 0 else 1
    delay = np.zeros((count, width))
    delay[:, 0], delay[0, 0] = whole.compute_s, progress.compute_s
    loads = np.full((count, width), -1, np.int64)
    if each.load.seconds:
        loads[:, -1], loads[0, -1] = load + 1, load if progress.share else -1
    task = first + np.arange(count * width).reshape(count, width)
    pairs = [(task[:-1, 0], task[1:, 0])]
    if width == 3:
        delay[:, 1], delay[0, 1] = whole.beside_s, progress.beside_s
        pairs = [(task[:, 0], task[:, 1]), (task[:, 0], task[:, 2])]
        pairs += [(task[:-1, 1], task[1:, 0]), (task[:-1, 2], task[1:, 0])]
    edges = np.concatenate([np.stack(pair, axis=1) for pair in pairs])
    return _Chain(delay.ravel(), loads.ravel(), edges)


class _ComponentRun:
    """One run of the engine. A job's iteration is one task, or three where it computes beside its communication."""

    def __init__(
        self,
        jobs: Sequence[SharingJob],
        progress: Sequence[JobProgress],
        counts: Sequence[int],
        capacity: Array,
        level: npt.NDArray[np.int64],
        until_s: float,
    ) -> None:
        self._jobs, self._before, self._counts, self._until_s = jobs, progress, counts, until_s
        self._first: list[int] = []
        loaded, levels = self._load(capacity, level)
        order = Order(levels, NO_FIFO, np.zeros(len(levels), np.int64))
        self._memory = memory(loaded, order, _SLACK_S)
        self._memory.fields.until = until_s
        self._memory[FlowRunState.end][:] = _NEVER
        if engine()(self._memory.address, _EVENTS) == 2:
            raise OfframpError("jobs that wait for links without capacity")
        self._delay = loaded.delay

    def _load(self, capacity: Array, level: npt.NDArray[np.int64]) -> tuple[PlainLoad, npt.NDArray[np.int64]]:
        """The engine's arrays, and the level of each flow."""
        chains: list[_Chain] = []
        for k, (each, progress, count) in enumerate(zip(self._jobs, self._before, self._counts, strict=True)):
            self._first.append(sum(len(chain.load) for chain in chains))
            chains.append(_chain(each, progress, count, 2 * k, self._first[-1]))
        tasks = sum(len(chain.load) for chain in chains)
        edges = np.concatenate([chain.edges for chain in chains])
        edges = edges[np.argsort(edges[:, 0], kind="stable")]
        load = np.concatenate([chain.load for chain in chains])
        sends = load >= 0
        shares = [share for progress in self._before for share in (progress.share, 1.0)]
        twice = [each.load for each in self._jobs for _ in range(2)]
        loaded = PlainLoad(
            capacity=capacity,
            delay=np.concatenate([chain.delay for chain in chains]),
            flow_row=np.concatenate([[0], np.cumsum(sends)]).astype(np.int32),
            coflow_of_flow=np.arange(int(sends.sum()), dtype=np.int32),
            load=load[sends].astype(np.int32),
            use_row=np.concatenate([[0], np.cumsum([len(each.resource) for each in twice])]).astype(np.int64),
            use=np.concatenate([each.resource for each in twice]).astype(np.int32),
            amount=np.concatenate([each.amount * share for each, share in zip(twice, shares, strict=True)]),
            weight=np.array([each.weight / (share or 1.0) for each, share in zip(twice, shares, strict=True)]),
            after_row=np.searchsorted(edges[:, 0], np.arange(tasks + 1)).astype(np.int32),
            after=edges[:, 1].astype(np.int32),
            waits=np.bincount(edges[:, 1], minlength=tasks).astype(np.int32),
        )
        return loaded, np.repeat(level, [len(chain.load) for chain in chains])[sends]

    def _tasks(self, k: int) -> slice:
        width = 3 if self._jobs[k].job.overlap > 0 else 1
        return slice(self._first[k], self._first[k] + width * self._counts[k])

    @property
    def ends(self) -> list[Array]:
        """Ends of each job's iterations that have ended."""
        end = self._memory[FlowRunState.end]
        rows = []
        for k in range(len(self._jobs)):
            own = end[self._tasks(k)].reshape(self._counts[k], -1)
            last = own.max(axis=1)
            rows.append(last[(own >= 0).all(axis=1)])
        return rows

    def progress(self) -> list[JobProgress]:
        """How far each job is at the end of the run."""
        fields = self._memory.fields
        spare = set(self._memory[FlowRunState.spare][: fields.spare_count].tolist())
        task = self._memory[FlowRunState.task]
        left = {}
        for slot in range(fields.fresh_slot):
            if slot not in spare:
                share = self._memory[FlowRunState.left][slot]
                rate, since = self._memory[FlowRunState.rate][slot], self._memory[FlowRunState.since][slot]
                left[int(task[slot])] = max(0.0, float(share - rate * (self._until_s - since)))
        states = []
        start, end = self._memory[FlowRunState.start], self._memory[FlowRunState.end]
        for k, (each, before, ended) in enumerate(zip(self._jobs, self._before, self.ends, strict=True)):
            done = len(ended)
            if done >= self._counts[k]:
                states.append(first_progress(each, before.iterations - done) if before.iterations > done else _ENDED)
                continue
            states.append(self._within(k, each, before, done, left, start, end))
        return states

    def _within(
        self,
        k: int,
        each: SharingJob,
        before: JobProgress,
        done: int,
        left: dict[int, float],
        start: Array,
        end: Array,
    ) -> JobProgress:
        width = 3 if each.job.overlap > 0 else 1
        task = self._first[k] + width * done
        whole = before if done == 0 else first_progress(each, before.iterations - done)
        begun = float(start[task]) if done or start[task] > 0 else 0.0
        computed = self._until_s - begun
        delay = float(self._delay[task])
        if computed < delay:
            return replace(whole, iterations=before.iterations - done, compute_s=delay - computed)
        sends = task + width - 1
        share = left.get(sends, 0.0 if end[sends] >= 0 else 1.0) * whole.share
        beside = max(0.0, whole.beside_s - (computed - delay)) if width == 3 else 0.0
        return JobProgress(before.iterations - done, 0.0, beside, share)
