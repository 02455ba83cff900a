# SPDX-License-Identifier: Apache-2.0
"""Random training jobs on random machines: DGTP's plan beside DistDGL's placement, planned and measured.

    python tests/support/dgtp_campaign.py --runs 20 --out rows.jsonl

A row for each job says what the profile's model and the clock gave for our placement and rates of flows (``--policy``),
and for DistDGL's with OES and with FIFO queues. The command fails if the model has ours behind the former, with
``--policy auto`` behind either, or if losses differ.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from offramp.dgtp import DgtpJob, FlowVolume, Machine, MachineCluster, Problem, TaskType, initial_feasible
from offramp.dgtp.runtime.settings import AUTO, PlacedTraining
from offramp_base.errors import OfframpError
from offramp_sim.dgtp.measure import measure, same_losses

OTHERS = [("colocated", "oes"), ("colocated", "fifo")]


def random_problem(seed: int, slow: float) -> Problem:
    """A job of at most 15 processes that fits its two to four machines; all is ``slow`` times slower than drawn."""
    rng = np.random.default_rng(seed)
    while True:
        machines = tuple(
            Machine(f"m{k}", {"cpu": int(rng.integers(2, 6)), "gpu": int(rng.integers(1, 3))}, rate, rate)
            for k, rate in enumerate(rng.choice([20e6, 50e6, 100e6], int(rng.integers(2, 5))) / slow)
        )
        workers = int(rng.integers(2, 5))
        seconds = dict(zip(("sampler", "worker"), rng.uniform([0.01, 0.02], [0.03, 0.08]) * slow, strict=True))
        volume = FlowVolume(100e3)
        job = DgtpJob(
            workers=workers,
            samplers=int(rng.integers(1, 3)),
            sync=str(rng.choice(["ps", "ring"])),
            servers=int(rng.integers(1, 3)),
            gathered=volume,
            subgraph=volume,
            model_bytes=30e3,
            store=TaskType(0.005 * slow),
            sampler=TaskType(seconds["sampler"], {"cpu": 1}),
            worker=TaskType(seconds["worker"], {"gpu": 1}),
            ps=TaskType(0.002 * slow, {"cpu": 0.5}),
        )
        problem = Problem(job.graph(len(machines)), MachineCluster(machines))
        try:
            initial_feasible(problem, seed)
        except OfframpError:
            continue
        if sum(task.follows is None for task in problem.graph.tasks) <= 15:
            return problem


def row_of(seed: int, slow: float, network: str, iterations: int, policy: str) -> dict[str, Any]:
    """One job's numbers."""
    problem = random_problem(seed, slow)
    settings = PlacedTraining(
        graph="sbm:n=2000,k=5,features=100",
        batch=12,
        fanout=(10, 5),
        seed=seed,
        iterations=2 * iterations,
        profile=iterations,
        policy=policy,
    )
    training = measure(problem, settings.load(), settings, network=network, others=OTHERS)
    runs = {f"{each.placement}, {each.policy}": (each.planned_s, each.measured_s) for each in training.runs}
    return {
        "seed": seed,
        "machines": len(problem.cluster),
        "tasks": len(problem.graph.tasks),
        "moved": training.moved,
        "runs": runs,
        "same_losses": same_losses(training),
    }


def main() -> int:
    """Run the campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0, help="of the first job")
    parser.add_argument("--slow", type=float, default=2.0, help="times and cards are so many times slower")
    parser.add_argument("--iterations", type=int, default=8, help="of the profile, and of each run behind it")
    parser.add_argument("--network", default="auto")
    parser.add_argument("--policy", default="oes")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    wrong = 0
    for seed in range(given.seed, given.seed + given.runs):
        row = row_of(seed, given.slow, given.network, given.iterations, given.policy)
        (ours, _), *theirs = row["runs"].values()
        theirs = theirs if given.policy == AUTO else theirs[:1]
        wrong += any(ours > planned * (1 + 1e-9) for planned, _ in theirs) or not row["same_losses"]
        sys.stdout.write(json.dumps(row) + "\n")
        sys.stdout.flush()
        if given.out is not None:
            with given.out.open("a") as file:
                file.write(json.dumps(row) + "\n")
    sys.stdout.write(f"{given.runs} jobs, {wrong} wrong\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
