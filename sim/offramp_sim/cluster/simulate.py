# SPDX-License-Identifier: Apache-2.0
"""A cluster over time: jobs arrive, wait for GPUs, run beside others, lose links, and end.

Whatever happens at the level of jobs (an arrival, an end, a failure) is an event here. In between, jobs whose links can
carry all of them at once go on as if they were alone, and the others are simulated together
(:mod:`offramp_sim.cluster.component`).
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.fabric import Fabric
from offramp_base.errors import OfframpError
from offramp_sim.cluster.component import Component
from offramp_sim.cluster.job import ClusterJob
from offramp_sim.cluster.orders import ORDERS, SharingJob
from offramp_sim.cluster.placements import PLACEMENTS, FreeGpus
from offramp_sim.cluster.progress import JobProgress, alone, alone_s, first_progress
from offramp_sim.cluster.traffic import JobLoad, job_load

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_FULL: Final = 1 + 1e-9
CASSINI: Final = "cassini"
"""Order in which links share by flows, and iterations are put off so that they interleave."""


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """How jobs are placed, ordered and simulated.

    Attributes:
        placement: name of a placement (:data:`offramp_sim.cluster.placements.PLACEMENTS`).
        order: name of an order (:data:`offramp_sim.cluster.orders.ORDERS`), or ``cassini``.
        backfill: whether a job that fits goes before those that wait for more GPUs.
        sample: iterations of the longest of some jobs that contend, before the rest is taken to go on as these; where
            fewer are left the simulation is exact. 0: always exact.
        checkpoint: iterations between two checkpoints, from which a job goes on that lost a link.
        restart_s: seconds that it takes to go on.
        seed: seed of placements that draw.
    """

    placement: str = "packed"
    order: str = "fair"
    backfill: bool = False
    sample: int = 20
    checkpoint: int = 100
    restart_s: float = 60.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """What became of a job.

    Attributes:
        job: the job.
        start_s: when it got its GPUs; infinity: never.
        finish_s: when it ended.
        ranks: its GPUs, the last ones if it had several.
        alone_s: seconds that it would take on these without others.
        network_share: share of these in which it communicates without computing.
        restarts: how often it had to start anew.
    """

    job: ClusterJob
    start_s: float
    finish_s: float
    ranks: Ints
    alone_s: float
    network_share: float
    restarts: int = 0

    @property
    def completion_s(self) -> float:
        """Seconds from its arrival to its end."""
        return self.finish_s - self.job.arrival_s

    @property
    def slowdown(self) -> float:
        """How many times longer it ran than alone."""
        return (self.finish_s - self.start_s) / self.alone_s if self.alone_s else 1.0


@dataclass(frozen=True, slots=True)
class Stretch:
    """A time in which a job made some iterations at an even pace, for pictures of links."""

    job: int
    start_s: float
    end_s: float
    iterations: float
    load: JobLoad


@dataclass(frozen=True, eq=False)
class ClusterRun:
    """The result of a simulation.

    Attributes:
        fabric: the network.
        outcomes: what became of each job, by arrival.
        stretches: what jobs did when.
        contended: how often jobs were simulated together, because their links could not carry all at once.
    """

    fabric: Fabric
    outcomes: list[JobOutcome]
    stretches: list[Stretch]
    contended: int

    @property
    def makespan_s(self) -> float:
        """When the last job ended."""
        return max((each.finish_s for each in self.outcomes), default=0.0)


def simulate_cluster(
    fabric: Fabric,
    jobs: Sequence[ClusterJob],
    options: ClusterOptions | None = None,
    progress: Callable[[float], None] | None = None,
) -> ClusterRun:
    """Run jobs on a fabric until all have ended; its file's failures happen at their times.

    Args:
        fabric: hosts and network; a rank is a GPU.
        jobs: jobs, in any order.
        options: how jobs are placed, ordered and simulated.
        progress: gets the share of jobs that have ended.

    Raises:
        OfframpError: a job with more GPUs than there are, unknown names, or hosts that nothing joins.
    """
    return _Simulation(fabric, sorted(jobs, key=lambda job: job.arrival_s), options or ClusterOptions(), progress).run()


@dataclass(slots=True, eq=False)
class _RunningJob:
    """A job that has GPUs.

    Attributes:
        component: that it is simulated in; None: nobody hinders it.
        since_s, state: when its progress was last known, and that progress.
        version: number of the valid forecast of its end; the calendar's older ones are ignored.
    """

    number: int
    contender: SharingJob
    ranks: Ints
    since_s: float
    state: JobProgress
    component: _JobGroup | None = None
    version: int = 0
    first_start_s: float = 0.0
    restarts: int = 0


@dataclass(slots=True, eq=False)
class _JobGroup:
    """Jobs that contend, from ``since_s`` on."""

    members: list[_RunningJob]
    since_s: float
    simulation: Component


_FAILS: Final = 0
_ENDS: Final = 1
_ARRIVES: Final = 2
"""Sorts of events, in the order in which those of one time happen."""


@dataclass(slots=True)
class _Waiting:
    """A job that waits for GPUs."""

    number: int
    iterations: int
    ready_s: float
    first_start_s: float = math.inf
    restarts: int = 0


class _Simulation:
    def __init__(
        self,
        fabric: Fabric,
        jobs: list[ClusterJob],
        options: ClusterOptions,
        progress: Callable[[float], None] | None,
    ) -> None:
        for job in jobs:
            if job.gpus > fabric.ranks:
                raise OfframpError(f"job {job.name}: {job.gpus} GPUs: {fabric.cluster.name} has {fabric.ranks}")
        self._whole, self._jobs, self._options, self._progress = fabric, jobs, options, progress
        self._order = ORDERS.get("fair" if options.order == CASSINI else options.order)
        self._place = PLACEMENTS.get(options.placement)
        self._fabric = fabric.at(0.0)
        self._gpus = FreeGpus(fabric)
        self._gpus.route(self._fabric)
        self._random = np.random.default_rng(options.seed)
        self._calendar: list[tuple[float, int, int, int]] = []  # time, sort of event, job, version
        self._queue: deque[_Waiting] = deque()
        self._running: dict[int, _RunningJob] = {}
        self._users: dict[int, set[int]] = {}
        self._outcomes: dict[int, JobOutcome] = {}
        self._stretches: list[Stretch] = []
        self._contended = 0
        self._now = 0.0

    def run(self) -> ClusterRun:
        for number, job in enumerate(self._jobs):
            heapq.heappush(self._calendar, (job.arrival_s, _ARRIVES, number, 0))
        for each in self._whole.cluster.failures:
            for time_ns in (each.start_ns, each.end_ns):
                if 0 < time_ns < math.inf:
                    heapq.heappush(self._calendar, (time_ns / 1e9, _FAILS, 0, 0))
        while self._calendar and len(self._outcomes) < len(self._jobs):
            self._now = self._calendar[0][0]
            changed = False
            while self._calendar and self._calendar[0][0] <= self._now:
                changed |= self._happens(*heapq.heappop(self._calendar)[1:])
            if changed:
                self._start_waiting()
        if len(self._outcomes) < len(self._jobs):
            stuck = next(job.name for number, job in enumerate(self._jobs) if number not in self._outcomes)
            raise OfframpError(f"job {stuck}: its hosts are cut off for ever")
        outcomes = [self._outcomes[number] for number in range(len(self._jobs))]
        return ClusterRun(self._whole, outcomes, self._stretches, self._contended)

    # --- events --------------------------------------------------------------------------------------------

    def _happens(self, sort: int, number: int, version: int) -> bool:
        if sort == _ARRIVES:
            if version == 0:
                self._queue.append(_Waiting(number, self._jobs[number].iterations, self._now))
            return True
        if sort == _FAILS:
            self._links_change()
            return True
        running = self._running.get(number)
        if running is None or running.version != version:
            return False
        self._end(running)
        return True

    def _end(self, running: _RunningJob) -> None:
        self._leave(running)
        self._gpus.mark(running.ranks, free=True)
        del self._running[running.number]
        contender = running.contender
        hidden = contender.iteration_s - contender.job.compute_s
        self._outcomes[running.number] = JobOutcome(
            contender.job,
            running.first_start_s,
            self._now,
            running.ranks,
            contender.job.iterations * contender.iteration_s,
            hidden / contender.iteration_s if contender.iteration_s else 0.0,
            running.restarts,
        )
        if self._progress is not None:
            self._progress(len(self._outcomes) / len(self._jobs))

    def _start_waiting(self) -> None:
        """Give GPUs to those that wait, in order."""
        free = int(self._gpus.of_host.sum())
        later: list[_Waiting] = []
        while self._queue:
            waiting = self._queue.popleft()
            count = self._jobs[waiting.number].gpus
            if count > free or waiting.ready_s > self._now or not self._start(waiting):
                later.append(waiting)
                if not self._options.backfill and waiting.ready_s <= self._now:
                    break
                if not free:
                    break
                continue
            free -= count
        self._queue.extendleft(reversed(later))

    def _start(self, waiting: _Waiting) -> bool:
        job = self._jobs[waiting.number]
        self._gpus.job = job
        ranks = self._place(self._gpus, job.gpus, self._random)
        try:
            load = job_load(self._fabric, job, ranks)
        except OfframpError:
            if not self._fabric.without:
                raise
            self._gpus.mark(ranks, free=True)  # cut off from each other: until links are mended
            return False
        first = min(waiting.first_start_s, self._now)
        contender = SharingJob(job, load, self._now)
        state = first_progress(contender, waiting.iterations)
        running = _RunningJob(waiting.number, contender, ranks, self._now, state)
        running.first_start_s, running.restarts = first, waiting.restarts
        self._running[waiting.number] = running
        self._join(running)
        return True

    # --- who hinders whom ----------------------------------------------------------------------------------

    def _rates(self, contender: SharingJob) -> Floats:
        """Bytes per second on each resource of a job's load when it communicates at full rate."""
        load = contender.load
        return load.amount / load.seconds if load.seconds else load.amount

    def _join(self, running: _RunningJob) -> None:
        load = running.contender.load
        affected = self._members_at(load.resource)
        self._settle(affected)
        self._gpus.use[load.resource] += self._rates(running.contender)
        for resource in load.resource.tolist():
            self._users.setdefault(resource, set()).add(running.number)
        self._regroup([*affected, running])

    def _leave(self, running: _RunningJob) -> None:
        load = running.contender.load
        affected = self._members_at(load.resource)
        if running.component is not None:
            affected = list(dict.fromkeys([*affected, *running.component.members]))
        self._settle(affected)
        if running.component is None and running not in affected:
            self._settle([running])
        self._gpus.use[load.resource] -= self._rates(running.contender)
        for resource in load.resource.tolist():
            users = self._users[resource]
            users.discard(running.number)
            if not users:
                del self._users[resource]
                self._gpus.use[resource] = 0.0
        self._regroup([each for each in affected if each is not running])

    def _members_at(self, resources: Ints) -> list[_RunningJob]:
        """The jobs that use any of some resources, and all that these are simulated with."""
        numbers: dict[int, None] = {}
        for resource in resources.tolist():
            for number in self._users.get(resource, ()):
                numbers.setdefault(number)
        members: dict[_RunningJob, None] = {}
        for number in numbers:
            running = self._running[number]
            members.setdefault(running)
            if running.component is not None:
                members.update(dict.fromkeys(running.component.members))
        return list(members)

    def _settle(self, members: Sequence[_RunningJob]) -> None:
        """Bring the progress of jobs up to now."""
        groups: dict[_JobGroup, None] = {}
        for each in members:
            if each.component is not None:
                groups.setdefault(each.component)
            else:
                self._set(each, alone(each.contender, each.state, self._now - each.since_s))
        for group in groups:
            states = group.simulation.after(self._now - group.since_s)
            for each, state in zip(group.members, states, strict=True):
                self._set(each, state)
                each.component = None

    def _set(self, running: _RunningJob, state: JobProgress) -> None:
        if self._now > running.since_s and running.contender.load.seconds:
            iterations = _left(running.state) - _left(state)
            load = running.contender.load
            self._stretches.append(Stretch(running.number, running.since_s, self._now, iterations, load))
        running.since_s, running.state = self._now, state

    def _regroup(self, members: Sequence[_RunningJob]) -> None:
        """Divide jobs into those that hinder each other, and forecast their ends."""
        left = dict.fromkeys(each.number for each in members)
        over = self._gpus.use > self._fabric.capacity * _FULL
        while left:
            number = next(iter(left))
            del left[number]
            group, look = [self._running[number]], [self._running[number]]
            while look:
                used = look.pop().contender.load.resource
                tight = used[over[used]]
                over[tight] = False
                for resource in tight.tolist():
                    for other in self._users[resource]:
                        if other in left:
                            del left[other]
                            group.append(self._running[other])
                            look.append(self._running[other])
            self._forecast(group)

    def _forecast(self, group: list[_RunningJob]) -> None:
        for each in group:
            each.version += 1
        if len(group) == 1:
            only = group[0]
            self._expect(only, self._now + alone_s(only.contender, only.state))
            return
        group.sort(key=lambda each: (each.contender.started_s, each.number))
        self._contended += 1
        options = self._options
        simulation = Component(
            [each.contender for each in group],
            [each.state for each in group],
            self._fabric.capacity,
            self._order,
            options.sample,
            shifted=options.order == CASSINI,
        )
        shared = _JobGroup(group, self._now, simulation)
        ends = simulation.forecast().end_s
        for each, end in zip(group, ends.tolist(), strict=True):
            each.component = shared
            self._expect(each, self._now + end)

    def _expect(self, running: _RunningJob, time_s: float) -> None:
        heapq.heappush(self._calendar, (time_s, _ENDS, running.number, running.version))

    # --- failures ------------------------------------------------------------------------------------------

    def _links_change(self) -> None:
        """Route all jobs anew; those that nothing joins any more go back to their last checkpoint and wait."""
        self._settle(list(self._running.values()))
        failed = self._whole.failed_at(self._now * 1e9)
        self._fabric = self._whole.failing(failed) if failed else self._whole
        self._gpus.route(self._fabric)
        self._users.clear()
        self._gpus.use[:] = 0.0
        for running in list(self._running.values()):
            try:
                load = job_load(self._fabric, running.contender.job, running.ranks)
            except OfframpError:
                self._stop(running)
                continue
            job, started = running.contender.job, running.contender.started_s
            running.contender = SharingJob(job, load, started)
            if running.state.share < 1.0 and not load.seconds:
                running.state = first_progress(running.contender, running.state.iterations)
            self._gpus.use[load.resource] += self._rates(running.contender)
            for resource in load.resource.tolist():
                self._users.setdefault(resource, set()).add(running.number)
        self._regroup(list(self._running.values()))

    def _stop(self, running: _RunningJob) -> None:
        """Take a job's GPUs; it goes on from its last checkpoint."""
        options, job = self._options, running.contender.job
        done = job.iterations - running.state.iterations
        kept = done // options.checkpoint * options.checkpoint
        self._gpus.mark(running.ranks, free=True)
        del self._running[running.number]
        ready = self._now + options.restart_s
        waiting = _Waiting(running.number, job.iterations - kept, ready, running.first_start_s, running.restarts + 1)
        self._queue.appendleft(waiting)
        heapq.heappush(self._calendar, (ready, _ARRIVES, running.number, 1))


def _left(state: JobProgress) -> float:
    """Iterations left, with the share of the communication of the current one that is left."""
    return state.iterations - 1 + state.share if state.iterations else 0.0
