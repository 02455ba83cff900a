# SPDX-License-Identifier: Apache-2.0
"""Frames per second of several workers on one port: four queues of two cores beside one queue of one core.

Every worker is a process with its own queue of the port. The other end of the link (``--reflect``) has as many queues
and cores. Workers, agent and other end share the processors that the case may use, one for each of the agent's cores,
so that the comparison is of the work that the same processors get done.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from offramp.nic.process import AgentProcess
from offramp.switchgnn.nic_worker import NicWorker
from offramp.switchgnn.recovery import Recovery
from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError
from offramp_sim.nic.bench import FEATURES, check_sums
from offramp_sim.switchgnn.jobs import random_job

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

LINKS: Final = ("memif", "vhost", "loop")
_TIMEOUT_S: Final = 20.0
_MEMORY_MB: Final = 512
_FIRST: Final = -20


class ScalingCase(NamedTuple):
    """Number of workers, each with a queue, and cores of the agent."""

    queues: int
    cores: int

    def __str__(self) -> str:
        return f"{self.queues} queue{'s' * (self.queues > 1)} of {self.cores} core{'s' * (self.cores > 1)}"


def measure_queues(
    link: str, case: ScalingCase, seconds: float, *, vertices: int, first: bool = False, program: Path | None = None
) -> float:
    """Frames per second, both ways, of all workers together.

    Args:
        link: one of :data:`LINKS`.
        case: what is measured.
        seconds: duration.
        vertices: vertices of each worker's graph, all in one block.
        first: run at the highest nice level, so that other work on the machine disturbs less. A real-time class is not
            possible: DPDK's threads that wait for each other on one processor would never end.
        program: the agent.

    Raises:
        OfframpError: fewer processors than cores, no right to that level, or a wrong sum.
    """
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < case.cores:
        raise OfframpError(f"{case}: needs {case.cores} processors, this process may use {len(cpus)}")
    cpus = cpus[: case.cores]
    launcher = [*(["nice", "-n", str(_FIRST)] if first else []), "taskset", "-c", ",".join(map(str, cpus))]
    with ExitStack() as stack:
        folder = stack.enter_context(temporary_folder())
        near, far = _ends(link, Path(folder))
        many = ["--queues", str(case.queues), "--memory", str(_MEMORY_MB)]

        def start(port: str, *more: str) -> AgentProcess:
            return stack.enter_context(
                AgentProcess(
                    [port],
                    cores=case.cores,
                    compression="none",
                    program=program,
                    launcher=launcher,
                    arguments=[*many, *more],
                )
            )

        if far:
            start(far, "--reflect")
        agent = start(near)
        return _run(agent.path, case, seconds, vertices, cpus, first)


def _ends(link: str, folder: Path) -> tuple[str, str]:
    if link == "loop":
        return "loop", ""
    path = folder / "link.sock"
    if link == "vhost":
        return f"virtio:{path},client", f"vhost:{path}"
    return f"memif:{path},client", f"memif:{path}"


def _run(path: Path, case: ScalingCase, seconds: float, vertices: int, cpus: Sequence[int], first: bool) -> float:
    context = multiprocessing.get_context("fork")  # workers are ready at once, and there are no threads here
    barrier = context.Barrier(case.queues)
    pipes = [context.Pipe(duplex=False) for _ in range(case.queues)]
    workers = [
        context.Process(target=_work, args=(i, path, seconds, vertices, cpus, first, barrier, pipe[1]), daemon=True)
        for i, pipe in enumerate(pipes)
    ]
    for worker in workers:
        worker.start()
    try:
        total = 0.0
        for receiver, sender in pipes:
            sender.close()
            if not receiver.poll(seconds + 2 * _TIMEOUT_S):
                raise OfframpError(f"{case}: a worker did not end")
            result = receiver.recv()
            if isinstance(result, str):
                raise OfframpError(result)
            total += result
    except EOFError:
        raise OfframpError(f"{case}: a worker died") from None
    finally:
        for worker in workers:
            worker.kill()
            worker.join()
    return total


def _work(
    index: int,
    path: Path,
    seconds: float,
    vertices: int,
    cpus: Sequence[int],
    first: bool,
    barrier: Barrier,
    result: Connection,
) -> None:
    """A worker's process: reports its frames per second, or what went wrong."""
    try:
        os.sched_setaffinity(0, cpus)
        if first:
            os.setpriority(os.PRIO_PROCESS, 0, _FIRST)
        job = random_job(index, vertices=vertices, edges=5 * vertices, workers=8, limit=vertices, features=(FEATURES,))
        link = f"nic:{path}#0"
        with closing(NicWorker(index, job.plans, link, _TIMEOUT_S, recovery=Recovery(1.0, 2.0))) as worker:
            shape = len(worker.boundary(0)), FEATURES
            values = np.random.default_rng(index).integers(-(2**20), 2**20, shape).astype(np.int32)
            barrier.wait(_TIMEOUT_S)
            worker.start()
            worker.exchange(0, values)
            barrier.wait(_TIMEOUT_S)
            before, begun = worker.stats.up.packets + worker.stats.down.packets, time.perf_counter()
            while True:
                sums = worker.exchange(0, values)
                took = time.perf_counter() - begun
                if took >= seconds:
                    break
            check_sums(sums, values)
            result.send((worker.stats.up.packets + worker.stats.down.packets - before) / took)
    except (OfframpError, OSError, RuntimeError) as error:
        result.send(f"worker {index}: {error}")
