# SPDX-License-Identifier: Apache-2.0
"""A worker's job in a file, whose arrays the worker maps instead of having copies of them."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from pathlib import Path

from offramp.train.job import WorkerJob
from offramp_base.wire.objects import pack, unpack


@dataclass(frozen=True)
class StoredJob:
    """A job in ``path``, a file of this machine that lives as long as the run."""

    path: Path

    @classmethod
    def of(cls, job: WorkerJob, path: Path) -> StoredJob:
        """Write ``job`` to ``path``."""
        path.write_bytes(pack(job, WorkerJob))
        return cls(path)

    def open(self) -> WorkerJob:
        """The job, its arrays in the mapped file."""
        with self.path.open("r+b") as file:
            content = memoryview(mmap.mmap(file.fileno(), 0))
        job: WorkerJob = unpack(content, WorkerJob, "the plan")
        return job
