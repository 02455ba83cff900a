# SPDX-License-Identifier: Apache-2.0
"""Comparison of schedulers in real time: all-reduces between processes whose dimensions are rate-limited."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from offramp.themis.network import Network
from offramp_base.iproute import enter_namespace

if TYPE_CHECKING:
    import torch

    from offramp.themis.executor.mesh import Mesh
    from offramp.workers.group import Group
    from offramp.workers.rate import TokenBucket

Span = tuple[int, int, int, float, float]
"""Dimension, chunk, stage, start and end in seconds from the start of the collective."""


@dataclass(frozen=True, slots=True)
class TrialSettings:
    """Settings of a measurement on every rank.

    Attributes:
        network: network with one rank per NPU; its bandwidths are the rates of the token buckets.
        schedulers: names of the schedulers, measured in turn.
        elements: number of float32 values of each rank.
        chunks: number of chunks per collective.
        repeats: all-reduces per scheduler; the fastest counts, since other processes only add to the time.
        seed: seed of the values.
        namespaces: let the kernel limit the dimensions instead: ranks in network namespaces, with an interface for each
            dimension (:mod:`offramp.themis.executor.interfaces`); needs root.
    """

    network: Network
    schedulers: tuple[str, ...]
    elements: int
    chunks: int
    repeats: int = 1
    seed: int = 0
    namespaces: bool = False


@dataclass(frozen=True, slots=True)
class TrialResult:
    """Results of one scheduler.

    Attributes:
        scheduler: its name.
        seconds: duration of the fastest all-reduce, on the slowest rank.
        predicted_s: duration that the plan predicts.
        exact: whether every rank had the bits of a single all-reduce in rank order, every time.
        spans: operations of rank 0 in the last all-reduce.
    """

    scheduler: str
    seconds: float
    predicted_s: float
    exact: bool
    spans: tuple[Span, ...]


def measure(trial: TrialSettings, report: Callable[[Any], None] = lambda _: None) -> list[TrialResult]:
    """Run a trial with a local process for each rank; ``report`` is called with each result.

    Raises:
        OfframpError: a rank failed, or namespaces cannot be created.
    """
    from offramp.themis.executor.interfaces import namespaces
    from offramp.workers.processes import run_workers

    nowhere = nullcontext([None] * trial.network.npus)
    with namespaces(trial.network) if trial.namespaces else nowhere as places:
        outcomes: list[TrialResult] = run_workers(rank_work, [(trial, place) for place in places], report)
    return outcomes


def _join(trial: TrialSettings, place: str | None) -> tuple[Mesh, list[TokenBucket | None]]:
    """The mesh of this rank, in its namespace if it has one, and the token buckets of its dimensions."""
    from offramp.themis.executor.interfaces import CONTROL, interface
    from offramp.themis.executor.mesh import Mesh
    from offramp.workers.rate import TokenBucket

    dimensions = trial.network.dimensions
    if place is None:
        return Mesh(trial.network), [TokenBucket(d.used_bps) for d in dimensions]
    enter_namespace(place)
    os.environ["GLOO_SOCKET_IFNAME"] = CONTROL
    return Mesh(trial.network, [interface(k) for k in range(len(dimensions))]), [None] * len(dimensions)


def rank_work(group: Group, item: tuple[TrialSettings, str | None], report: Callable[[Any], None]) -> list[TrialResult]:
    """Work of one rank, possibly in a network namespace; the results are complete on rank 0."""
    import torch

    from offramp.themis.executor.executor import Executor

    trial, place = item
    mesh, buckets = _join(trial, place)
    values = [
        torch.randn(trial.elements, generator=torch.Generator().manual_seed(trial.seed + rank))
        for rank in range(group.size)
    ]
    expected = in_rank_order(values)
    outcomes = []
    for scheduler in trial.schedulers:
        with Executor(mesh, trial.network, scheduler, trial.chunks, buckets=buckets) as executor:
            executor.prepare(values[group.rank])
            executor.all_reduce(values[group.rank][: group.size]).result()  # connections and threads
            seconds, exact = [], True
            for _ in range(trial.repeats):
                group.sum(torch.zeros(1))  # start together
                start = time.monotonic()
                result = executor.all_reduce(values[group.rank]).result()
                seconds.append(time.monotonic() - start)
                exact = exact and torch.equal(result.view(torch.int32), expected.view(torch.int32))
            facts = torch.tensor([min(seconds), float(not exact)])
            group.max(facts)
            plan = executor.plan
            assert plan is not None
            spans = tuple(
                (dim, chunk, index, begun - start, ended - start)
                for dim, record in enumerate(executor.records)
                for chunk, index, begun, ended in record.operations
            )
            outcome = TrialResult(scheduler, float(facts[0]), plan.finish_ps / 1e12, not facts[1], spans)
        outcomes.append(outcome)
        if group.rank == 0:
            report(outcome)
    return outcomes


def in_rank_order(values: list[torch.Tensor]) -> torch.Tensor:
    """A plain all-reduce: the values of all ranks added one after the other, at the agreed scale."""
    from offramp.themis.executor.exact import decode, encode, exponent, scale

    k = scale(max(exponent(v) for v in values), len(values))
    total = encode(values[0], k)
    for value in values[1:]:
        total = total + encode(value, k)
    return decode(total, k, values[0].dtype)
