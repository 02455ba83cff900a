# SPDX-License-Identifier: Apache-2.0
"""Random jobs under loss, duplication, delay, restarts and deaths of ranks, each sum against exact arithmetic.

    PYTHONPATH=base:switch:host:sim:tests/support python tests/support/allreduce_soak.py --runs 10000

Every run is a function of its seed: ``--seed N --runs 1`` repeats one that failed.
"""

from __future__ import annotations

import re
import sys
from functools import cache

import numpy as np

from allreduce_lab import PAGES, Star, Tree, equal, lockstep, make
from allreduce_oracle import exact_sum, random_tensor
from offramp.switchgnn.leaf_spine import LeafSpine
from offramp_base.wire.batch import PacketBatch
from offramp_p4 import PlainSwitch
from offramp_sim.allreduce.lockstep import AllReduceLockstep
from seeded_campaign import campaign, options

TARGETS = ("v1model-native", "tna-native", "v1model-python", "tna-python")
DTYPES = ("float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")
MOST_LOSS = 0.3
TIMEOUT = 3000
"""Turns in which a rank learns nothing until it gives up."""


@cache
def switch(target: str, number: int) -> PlainSwitch:
    """One of several switches of a kind, which runs share."""
    return make(target)


def fresh(target: str, number: int) -> PlainSwitch:
    """The same, as after a start."""
    twin = switch(target, number)
    twin.reset()
    return twin


def run(seed: int) -> str:
    """One job; raises where a rank has another sum, or neither a sum nor a line that says who is missing."""
    rng = np.random.default_rng(seed)
    target = TARGETS[int(rng.choice(4, p=[0.45, 0.45, 0.05, 0.05]))]
    ranks, trouble = int(rng.integers(1, 7)), float(rng.choice([0.0, 0.02, 0.1, 0.2, MOST_LOSS]))
    restart = int(rng.integers(2, 60)) if rng.random() < 0.3 else -1
    batches = 0
    if ranks > 2 and rng.random() < 0.2:
        racks = tuple(sorted([0, 1, *rng.integers(0, 2, ranks - 2).tolist()]))
        numbers = iter(range(9))
        net: Star | Tree = Tree(lambda: fresh(target, next(numbers)), LeafSpine(racks))
    else:
        net = Star(fresh(target, 0), ranks, pages=[int(rng.integers(0, PAGES))])

    def process(batch: PacketBatch) -> PacketBatch:
        nonlocal batches
        batches += 1
        if batches == restart and isinstance(net, Star):
            net.restart()
        return net.process(batch)

    lock = lockstep(net, seed, trouble, process=process, burst=int(rng.integers(1, 40)))
    dies_at = int(rng.integers(1, 60)) if ranks > 1 and rng.random() < 0.25 else None
    victim = int(rng.integers(0, ranks))
    for _ in range(int(rng.integers(1, 4))):
        count = int(rng.choice([0, 1, 63, 64, 65, 300, 1000]))
        given = random_tensor(rng, str(rng.choice(DTYPES)), count, ranks)
        if "float" in given[0].dtype.name and count and rng.random() < 0.15:
            given[int(rng.integers(0, ranks))][int(rng.integers(0, count))] = rng.choice([np.nan, np.inf, -np.inf])
        expected, arrays = exact_sum(given, 64, 128), [array.copy() for array in given]
        for endpoint, array in zip(lock.endpoints, arrays, strict=True):
            endpoint.begin(array)
        alive = without(lock, dies_at, victim)
        for rank in alive:
            assert equal(arrays[rank], expected), f"rank {rank} of {ranks}: {target}, {given[0].dtype}[{count}]"
        if len(alive) < ranks:
            return "a rank died: " + ("the sum or a line on every rank" if alive else "a line on every rank")
    return "exact"


def without(lock: AllReduceLockstep, dies_at: int | None, victim: int) -> list[int]:
    """Sum while one rank dies in a turn; which ranks have the sum. All others have said who is missing."""
    everyone, ports = lock.endpoints, lock.ports
    running, known = list(range(len(everyone))), [0] * len(everyone)
    lines: dict[int, str] = {}
    moved = dict.fromkeys(running, lock.turn)
    while not all(everyone[rank].idle for rank in running):
        if lock.turn == dies_at:
            running = [rank for rank in running if rank != victim]
        lock.endpoints, lock.ports = [everyone[rank] for rank in running], [ports[rank] for rank in running]
        lock.step()
        for rank in running:
            if everyone[rank].progress != known[rank] or everyone[rank].idle:
                known[rank], moved[rank] = everyone[rank].progress, lock.turn
            elif lock.turn - moved[rank] > TIMEOUT:
                lines[rank] = everyone[rank].state()
        running = [rank for rank in running if rank not in lines]
    for rank, line in lines.items():
        assert line.startswith(f"rank {rank}: all_reduce "), line
        said = {int(each) for each in re.findall(r"\d+", line.partition("nothing came from rank")[2])}
        # Where the switch forgets what came from the dead one, a rank that lacks it waits, and others wait for that.
        assert set() < said <= {victim, *lines}, line
    assert not lines or any(re.search(rf"nothing .*\b{victim}\b", line) for line in lines.values()), lines
    return running


if __name__ == "__main__":
    asked = options(__doc__ or "").parse_args()
    summary = campaign(run, range(asked.seed, asked.seed + asked.runs), asked.out, asked.minutes)
    sys.exit(bool(summary["wrong"]))
