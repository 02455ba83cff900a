# SPDX-License-Identifier: Apache-2.0
"""A worker's job in a file, whose arrays the worker maps instead of having copies of them."""

from __future__ import annotations

import mmap
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from offramp.train.job import WorkerJob

_PAGE: Final = mmap.ALLOCATIONGRANULARITY


@dataclass(frozen=True)
class StoredJob:
    """A job of this machine's own: its arrays are in ``path``, the rest is in ``head``.

    Attributes:
        path: file that lives as long as the run.
        head: the job without its arrays.
        places: offset and size of each array.
    """

    path: Path
    head: bytes
    places: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, job: WorkerJob, path: Path) -> StoredJob:
        """Write the arrays of ``job`` to ``path``."""
        buffers: list[pickle.PickleBuffer] = []
        head = pickle.dumps(job, protocol=5, buffer_callback=buffers.append)
        places, offset = [], 0
        with path.open("wb") as file:
            for buffer in buffers:
                raw = buffer.raw()
                file.seek(offset)
                file.write(raw)
                places.append((offset, raw.nbytes))
                offset += -(-raw.nbytes // _PAGE) * _PAGE
            file.truncate(max(1, offset))
        return cls(path, head, tuple(places))

    def open(self) -> WorkerJob:
        """The job over the mapped file; what is written to its arrays changes the file."""
        with self.path.open("r+b") as file:
            content = memoryview(mmap.mmap(file.fileno(), 0))
        arrays: list[Any] = [content[offset : offset + size] for offset, size in self.places]
        job: WorkerJob = pickle.loads(self.head, buffers=arrays)  # noqa: S301 - written by the process that started us
        return job
