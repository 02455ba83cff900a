# SPDX-License-Identifier: Apache-2.0
"""A rank that learns by sums of the switch, and goes on from its checkpoint: ``python job_rank.py STEPS PAUSE_S``.

The model is integers, so that :func:`expected` has the same bits without any network.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import yaml

from offramp.allreduce.reducer import AllReduceNetwork, AllReducer
from offramp.job.steps import step
from offramp_base.documents import parse_json
from offramp_base.ending.files import write_text, written

ELEMENTS = 3000
CHECKPOINT, MODEL, PID = "checkpoint.npz", "model.npy", "pid-{}.json"


def gradient(model, number, rank):
    """A rank's addend in a step; it depends on the model, so that a step that is lost or done twice shows."""
    noise = np.random.default_rng((number, rank)).integers(-(2**20), 2**20, ELEMENTS)
    return (model >> 3) * (rank + 1) % 1009 + noise


def expected(steps, ranks):
    """The model after so many steps."""
    model = np.zeros(ELEMENTS, np.int64)
    for number in range(steps):
        model = model + sum(gradient(model, number, rank) for rank in range(ranks))
    return model


def reached(folder):
    """Steps that are in the checkpoint."""
    try:
        with np.load(folder / CHECKPOINT) as archive:
            return int(archive["steps"])
    except (OSError, ValueError):
        return 0


def pid_of(folder, rank, attempt):
    """The process of a rank in an attempt, as :func:`offramp_base.ending.owner.owner` has it; None: not yet."""
    path = folder / PID.format(rank)
    if not path.exists():
        return None
    record = parse_json(path.read_text())
    return int(record["pid"]) if record["attempt"] >= attempt else None


def main() -> None:
    folder, rank = Path(os.environ["OFFRAMP_JOB_FOLDER"]), int(os.environ["RANK"])
    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    write_text(folder / PID.format(rank), f'{{"pid": {os.getpid()}, "attempt": {attempt}}}')
    steps, pause_s, ranks = int(sys.argv[1]), float(sys.argv[2]), int(os.environ["WORLD_SIZE"])
    given = yaml.safe_load(Path(os.environ["OFFRAMP_NETWORK"]).read_text())
    network = AllReduceNetwork(given["link"].format(rank=rank), pages=given["pages"], segments=given["segments"])
    model, first = np.zeros(ELEMENTS, np.int64), 0
    if (folder / CHECKPOINT).exists():
        with np.load(folder / CHECKPOINT) as archive:
            model, first = archive["model"], int(archive["steps"])
    with closing(AllReducer(network, rank, ranks, given["job"], 60.0)) as reducer:
        for number in range(first, steps):
            with step(number):
                values = gradient(model, number, rank)
                reducer.all_reduce(values)
                model = model + values
            if rank == 0:  # nobody else can be a step ahead of it: the next sum needs all ranks
                with written(folder / CHECKPOINT) as file:
                    np.savez(file, model=model, steps=number + 1)
            time.sleep(pause_s)
    np.save(folder / f"model-{rank}.npy", model)


if __name__ == "__main__":
    main()
