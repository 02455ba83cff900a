# SPDX-License-Identifier: Apache-2.0
"""The resources that may limit jobs which contend, out of all that they use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp_sim.cluster.orders import SharingJob
from offramp_sim.cluster.traffic import JobLoad

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_EQUAL: Final = 1 - 1e-12


def narrowed(jobs: Sequence[SharingJob], capacity: Floats) -> tuple[list[SharingJob], Floats]:
    """The jobs on those resources alone that may limit them, and the bytes per second of these.

    A resource that carries all of its jobs at full rate limits none. What limits a job by itself becomes a resource of
    its own. Of resources on which the same jobs load more of one than of another, only the former counts.
    """
    seconds = np.array([each.load.seconds for each in jobs])
    user = np.repeat(np.arange(len(jobs)), [len(each.load.resource) for each in jobs])
    resource = np.concatenate([each.load.resource for each in jobs])
    amount = np.concatenate([each.load.amount for each in jobs])
    sends = np.where(seconds > 0, seconds, 1.0)[user]
    tight = np.bincount(resource, amount / sends, len(capacity)) > capacity * (1 + 1e-9)
    kept = np.flatnonzero(tight[resource])
    kept = kept[np.argsort(resource[kept], kind="stable")]
    row = (np.cumsum(tight) - 1)[resource[kept]]
    share = amount[kept] / capacity[resource[kept]]
    chosen = _undominated(row, user[kept], share, len(jobs))
    column = np.cumsum(chosen) - 1
    mine = np.flatnonzero(chosen[row])
    mine = mine[np.argsort(user[kept][mine], kind="stable")]
    parts = np.searchsorted(user[kept][mine], np.arange(len(jobs) + 1))
    rows, shares, limits = column[row[mine]], share[mine], int(chosen.sum())
    loads = []
    for k, each in enumerate(jobs):
        own, part = ([limits + k], slice(parts[k], parts[k + 1])) if each.load.seconds else ([], slice(0))
        used = np.concatenate([np.array(own, np.int64), rows[part]])
        need = np.concatenate([np.full(len(own), each.load.seconds), shares[part]])
        loads.append(SharingJob(each.job, JobLoad(used, need, each.load.weight, each.load.seconds), each.started_s))
    return loads, np.ones(limits + len(jobs))


def _undominated(row: Ints, user: Ints, share: Floats, jobs: int) -> npt.NDArray[np.bool_]:
    """Whether each row counts: no other row of the same jobs exceeds it everywhere, or equals it and stands before it.

    Args:
        row: ``(n,)`` ascending: the row of each entry.
        user: ``(n,)`` its job, ascending within a row.
        share: ``(n,)`` seconds that an iteration of the job takes of the row's resource.
        jobs: how many there are.
    """
    if not len(row):
        return np.zeros(0, np.bool_)
    first = np.searchsorted(row, np.arange(row[-1] + 1))
    key = np.random.default_rng(0).integers(1, 1 << 63, jobs).astype(np.uint64)
    group = np.unique(np.add.reduceat(key[user], first), return_inverse=True)[1]
    cell = group[row] * jobs + user
    most = np.zeros((int(group.max()) + 1) * jobs)
    np.maximum.at(most, cell, share)
    above = np.logical_and.reduceat(share >= most[cell] * _EQUAL, first)
    chosen = np.zeros(len(first), np.bool_)
    top = np.flatnonzero(above)
    chosen[top[np.unique(group[top], return_index=True)[1]]] = True
    covered = np.zeros(int(group.max()) + 1, np.bool_)
    covered[group[top]] = True
    others = np.flatnonzero(~covered[group])
    value = np.add.reduceat(key[user] * share.view(np.uint64), first)[others]
    chosen[others[np.unique(value, return_index=True)[1]]] = True
    return chosen
