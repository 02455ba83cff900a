# SPDX-License-Identifier: Apache-2.0
"""What an iteration of a job puts on a fabric: rings of NCCL's kind, and all-to-alls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.fabric import Fabric
from offramp.fabric.model import UNLIMITED
from offramp_sim.cluster.job import ClusterJob

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_FREE: Final = UNLIMITED / 10


@dataclass(frozen=True, eq=False)
class JobLoad:
    """The traffic of an iteration.

    Attributes:
        resource: resources of the fabric that it uses.
        amount: bytes on each.
        weight: in fair sharing, flows for each byte of a flow: links share by flows.
        seconds: that it takes alone.
    """

    resource: Ints
    amount: Floats
    weight: float
    seconds: float


def job_load(fabric: Fabric, job: ClusterJob, ranks: Ints) -> JobLoad:
    """The load of a job on its ranks, which count host by host.

    An all-reduce runs on rings, one for each NIC of its hosts, which share the bytes: a ring enters and leaves a host
    by one NIC. Each GPU sends twice the bytes but one part in the number of GPUs.

    Raises:
        OfframpError: hosts that nothing joins.
    """
    rows: list[tuple[Ints, Ints, Floats]] = []
    count = len(ranks)
    if count > 1 and job.all_reduce:
        rows.append(_rings(fabric, ranks, 2 * (count - 1) / count * job.all_reduce))
    if count > 1 and job.all_to_all:
        source, sink = (each.ravel() for each in np.meshgrid(ranks, ranks, indexing="ij"))
        away = source != sink
        pair = np.full(int(away.sum()), job.all_to_all / (count - 1))
        rows.append((source[away], sink[away], pair))
    if not rows:
        return JobLoad(np.zeros(0, np.int64), np.zeros(0), 1.0, 0.0)
    source, sink, size = (np.concatenate(part) for part in zip(*rows, strict=True))
    load = fabric.load(source, sink, size)
    used = np.flatnonzero((load > 0) & (fabric.capacity < _FREE))
    amount = load[used]
    seconds = float((amount / fabric.capacity[used]).max(initial=0.0))
    away = fabric.rank_host[source] != fabric.rank_host[sink]
    flow = float(size[away].max()) if away.any() else float(size.max())
    return JobLoad(used, amount, 1.0 / flow, seconds)


def _rings(fabric: Fabric, ranks: Ints, sent: float) -> tuple[Ints, Ints, Floats]:
    """Flows of all rings together: source, sink and bytes."""
    groups = np.split(ranks, np.flatnonzero(np.diff(fabric.rank_host[ranks])) + 1)
    if len(groups) == 1:
        return ranks, np.roll(ranks, -1), np.full(len(ranks), sent)
    inside = [(group[:-1], group[1:]) for group in groups]
    sources, sinks = [each for each, _ in inside], [each for _, each in inside]
    sizes = [np.full(len(each), sent) for each in sources]
    doors = [group[np.unique(fabric.rail[group], return_index=True)[1]] for group in groups]
    rings = min(map(len, doors))
    for ring in range(rings):
        mine = np.array([each[ring % len(each)] for each in doors])
        sources.append(mine)
        sinks.append(np.roll(mine, -1))
        sizes.append(np.full(len(mine), sent / rings))
    return np.concatenate(sources), np.concatenate(sinks), np.concatenate(sizes)
