# SPDX-License-Identifier: Apache-2.0
"""Small clusters and jobs for tests of placement and scheduling, in exact arithmetic."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np

from offramp.dgtp import DgtpJob, FlowVolume, Machine, MachineCluster, Problem, TaskType


def unit_cluster(machines: int, slow: tuple[int, ...] = ()) -> MachineCluster:
    """Network cards of one byte a second, or half of it."""
    rates = [Fraction(4 if m in slow else 8) for m in range(machines)]
    return MachineCluster(tuple(Machine(f"m{m}", {}, rate, rate) for m, rate in enumerate(rates)))


def kind(seconds: int) -> TaskType:
    return TaskType(Fraction(seconds))


def example_a() -> Problem:
    """Golden example A of the specification: parameter server, two machines."""
    job = DgtpJob(
        workers=1,
        samplers=2,
        sync="ps",
        gathered=FlowVolume(Fraction(4)),
        subgraph=FlowVolume(Fraction(3)),
        model_bytes=Fraction(1),
        store=kind(1),
        sampler=kind(1),
        worker=kind(2),
        ps=kind(1),
    )
    return Problem(job.graph(2), unit_cluster(2))


EXAMPLE_A = (0, 1, 0, 1, 0, 1)


def example_b(workers: int, slow: tuple[int, ...] = ()) -> tuple[Problem, list[int]]:
    """Golden example B: a ring, machine i with store, sampler and worker i."""
    job = DgtpJob(
        workers=workers,
        samplers=1,
        sync="ring",
        gathered=FlowVolume(Fraction(workers)),
        subgraph=FlowVolume(Fraction(1)),
        model_bytes=Fraction(workers),
        store=kind(1),
        sampler=kind(1),
        worker=kind(2),
    )
    problem = Problem(job.graph(workers), unit_cluster(workers, slow))
    return problem, problem.whole([*range(workers)] * 2).tolist()


def exact(problem: Problem, iterations: int) -> list[list[Fraction]]:
    """Mean volumes, the same in each iteration."""
    return [[Fraction(e.volume.mean) if e.volume else Fraction(0) for e in problem.graph.edges]] * iterations


def drawn_exactly(problem: Problem, iterations: int, rng: random.Random) -> list[list[Fraction]]:
    """Random volumes: mostly small fractions, sometimes nothing."""

    def volume() -> Fraction:
        return Fraction(0) if rng.random() < 0.1 else Fraction(rng.randint(1, 30), rng.choice([1, 2, 3]))

    return [[volume() if e.volume else Fraction(0) for e in problem.graph.edges] for _ in range(iterations)]


def random_problem(seed: int) -> tuple[Problem, list[int], list[list[Fraction]]]:
    """A job of either kind on up to four uneven machines, a placement and volumes, all exact."""
    rng = random.Random(seed)
    machines, workers = rng.randint(1, 4), rng.randint(1, 3)

    def some(low: int, high: int) -> Fraction:
        return Fraction(rng.randint(low, high), rng.choice([1, 2]))

    cluster = MachineCluster(
        tuple(
            Machine(f"m{m}", {}, 8 * some(1, 9), 8 * some(1, 9), {"worker": some(1, 3)} if m else {})
            for m in range(machines)
        )
    )
    job = DgtpJob(
        workers=workers,
        samplers=tuple(rng.randint(1, 2) for _ in range(workers)),
        sync=rng.choice(["ps", "ring"]),
        servers=rng.randint(1, 2),
        gathered=FlowVolume(Fraction(6)),
        subgraph=FlowVolume(Fraction(4)),
        model_bytes=Fraction(2),
        pipelined=rng.random() < 0.8,
        **{name: TaskType(Fraction(rng.randint(0, 3))) for name in ("store", "sampler", "worker", "ps", "ring")},
    )
    problem = Problem(job.graph(machines), cluster)
    placement = problem.whole([rng.randrange(machines) for _ in problem.movable]).tolist()
    return problem, placement, drawn_exactly(problem, rng.randint(1, 4), rng)


def as_floats(drawn: list[list[Fraction]]) -> np.ndarray:
    return np.array([[float(v) for v in row] for row in drawn])


def packing_problem(seed: int) -> Problem:
    """Few tasks that need two resources, on machines where they may not fit."""
    rng = random.Random(seed)
    machines = rng.randint(1, 3)
    cluster = MachineCluster(
        tuple(Machine(f"m{m}", {"cpu": rng.randint(0, 6), "gpu": rng.randint(0, 2)}, 8e9, 8e9) for m in range(machines))
    )
    job = DgtpJob(
        workers=rng.randint(1, 3),
        samplers=1,
        sync="ps",
        gathered=FlowVolume(100.0),
        subgraph=FlowVolume(100.0),
        model_bytes=1.0,
        sampler=TaskType(1.0, {"cpu": 2}),
        worker=TaskType(1.0, {"cpu": 1, "gpu": 1}),
        ps=TaskType(1.0, {"cpu": 1}),
    )
    return Problem(job.graph(machines), cluster)


def large_problem() -> Problem:
    """A thousand tasks, 65,000 flows an iteration, on a hundred machines."""
    rng = np.random.default_rng(0)
    rates = rng.choice([10e9, 20e9, 50e9], 100)
    cluster = MachineCluster(
        tuple(
            Machine(f"m{i}", {"cpu": int(rng.integers(12, 33)), "gpu": int(rng.integers(2, 6))}, rate, rate)
            for i, rate in enumerate(rates)
        )
    )
    job = DgtpJob(
        workers=297,
        samplers=2,
        sync="ps",
        servers=9,
        gathered=FlowVolume(1e8, 0.05),
        subgraph=FlowVolume(1e8, 0.05),
        model_bytes=0.83e6,
        store=TaskType(0.01),
        sampler=TaskType(0.02, {"cpu": 2}),
        worker=TaskType(0.06, {"cpu": 1, "gpu": 1}),
        ps=TaskType(0.003, {"cpu": 1}),
    )
    return Problem(job.graph(100), cluster)


def small_problem(seed: int) -> Problem:
    """Three machines, seven movable tasks: at most 2,187 placements."""
    rng = random.Random(seed)
    rates = [rng.choice([1e9, 2e9, 5e9]) for _ in range(3)]
    cluster = MachineCluster(
        tuple(Machine(f"m{m}", {"cpu": rng.randint(4, 8), "gpu": 2}, r, r) for m, r in enumerate(rates))
    )
    job = DgtpJob(
        workers=2,
        samplers=2,
        sync="ps",
        gathered=FlowVolume(1e7, 0.1),
        subgraph=FlowVolume(1e7, 0.1),
        model_bytes=1e6,
        store=TaskType(0.01),
        sampler=TaskType(0.02, {"cpu": 2}),
        worker=TaskType(0.05, {"cpu": 1, "gpu": 1}),
        ps=TaskType(0.003, {"cpu": 1}),
    )
    return Problem(job.graph(3), cluster)
