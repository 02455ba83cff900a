# SPDX-License-Identifier: Apache-2.0
"""Whole training runs with workers as threads: the partition and the way of the features must not matter."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest
import torch

from offramp.switchgnn.volume import host_volume
from offramp.switchgnn.worker import Worker
from offramp.train.job import exchange_widths, layer_widths, run_widths
from offramp.train.planned import plan_run
from offramp.train.propagators.channel import open_channel
from offramp.train.propagators.local import LocalPropagator
from offramp.train.propagators.switch_link import through
from offramp.train.settings import TrainSettings
from offramp.train.trainer import Trainer
from offramp.workers.group import Group
from offramp_base.errors import OfframpError
from offramp_base.transport.memory import pair
from offramp_base.wire.batch import PacketBatch
from offramp_sim.switchgnn.reference import ReferenceSwitch
from offramp_sim.switchgnn.strawman_reference import ReferenceStrawman

BASE = TrainSettings(
    "random",
    workers=3,
    propagator="p2p",
    partition="hash",
    hidden=5,
    epochs=20,
    lr=0.03,
    retry_s=30.0,  # on a busy machine nothing is repeated that the tests count
)


def train_local(graph, settings):
    settings = replace(settings, propagator="local")
    (job,) = plan_run(graph, settings).jobs([])
    return Trainer(job, Group(), LocalPropagator()).run()


def train_p2p(in_group, graph, settings):
    """Epochs of rank 0 and everyone's traffic."""
    jobs = plan_run(graph, settings).jobs([])

    def work(group):
        with open_channel(jobs[group.rank], group) as propagator:
            return Trainer(jobs[group.rank], group, propagator).run(), propagator.traffic

    outcomes = in_group(settings.workers, work)
    return outcomes[0][0], [traffic for _, traffic in outcomes]


def train_switch(in_group, graph, settings):
    """The same through the reference model of the switch, which runs in a thread of its own."""
    planned = plan_run(graph, settings)
    plans = planned.plans
    jobs = planned.jobs([f"unused{worker}" for worker in range(settings.workers)])
    ports = list(range(settings.workers))
    strawman = settings.propagator == "strawman"
    switch = ReferenceStrawman(plans, ports, settings.memory // 128) if strawman else ReferenceSwitch(plans, ports)
    links = [pair() for _ in ports]
    running = threading.Event()
    running.set()

    def serve() -> None:
        while running.is_set():
            for port, (_, end) in enumerate(links):
                batch = end.receive(0.0005)
                batch.ports[:] = port
                out = switch.process(batch)
                for target, (_, other) in enumerate(links):
                    other.send(PacketBatch.concatenate([out.select(out.ports == target)]))

    server = threading.Thread(target=serve, daemon=True)
    server.start()

    def work(group):
        job = jobs[group.rank]
        worker = Worker(group.rank, plans, links[group.rank][0], timeout_s=20)
        worker.start()
        propagator = through(job, group, worker)
        return Trainer(job, group, propagator).run(), propagator.traffic

    try:
        outcomes = in_group(settings.workers, work)
    finally:
        running.clear()
        server.join(10)
    return outcomes[0][0], [traffic for _, traffic in outcomes], switch


def losses(epochs) -> np.ndarray:
    return np.array([epoch.loss for epoch in epochs])


def scores(epochs) -> list[tuple[float, ...]]:
    return [(e.loss, e.train_accuracy, e.val_accuracy, e.test_accuracy) for e in epochs]


@pytest.mark.parametrize(
    ("layers", "hidden", "aggregator"), [(2, 5, "gcn"), (3, 8, "mean"), (4, 4, "sum"), (2, 40, "gcn")]
)
@pytest.mark.parametrize("codec", ["fp32", "fixed"])
def test_p2p_trains_as_a_single_process_does(in_group, graph, layers, hidden, aggregator, codec) -> None:
    settings = replace(BASE, layers=layers, hidden=hidden, aggregator=aggregator, codec=codec, lr=0.01)
    epochs, _ = train_p2p(in_group, graph, settings)
    np.testing.assert_allclose(losses(epochs), losses(train_local(graph, settings)), rtol=1e-4)


@pytest.mark.parametrize("workers", [2, 5])
@pytest.mark.parametrize("method", ["hash", "chunk", "random", "metis"])
def test_the_partition_does_not_matter(in_group, graph, workers: int, method: str) -> None:
    settings = replace(BASE, workers=workers, partition=method)
    epochs, _ = train_p2p(in_group, graph, settings)
    np.testing.assert_allclose(losses(epochs), losses(train_local(graph, settings)), rtol=1e-4)


def test_training_learns_and_repeats_to_the_bit(graph) -> None:
    settings = replace(BASE, hidden=16, epochs=60)
    first, second = train_local(graph, settings), train_local(graph, settings)
    assert scores(first) == scores(second)
    assert first[-1].loss < 0.4 * first[0].loss
    assert first[-1].train_accuracy > 0.8
    assert [epoch.epoch for epoch in first] == list(range(1, 61))


@pytest.mark.parametrize(("hidden", "memory"), [(5, 100_000), (5, 10 * 128), (40, 20 * 128)])
@pytest.mark.parametrize("propagator", ["switch", "strawman"])
def test_the_switch_gives_the_bits_of_quantised_p2p(in_group, make_graph, propagator, hidden, memory) -> None:
    graph = make_graph(n=30, edges=60, features=40)
    settings = replace(BASE, propagator=propagator, hidden=hidden, memory=memory, epochs=4)
    through_switch, traffic, switch = train_switch(in_group, graph, settings)
    p2p, _ = train_p2p(in_group, graph, replace(settings, propagator="p2p", codec="fixed"))
    assert scores(through_switch) == scores(p2p)
    np.testing.assert_allclose(losses(through_switch), losses(train_local(graph, settings)), rtol=1e-4)
    assert switch.open == 0
    assert switch.peak <= memory // 128
    counters = switch.counters()
    exchanges = plan_run(graph, settings).exchanges
    widths = run_widths(settings, layer_widths(graph, settings))
    plans = [exchanges[width].plan for width in widths]
    assert counters["uploads"] == sum(plan.uploads * plan.chunks for plan in plans)
    assert sum(t.payload_up for t in traffic) == sum(4 * w * p.uploads for w, p in zip(widths, plans, strict=True))
    assert (counters["overflows"] > 0) == (propagator == "strawman" and memory < 100_000)


@pytest.mark.parametrize("hidden", [5, 40])
def test_bytes_of_a_run_follow_from_its_exchanges(in_group, graph, hidden: int) -> None:
    settings = replace(BASE, hidden=hidden, epochs=3)
    _, traffic = train_p2p(in_group, graph, settings)
    boundary = plan_run(graph, settings).boundary
    widths = exchange_widths(settings, layer_widths(graph, settings))
    # 6 features in, 3 classes out: the second layer narrows either way, the first only to 5.
    assert widths == ([5, 3, 3, 5] if hidden == 5 else [6, 3, 3])
    # Sums over input features are brought once; those of features that a weight has narrowed, each time.
    first = 1 if hidden == 40 else 3
    expected = sum(host_volume(boundary, width).wire_bytes for width in first * widths[:1] + 3 * widths[1:])
    assert sum(t.wire_up for t in traffic) == sum(t.wire_down for t in traffic) == expected


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("codec", ["fp32", "fixed"])
def test_sums_that_are_kept_are_those_that_are_sent_again(in_group, graph, codec, dropout) -> None:
    settings = replace(BASE, hidden=40, epochs=5, codec=codec, dropout=dropout)
    kept, once = train_p2p(in_group, graph, settings)
    sent, each = train_p2p(in_group, graph, replace(settings, first_sums="sent"))
    assert scores(kept) == scores(sent)
    of_one = host_volume(plan_run(graph, settings).boundary, graph.width).payload_bytes
    passes = 10 if dropout else 5  # where values are dropped an epoch ends with a pass without dropout
    assert sum(t.payload_up for t in each) - sum(t.payload_up for t in once) == (passes - 1) * of_one


def test_sums_under_a_carried_scale_are_kept_as_well(in_group, graph) -> None:
    settings = replace(BASE, propagator="switch", hidden=40, epochs=4, scale="carried")
    carried, traffic, _ = train_switch(in_group, graph, settings)
    _, sent, _ = train_switch(in_group, graph, replace(settings, first_sums="sent"))
    np.testing.assert_allclose(
        losses(carried), losses(train_local(graph, replace(settings, scale="agreed"))), rtol=1e-4
    )
    widths = exchange_widths(settings, layer_widths(graph, settings))
    uploads = plan_run(graph, settings).plans[0].uploads
    assert sum(t.payload_up for t in sent) - sum(t.payload_up for t in traffic) == 3 * 4 * widths[0] * uploads


def test_sums_of_rounded_codes_are_never_kept(in_group, graph) -> None:
    settings = replace(BASE, propagator="switch", hidden=40, epochs=3, scheme="q16")
    kept, once, _ = train_switch(in_group, graph, settings)
    sent, each, _ = train_switch(in_group, graph, replace(settings, first_sums="sent"))
    assert scores(kept) == scores(sent)
    assert once == each


def test_features_that_change_are_refused_where_their_sums_were_kept() -> None:
    propagator = LocalPropagator()
    propagator.keep_first(2)
    for y in (torch.zeros(0, 3), torch.zeros(0, 2)) * 2:
        propagator.remote_sum(y)
    with pytest.raises(OfframpError, match=r"^layer 1: the features whose sums were kept have changed"):
        propagator.remote_sum(torch.zeros(0, 4))


def test_a_worker_without_training_vertices_or_boundary_takes_part(in_group, make_graph) -> None:
    graph = make_graph(n=12, edges=0)
    graph.train[:] = np.arange(12) < 3
    settings = replace(BASE, partition="chunk", workers=4, codec="fixed")
    epochs, traffic = train_p2p(in_group, graph, settings)
    np.testing.assert_allclose(losses(epochs), losses(train_local(graph, settings)), rtol=1e-4)
    assert sum(t.packets_up for t in traffic) == 0


def test_dropout_changes_training_but_not_evaluation(graph) -> None:
    plain, dropped = (train_local(graph, replace(BASE, dropout=p, epochs=1))[0] for p in (0.0, 0.5))
    assert plain.loss != dropped.loss
    (job,) = plan_run(graph, replace(BASE, propagator="local", dropout=0.5)).jobs([])
    trainer = Trainer(job, Group(), LocalPropagator())
    assert (trainer.evaluate() == trainer.evaluate()).all()


def test_a_loss_that_is_not_finite_ends_the_run(graph) -> None:
    with pytest.raises(OfframpError, match=r"^epoch \d+: the loss is nan; expected a smaller lr$"):
        train_local(graph, replace(BASE, lr=1e30, layers=4))


@pytest.mark.parametrize("scheme", ["pairwise", "chunk-major", "hybrid", "balanced", "pairwise+hybrid", "auto"])
def test_exact_schemes_give_the_bits_of_quantised_p2p(in_group, make_graph, scheme: str) -> None:
    graph = make_graph(n=30, edges=60, features=40)
    settings = replace(BASE, propagator="switch", hidden=40, memory=10 * 128, epochs=3, scheme=scheme)
    through_switch_, traffic, switch = train_switch(in_group, graph, settings)
    p2p, sent = train_p2p(in_group, graph, replace(settings, propagator="p2p", codec="fixed", scheme="paper"))
    assert scores(through_switch_) == scores(p2p)
    schemes = plan_run(graph, settings).exchanges
    widths = run_widths(settings, layer_widths(graph, settings))
    planned = sum(schemes[width].wire_bytes for width in widths)
    # DONE and GO come on top, of each round and of the start.
    rounds = 1 + sum(schemes[width].rounds for width in widths)
    assert sum(t.wire_up + t.wire_down for t in traffic) == planned + rounds * 2 * 84 * settings.workers
    assert switch.counters()["passes"] == sum(schemes[width].passes for width in widths)
    if "hybrid" in scheme:
        assert planned <= sum(t.wire_up + t.wire_down for t in sent)


@pytest.mark.full
@pytest.mark.parametrize(("scheme", "tolerance"), [("pairwise+q8", 0.02), ("pairwise+q16+hybrid", 1e-3), ("q16", 0.01)])
def test_quantised_schemes_train_almost_alike(in_group, make_graph, scheme: str, tolerance: float) -> None:
    graph = make_graph(n=30, edges=60, features=40)
    settings = replace(BASE, propagator="switch", hidden=40, memory=100_000, epochs=5, scheme=scheme)
    epochs, _, _ = train_switch(in_group, graph, settings)
    again, _, _ = train_switch(in_group, graph, settings)
    assert scores(epochs) == scores(again)
    np.testing.assert_allclose(
        losses(epochs), losses(train_local(graph, replace(settings, scheme="paper"))), rtol=tolerance
    )
