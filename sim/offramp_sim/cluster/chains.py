# SPDX-License-Identifier: Apache-2.0
"""Iterations of jobs as tasks of the flow level's engine.

An iteration is one task, a delay and a load, or three where a job computes beside its communication: what it computes
before, what it computes beside, and the load.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from offramp_sim.cluster.orders import SharingJob
from offramp_sim.cluster.progress import JobProgress
from offramp_sim.hermod.flow.network import PlainLoad

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Chains:
    """Tasks of all jobs, job by job and iteration by iteration.

    Attributes:
        width: ``(jobs,)`` tasks of an iteration.
        first: ``(jobs + 1,)`` the first task of each job.
        job_of_flow: ``(flows,)`` the job of each task that has a load, in order.
        loaded: the tasks as the engine's arrays.
    """

    width: Ints
    first: Ints
    job_of_flow: Ints
    loaded: PlainLoad


def chains(
    jobs: Sequence[SharingJob], progress: Sequence[JobProgress], counts: Sequence[int], capacity: Floats
) -> Chains:
    """The next iterations of some jobs, the first of which may have begun.

    Args:
        jobs: jobs, with loads on resources.
        progress: how far each is.
        counts: iterations of each.
        capacity: amount per second of the resources.
    """
    overlap = np.array([each.job.overlap for each in jobs])
    compute = np.array([each.job.compute_s for each in jobs])
    seconds = np.array([each.load.seconds for each in jobs])
    begun = np.array([(each.compute_s, each.beside_s, each.share) for each in progress]).reshape(-1, 3)
    width = np.where(overlap > 0, 3, 1)
    size = np.array(counts, np.int64) * width
    first = np.concatenate([[0], np.cumsum(size)])
    job = np.repeat(np.arange(len(jobs)), size)
    task = np.arange(len(job))
    iteration, column = np.divmod(task - first[job], width[job])
    initial, last = iteration == 0, iteration == np.array(counts)[job] - 1
    before = np.where(initial, begun[job, 0], (compute - overlap * compute)[job])
    beside = np.where(initial, begun[job, 1], (overlap * compute)[job])
    sends = (column == width[job] - 1) & (seconds[job] > 0) & ~(initial & (begun[job, 2] == 0))
    followers = np.where((width[job] == 3) & (column == 0), 2, np.where(last, 0, 1))
    after_row = np.concatenate([[0], np.cumsum(followers)])
    source = np.repeat(task, followers)
    turn = np.arange(len(source)) - after_row[source]
    after = source + 1 + turn + ((width[job] == 3) & (column == 1))[source]
    share = np.stack([begun[:, 2], np.ones(len(jobs))], axis=1).ravel()
    used = np.array([len(each.load.resource) for each in jobs for _ in range(2)])
    loaded = PlainLoad(
        capacity=capacity,
        delay=np.where(column == 0, before, np.where(column == 1, beside, 0.0)),
        flow_row=np.concatenate([[0], np.cumsum(sends)]).astype(np.int32),
        coflow_of_flow=np.arange(int(sends.sum()), dtype=np.int32),
        load=(2 * job + ~initial)[sends].astype(np.int32),
        use_row=np.concatenate([[0], np.cumsum(used)]).astype(np.int64),
        use=np.concatenate([each.load.resource for each in jobs for _ in range(2)]).astype(np.int32),
        amount=np.concatenate([each.load.amount for each in jobs for _ in range(2)]) * np.repeat(share, used),
        weight=np.repeat([each.load.weight for each in jobs], 2) / np.where(share > 0, share, 1.0),
        after_row=after_row.astype(np.int32),
        after=after.astype(np.int32),
        waits=np.bincount(after, minlength=len(job)).astype(np.int32),
    )
    return Chains(width, first, job[sends], loaded)
