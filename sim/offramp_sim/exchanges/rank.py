# SPDX-License-Identifier: Apache-2.0
"""One rank of a laboratory: makes the exchanges of the jobs that it finds, turn by turn, until one says the end.

``python -m offramp_sim.exchanges.rank FOLDER``: rank 0 waits for a folder ``turn-N`` with every rank's job, and writes
``turn-N.json``. All ranks meet once, so that a map of many cells starts few processes. They end with the process whose
name the folder has (:func:`offramp_base.ending.left.temporary_folder`).
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch

from offramp.train.job import WorkerJob
from offramp.train.propagators.registry import PROPAGATORS
from offramp.workers.launch import open_launcher
from offramp.workers.place import find_place
from offramp_base.ending.files import write_text
from offramp_base.ending.owner import is_left
from offramp_base.errors import OfframpError
from offramp_base.wire.objects import unpack
from offramp_sim.exchanges.coded import CodedPropagator

if TYPE_CHECKING:
    from offramp.train.propagators.base import Propagator
    from offramp.workers.group import Group

WARM: Final = 2
"""Exchanges before the first that is timed."""
END: Final = "end"
_POLL_S: Final = 0.02
_LOOK_S: Final = 1.0


def main(words: list[str]) -> None:
    """Join the other ranks and serve."""
    place = find_place()
    if place is None:
        raise OfframpError("expected the variables of a launcher")
    torch.set_num_threads(1)
    Thread(target=_end_with, args=(Path(words[0]),), daemon=True).start()
    with open_launcher(place.size) as launcher:
        folders = [words[0]] * place.size if launcher.leads else None
        launcher.run(_serve, folders, str, lambda _: None)


def _end_with(folder: Path) -> None:
    """End this process once the owner of the folder was killed, also while ranks meet, which may take half an hour."""
    while not is_left(folder.name):
        time.sleep(_LOOK_S)
    os._exit(1)


def _serve(group: Group, folder: str, report: Callable[[Any], None]) -> None:  # noqa: ARG001
    turn = 0
    while True:
        path = Path(folder) / f"turn-{turn}"
        while group.rank == 0 and not path.is_dir():
            time.sleep(_POLL_S)
        group.max(torch.zeros(1))  # the others wait here for rank 0
        if (path / END).exists():
            return
        said = _exchanges(group, path)
        if group.rank == 0:
            write_text(path.with_suffix(".json"), json.dumps(said))
        turn += 1


def _exchanges(group: Group, path: Path) -> dict[str, Any]:
    """Time one job's exchanges, all ranks together."""
    settings = json.loads((path / "exchanges.json").read_text())
    job: WorkerJob = unpack((path / f"rank-{group.rank}.job").read_bytes(), WorkerJob, "the job")
    width, count = int(settings["width"]), WARM + int(settings["count"])
    took = []
    with opened(job, group) as propagator:
        rows = job.local.adjacency.shape[0] if job.rows is not None else len(job.local.boundary)
        y = torch.from_numpy(np.random.default_rng(group.rank).standard_normal((rows, width)).astype(np.float32))
        for _ in range(count):
            group.max(torch.zeros(1))
            begun = time.perf_counter()
            sums = propagator.exchange(y)
            took.append(time.perf_counter() - begun)
        moved = propagator.traffic
    mine = [moved.wire_up, moved.wire_down, moved.packets_up]
    all_moved = group.gather([value / count for value in mine], list[float])
    digests = group.gather(hashlib.sha256(sums.contiguous().numpy().tobytes()).hexdigest(), str)
    slowest = group.max(torch.tensor(took, dtype=torch.float64)).tolist()
    whole = hashlib.sha256("".join(digests or []).encode()).hexdigest()
    return {"seconds": slowest[WARM:], "moved": all_moved, "digest": whole}


@contextmanager
def opened(job: WorkerJob, group: Group) -> Iterator[Propagator]:
    """The propagator of a job: one that training has, or messages in a few bits."""
    if job.rows is not None:
        yield CodedPropagator(group, job.rows, job.settings)
        return
    with PROPAGATORS.get(job.settings.propagator).open(job, group) as propagator:
        yield propagator


if __name__ == "__main__":
    main(sys.argv[1:])
