# SPDX-License-Identifier: Apache-2.0
"""Random jobs under loss, duplication, delay and restarts, each sum against exact arithmetic.

    PYTHONPATH=base:switch:host:sim:tests/support python tests/support/allreduce_soak.py --runs 10000

Every run is a function of its seed: ``--seed N --runs 1`` repeats one that failed.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import cache

import numpy as np

from allreduce_lab import PAGES, Star, Tree, equal, lockstep, make
from allreduce_oracle import exact_sum, random_tensor
from offramp.switchgnn.leaf_spine import LeafSpine
from offramp_base.wire.batch import PacketBatch
from offramp_p4 import PlainSwitch

TARGETS = ("v1model-native", "tna-native", "v1model-python", "tna-python")
DTYPES = ("float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")
MOST_LOSS = 0.3
EVERY_S = 5.0


@cache
def switch(target: str, number: int) -> PlainSwitch:
    """One of several switches of a kind, which runs share."""
    return make(target)


def fresh(target: str, number: int) -> PlainSwitch:
    """The same, as after a start."""
    made = switch(target, number)
    made.reset()
    return made


def run(seed: int) -> None:
    """One job; raises where a rank has another sum, or none."""
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
    for _ in range(int(rng.integers(1, 4))):
        count = int(rng.choice([0, 1, 63, 64, 65, 300, 1000]))
        given = random_tensor(rng, str(rng.choice(DTYPES)), count, ranks)
        if "float" in given[0].dtype.name and count and rng.random() < 0.15:
            given[int(rng.integers(0, ranks))][int(rng.integers(0, count))] = rng.choice([np.nan, np.inf, -np.inf])
        expected, arrays = exact_sum(given, 64, 128), [array.copy() for array in given]
        lock.all_reduce(arrays)
        assert all(equal(array, expected) for array in arrays), (seed, target, given[0].dtype, count)


def campaign(first: int, runs: int) -> None:
    """Runs ``first`` to before ``first + runs``, with progress."""
    start = said = time.monotonic()
    for seed in range(first, first + runs):
        try:
            run(seed)
        except BaseException:
            sys.stderr.write(f"run {seed} failed\n")
            raise
        if time.monotonic() - said > EVERY_S:
            said = time.monotonic()
            done = seed + 1 - first
            left = (said - start) / done * (runs - done)
            sys.stderr.write(f"{done} of {runs} runs exact, {left:.0f} s left\n")
    took = time.monotonic() - start
    sys.stdout.write(f"{runs} runs exact in {took:.0f} s, seeds {first} to {first + runs - 1}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    campaign(asked.seed, asked.runs)
