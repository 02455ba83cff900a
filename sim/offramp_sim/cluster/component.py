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
from offramp_sim.cluster.bottlenecks import narrowed
from offramp_sim.cluster.chains import chains
from offramp_sim.cluster.orders import JobOrder, SharingJob
from offramp_sim.cluster.progress import ENDED, JobProgress, first_progress, within
from offramp_sim.cluster.shifts import shifts
from offramp_sim.hermod.flow.layout import FlowRunState
from offramp_sim.hermod.flow.policies import NO_FIFO, Order
from offramp_sim.hermod.flow.simulate import engine, memory

Array = npt.NDArray[np.float64]
_ENOUGH_TASKS: Final = 800
"""Iterations of all jobs that a sample need not exceed."""
_FEW: Final = 6
"""Iterations of the longest job that a sample has at least."""
_SHARED: Final = 0.1
"""Share of a mean iteration within which the starts and ends of a large sample share an allocation."""
_SLACK_S: Final = 1e-9
_EVENTS: Final = 1 << 62
_NEVER: Final = -1.0


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
        self._lengths = np.array([each.iteration_s for each in self._jobs])
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
            return ENDED
        current = first_progress(each, left) if done else progress
        length = current.compute_s + max(current.beside_s, current.share * each.load.seconds)
        return within(each, current, share * length)

    def _look(self) -> Forecast:
        counts = self._counts()
        exact = all(n == p.iterations for n, p in zip(counts, self._progress, strict=True))
        horizon = math.inf if exact else self._window
        run = self._run(counts, horizon, _SLACK_S if exact else self._shared_s)
        left = np.array([each.iterations for each in self._progress])
        ends = run.ends
        end = np.array([math.inf if len(row) < n else row[-1] if n else 0.0 for row, n in zip(ends, left, strict=True)])
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
        longest = float(self._lengths.max())
        window = self._sample * longest
        tasks = float((window / self._lengths[self._lengths > 0]).sum())
        return max(min(window, _FEW * longest), window * min(1.0, _ENOUGH_TASKS / tasks))

    def _counts(self) -> list[int]:
        """Iterations of each job that are simulated: those of the window and some more."""
        left = np.array([each.iterations for each in self._progress])
        fit = np.divide(self._window, self._lengths, out=np.full(len(left), np.inf), where=self._lengths > 0)
        counts = np.where(fit >= left, left, np.minimum(np.ceil(np.minimum(fit, 1e15)) + 2, left))
        return [int(count) for count in counts]

    def _run(self, counts: list[int], until_s: float, slack_s: float = _SLACK_S) -> _ComponentRun:
        return _ComponentRun(self._jobs, self._progress, counts, self._capacity, self._level, until_s, slack_s)

    @property
    def _shared_s(self) -> float:
        """Seconds within which starts and ends share an allocation of rates in a sample of many iterations."""
        lengths = self._lengths[self._lengths > 0]
        if (self._window / lengths).sum() <= _ENOUGH_TASKS:
            return _SLACK_S
        return _SHARED * float(lengths.mean())


def _pace(ends: Array, middle: float, horizon: float) -> float:
    """Iterations per second between the first and last end of the second half of a window."""
    late = ends[ends > middle]
    if len(late) > 1 and late[-1] > late[0]:
        return float((len(late) - 1) / (late[-1] - late[0]))
    return len(ends) / horizon


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
        slack_s: float,
    ) -> None:
        self._jobs, self._before, self._counts, self._until_s = jobs, progress, counts, until_s
        tasks = chains(jobs, progress, counts, capacity)
        self._first, self._width, loaded = tasks.first, tasks.width, tasks.loaded
        order = Order(level[tasks.job_of_flow], NO_FIFO, np.zeros(len(tasks.job_of_flow), np.int64))
        self._memory = memory(loaded, order, slack_s, punctual=slack_s > _SLACK_S)
        self._memory.fields.until = until_s
        self._memory[FlowRunState.end][:] = _NEVER
        if engine()(self._memory.address, _EVENTS) == 2:
            raise OfframpError("jobs that wait for links without capacity")
        self._delay = loaded.delay

    @property
    def ends(self) -> list[Array]:
        """Ends of each job's iterations that have ended."""
        end = self._memory[FlowRunState.end]
        rows = []
        for k in range(len(self._jobs)):
            own = end[self._first[k] : self._first[k + 1]]
            if self._width[k] > 1:
                own = own.reshape(self._counts[k], self._width[k])
                own = np.where((own >= 0).all(axis=1), own.max(axis=1), _NEVER)
            rows.append(own[own >= 0])
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
                states.append(first_progress(each, before.iterations - done) if before.iterations > done else ENDED)
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
        width = int(self._width[k])
        task = int(self._first[k]) + width * done
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
