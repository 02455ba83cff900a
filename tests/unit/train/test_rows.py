# SPDX-License-Identifier: Apache-2.0
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

from offramp.g3.schedule import SCHEDULES
from offramp.graph.data import build_graph
from offramp.models import MODELS, make_model
from offramp.train.planned import plan_run
from offramp.train.propagators.channel import open_channel
from offramp.train.propagators.local import LocalPropagator
from offramp.train.settings import TrainSettings
from offramp.train.trainer import Trainer
from offramp.workers.group import Group
from offramp.workers.mailbox import NoMailbox
from offramp_base.errors import OfframpError

BASE = TrainSettings(
    "random", workers=3, propagator="p2p", partition="hash", hidden=6, epochs=3, dtype="float64", schedule="g3", bins=3
)
EXACT = [name for name, s in SCHEDULES.items() if not (s.stale or s.adaptive or s.isolated or s.recomputes)]


def gradients(graph, run_settings, group, channel) -> list[np.ndarray]:
    """Weights' gradients of each epoch, one after the other."""
    jobs = plan_run(graph, run_settings).jobs([])
    trainer = Trainer(jobs[group.rank], group, channel)
    values = []
    for number in range(1, run_settings.epochs + 1):
        trainer.epoch(number)
        values += [p.grad.numpy().copy() for p in trainer.model.parameters()]
    return values


def alone(graph, run_settings) -> list[np.ndarray]:
    single = replace(run_settings, propagator="local", bins=1)
    if MODELS.get(single.model).by_sums:
        return gradients(graph, replace(single, schedule="plain"), Group(), LocalPropagator())
    return gradients(graph, replace(single, schedule="sequential"), Group(), NoMailbox(1))


def together(in_group, graph, run_settings, delay_s: float = 0) -> list[np.ndarray]:
    jobs = plan_run(graph, run_settings).jobs([])
    late = random.Random(1)

    def transport(deliver) -> None:
        threading.Timer(late.uniform(0, delay_s), deliver).start() if delay_s else deliver()

    def work(group):
        group.transport = transport
        with open_channel(jobs[group.rank], group) as channel:
            return gradients(graph, run_settings, group, channel)

    outcomes = in_group(run_settings.workers, work)
    for other in outcomes[1:]:
        for mine, theirs in zip(outcomes[0], other, strict=True):
            np.testing.assert_array_equal(mine, theirs)
    return outcomes[0]


def assert_equal(actual, expected) -> None:
    assert len(actual) == len(expected)
    for mine, theirs in zip(actual, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12 * max(1e-3, np.abs(theirs).max()))


@pytest.mark.parametrize("model", MODELS.names())
@pytest.mark.parametrize("schedule", EXACT)
def test_gradients_of_one_process(in_group, graph, model: str, schedule: str) -> None:
    run_settings = replace(BASE, model=model, schedule=schedule, layers=3, dropout=0.3, heads=2)
    if model != "gat":
        run_settings = replace(run_settings, heads=1)
    assert_equal(together(in_group, graph, run_settings), alone(graph, run_settings))


@pytest.mark.parametrize("model", [m for m in MODELS.names() if MODELS.get(m).by_sums])
def test_plain_exchange_of_sums_has_the_same_gradients(in_group, graph, model: str) -> None:
    run_settings = replace(BASE, model=model, schedule="plain", layers=3, dropout=0.2)
    assert_equal(together(in_group, graph, run_settings), alone(graph, run_settings))


@pytest.mark.full
@settings(derandomize=True, max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**31), draw=st.data())
def test_any_partition_bins_and_delays(in_group, make_graph, seed: int, draw) -> None:
    rng = np.random.default_rng(seed)
    graph = make_graph(n=int(rng.integers(8, 40)), edges=int(rng.integers(0, 90)), seed=seed)
    run_settings = replace(
        BASE,
        model=draw.draw(st.sampled_from(MODELS.names())),
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


@pytest.mark.parametrize("model", MODELS.names())
def test_bytes_are_widths_times_copies(in_group, graph, model: str) -> None:
    """G3's section 7: every message once to each worker that needs it, but for input features, and back."""
    run_settings = replace(BASE, model=model, layers=3)
    planned = plan_run(graph, run_settings)
    jobs = planned.jobs([])

    def work(group):
        with open_channel(jobs[group.rank], group) as channel:
            Trainer(jobs[group.rank], group, channel).run()
            return channel.traffic

    traffic = in_group(run_settings.workers, work)
    widths = make_model(run_settings, jobs[0].widths).messages
    expected = run_settings.epochs * 2 * 8 * planned.boundary.R * sum(widths[1:])
    assert sum(t.payload_up for t in traffic) == sum(t.payload_down for t in traffic) == expected


def test_stale_rows_are_those_of_the_epoch_before(in_group, graph) -> None:
    """With weights that hardly change, a stale epoch is exact; the first epoch always is."""
    still = replace(BASE, schedule="stale", lr=1e-300, model="gcnii")
    assert_equal(together(in_group, graph, still, delay_s=0.004), alone(graph, still))
    moving = replace(still, lr=0.05)
    stale, exact = together(in_group, graph, moving), alone(graph, moving)
    each = len(exact) // moving.epochs
    assert_equal(stale[:each], exact[:each])
    assert any(not np.allclose(a, b, rtol=1e-6) for a, b in zip(stale[each:], exact[each:], strict=True))


def test_isolated_workers_train_on_their_own_edges(in_group, graph) -> None:
    run_settings = replace(BASE, schedule="isolated", aggregator="sum")
    owner = plan_run(graph, run_settings).boundary.owner
    tails = np.repeat(np.arange(graph.vertices), graph.degrees)
    kept = owner[tails] == owner[graph.indices]
    cut = build_graph(
        "cut",
        graph.vertices,
        (tails[kept], graph.indices[kept]),
        features=graph.features,
        labels=graph.labels,
        split=(graph.train, graph.val, graph.test),
    )
    assert_equal(together(in_group, graph, run_settings), alone(cut, run_settings))


def test_a_message_that_does_not_come_ends_the_epoch(in_group, graph) -> None:
    run_settings = replace(BASE, timeout_s=0.2, retry_s=0.1)
    jobs = plan_run(graph, run_settings).jobs([])
    lost = iter([True])

    def work(group):
        group.transport = lambda deliver: None if next(lost, False) else deliver()
        with open_channel(jobs[group.rank], group) as channel:
            return gradients(graph, run_settings, group, channel)

    with pytest.raises(OfframpError, match=r"worker \d hears nothing from workers? .* for 0.2 s"):
        in_group(run_settings.workers, work)


def test_golden_settings_errors() -> None:
    for changes, message in (
        (
            {"schedule": "g4"},
            "schedule g4: expected one of plain, sequential, inter, intra, g3, stale, adaptive, isolated, hybrid",
        ),
        ({"propagator": "switch"}, "schedule g3: goes with propagator p2p or local, not through a switch"),
        ({"codec": "fixed"}, "codec fixed: goes with schedule plain only"),
        ({"bins": 0}, "bins 0: expected at least 1"),
        ({"link_bps": -1.0}, "link_bps -1: expected more than 0"),
        ({"schedule": "plain", "link_bps": 1e8}, "link_bps 1e+08: goes with schedule other than plain"),
        (
            {"schedule": "plain", "model": "gat"},
            ("model gat: needs neighbours' messages, not their sums: schedule g3 or sequential, with propagator p2p"),
        ),
        ({"model": "gat", "heads": 4}, "hidden 6: expected a multiple of heads 4"),
        (
            {"model": "gin"},
            "model gin: expected one of dagnn, gat, gcn, gcnii, jknet, resgen, revgat, revgcn, sage, sgc",
        ),
        ({"dtype": "int8"}, "dtype int8: expected one of float32, float64"),
    ):
        with pytest.raises(OfframpError) as caught:
            replace(BASE, **changes)
        assert str(caught.value) == message
