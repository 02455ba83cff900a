# SPDX-License-Identifier: Apache-2.0
"""Placement of a job's workers: servers and NICs, and the groups that they form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from offramp.hermod.job import HermodJob

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Placement:
    """Worker ``stage * dp + replica`` and the hardware under it.

    Neighbouring stages of a replica and the members of an EP group lie on different servers where there are enough:
    the thesis has both on the network. Of a worker with several NICs one stands for all, they carry the same.

    Attributes:
        server, port: server and port of each worker; a port is a NIC.
        ports: number of NICs in the model.
        share: GPUs of a worker that send through its NIC.
    """

    server: Indices
    port: Indices
    ports: int
    share: int

    @classmethod
    def of(cls, job: HermodJob) -> Placement:
        """Servers in turn, one step further with each stage where the replicas go round."""
        each = max(1, min(job.gpus_per_server, job.gpus) // job.tp)
        servers = max(1, job.workers // each)
        stage, replica = np.divmod(np.arange(job.workers), job.dp)
        turn = stage if job.dp % servers == 0 else np.zeros_like(stage)
        server = ((stage * job.dp + replica + turn) % servers).astype(np.int64)
        gpus_a_nic = job.gpus_per_server // job.nics_per_server
        together = max(1, gpus_a_nic // job.tp)  # workers behind one NIC
        nics = -(-each // together)
        slot = np.zeros(job.workers, np.int64)
        for s in range(servers):
            mine = np.flatnonzero(server == s)
            slot[mine] = np.arange(len(mine))
        return cls(
            server, (server * nics + slot // together % nics).astype(np.int64), servers * nics, min(job.tp, gpus_a_nic)
        )


def expert_groups(job: HermodJob, stage: int) -> list[Indices]:
    """The EP groups of a stage, as workers."""
    size = job.expert_workers
    strides = job.dp // size
    return [stage * job.dp + g * size + np.arange(size) for g in range(strides)]


def replica_rings(job: HermodJob, stage: int, placement: Placement, *, experts: bool) -> list[Indices]:
    """Rings of the workers that hold the same parameters, server by server.

    The copies of an expert lie on as many servers as there are, so that each GPU of a worker is in a ring of its own.
    """
    length = job.expert_servers if experts else job.dp
    stride = job.dp // length
    groups = [stage * job.dp + j + stride * np.arange(length) for j in range(stride)]
    return [group[np.argsort(placement.server[group], kind="stable")] for group in groups]
