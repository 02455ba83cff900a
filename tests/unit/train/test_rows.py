"""Bins, pipelines and messages: gradients are those of one process, whatever arrives when."""

from __future__ import annotations

import random
import threading
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from offramp.train.group import Group
from offramp.train.planned import plan_run
from offramp.train.propagators import LocalPropagator, open_way
from offramp.train.rows.mailbox import NoMailbox
from offramp.train.rows.schedule import SCHEDULES
from offramp.train.settings import MODELS, TrainSettings
from offramp.train.trainer import Trainer

BASE = TrainSettings(
    "random", workers=3, propagator="p2p", partition="hash", hidden=6, epochs=3, dtype="float64", schedule="g3", bins=3
)
EXACT = [name for name, schedule in SCHEDULES.items() if not schedule.stale and not schedule.isolated]


def gradients(graph, run_settings, group, way) -> list[np.ndarray]:
    """Weights' gradients of each epoch, one after the other."""
    jobs = plan_run(graph, run_settings).jobs([])
    trainer = Trainer(jobs[group.rank], group, way)
    found = []
    for number in range(1, run_settings.epochs + 1):
        trainer.epoch(number)
        found += [p.grad.numpy().copy() for p in trainer.model.parameters()]
    return found


def alone(graph, run_settings) -> list[np.ndarray]:
    single = replace(run_settings, propagator="local", bins=1)
    if single.model != "gat":
        return gradients(graph, replace(single, schedule="plain"), Group(), LocalPropagator())
    return gradients(graph, replace(single, schedule="sequential"), Group(), NoMailbox(1))


def together(in_group, graph, run_settings, delay_s: float = 0) -> list[np.ndarray]:
    jobs = plan_run(graph, run_settings).jobs([])
    late = random.Random(1)

    def carry(deliver) -> None:
        threading.Timer(late.uniform(0, delay_s), deliver).start() if delay_s else deliver()

    def work(group):
        group.carry = carry
        with open_way(jobs[group.rank], group) as way:
            return gradients(graph, run_settings, group, way)

    outcomes = in_group(run_settings.workers, work)
    for other in outcomes[1:]:
        for mine, theirs in zip(outcomes[0], other, strict=True):
            np.testing.assert_array_equal(mine, theirs)
    return outcomes[0]


def assert_equal(found, expected) -> None:
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12 * max(1e-3, np.abs(theirs).max()))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("schedule", EXACT)
def test_gradients_of_one_process(in_group, graph, model: str, schedule: str) -> None:
    run_settings = replace(BASE, model=model, schedule=schedule, layers=3, dropout=0.3, heads=2)
    if model != "gat":
        run_settings = replace(run_settings, heads=1)
    assert_equal(together(in_group, graph, run_settings), alone(graph, run_settings))


@pytest.mark.parametrize("model", [m for m in MODELS if m != "gat"])
def test_plain_exchange_of_sums_has_the_same_gradients(in_group, graph, model: str) -> None:
    run_settings = replace(BASE, model=model, schedule="plain", layers=3, dropout=0.2)
    assert_equal(together(in_group, graph, run_settings), alone(graph, run_settings))


@settings(
    derandomize=True, max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 2**31), draw=st.data())
def test_any_partition_bins_and_delays(in_group, make_graph, seed: int, draw) -> None:
    rng = np.random.default_rng(seed)
    graph = make_graph(n=int(rng.integers(8, 40)), edges=int(rng.integers(0, 90)), seed=seed)
    run_settings = replace(
        BASE,
        model=draw.draw(st.sampled_from(MODELS)),
        schedule=draw.draw(st.sampled_from(EXACT)),
        partition=draw.draw(st.sampled_from(["hash", "chunk", "random"])),
        workers=draw.draw(st.integers(2, 4)),
        bins=draw.draw(st.integers(1, 12)),
        layers=draw.draw(st.integers(2, 4)),
        seed=seed,
        epochs=2,
    )
    assert_equal(together(in_group, graph, run_settings, delay_s=0.004), alone(graph, run_settings))


def test_the_same_bits_whatever_arrives_when(in_group, graph) -> None:
    first, second = (together(in_group, graph, BASE, delay_s=delay) for delay in (0, 0.01))
    for mine, theirs in zip(first, second, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert torch.get_num_threads() == 1
