# SPDX-License-Identifier: Apache-2.0
"""Sylvie's codes added in SwitchGNN's aggregators: one step for each sum (sylvie-torchgt-unitg.md section 1.10)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from offramp.train import quantiser
from offramp.train.planned import plan_run
from offramp.train.propagators.switch_link import through
from offramp.train.settings import TrainSettings
from offramp.train.trainer import Trainer
from offramp_base.errors import OfframpError
from offramp_sim.switchgnn.lockstep import Lockstep
from offramp_sim.switchgnn.reference import ReferenceSwitch
from offramp_sim.switchgnn.thread_group import SharedLockstep

BASE = TrainSettings(
    "random", workers=4, propagator="switch", partition="hash", hidden=40, memory=100_000, epochs=4, lr=0.03
)


@pytest.fixture
def wide(make_graph):
    return make_graph(n=40, edges=110, features=40)


def on_switch(in_group, graph, settings, work):
    """``work(job, group, propagator)`` on every worker, and the switch."""
    planned = plan_run(graph, settings)
    plans, ports = planned.plans, list(range(settings.workers))
    switch = ReferenceSwitch(plans, ports)
    shared = SharedLockstep(Lockstep(plans, ports, switch.process))
    jobs = planned.jobs(["unused"] * settings.workers)

    def on_rank(group):
        return work(jobs[group.rank], group, through(jobs[group.rank], group, shared.end_of(group.rank)))

    return planned, in_group(settings.workers, on_rank), switch


@pytest.mark.parametrize("scheme", ["paper", "chunk-major", "hybrid"])
@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_a_sum_is_off_by_less_than_a_step_for_each_contribution(in_group, wide, bits: int, scheme: str) -> None:
    x = np.random.default_rng(bits).normal(size=(40, 40)).astype(np.float32)
    x *= 10.0 ** np.random.default_rng(1).integers(-3, 3, (40, 1))  # a step for all would lose the small rows

    def work(job, group, propagator):
        mine = job.local.vertices[job.local.boundary]
        return mine, propagator.remote_sum(torch.from_numpy(x[mine])).numpy()

    settings = replace(BASE, codec=f"q{bits}", scheme=scheme)
    planned, outcomes, switch = on_switch(in_group, wide, settings, work)
    owner, adjacency = planned.boundary.owner, np.zeros((40, 40))
    adjacency[tuple(planned.boundary.cut_edges.T)] = 1
    adjacency += adjacency.T
    for mine, sums in outcomes:
        for vertex, row in zip(mine.tolist(), sums, strict=True):
            partial = [adjacency[vertex][owner == w] @ x[owner == w].astype(np.float64) for w in range(4)]
            partial = [p for w, p in enumerate(partial) if adjacency[vertex][owner == w].any()]
            ends = quantiser.least_and_largest(np.stack(partial)).astype(np.float64)
            step = quantiser.common_scale((ends[:, 1] - ends[:, 0]).max(keepdims=True), bits)
            assert np.abs(row - sum(partial)).max() <= len(partial) * float(step[0]) * (1 + 1e-5)
    exchange_plan = next(iter(planned.exchanges.values()))
    assert exchange_plan.scheme.bits == {1: 2, 2: 4, 4: 8, 8: 16}[bits]  # fields as narrow as sums of three codes
    assert switch.open == 0


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
@pytest.mark.parametrize("terms", [1, 3, 16, 17])
def test_the_largest_sum_fits_its_field(bits: int, terms: int) -> None:
    values = np.random.default_rng(terms).normal(size=(terms, 9)) * np.arange(1, terms + 1)[:, None]
    ends = quantiser.least_and_largest(values).astype(np.float64)
    scale = quantiser.common_scale((ends[:, 1] - ends[:, 0]).max(keepdims=True), bits)
    codes = quantiser.encode(values, ends[:, :1], scale, (1 << bits) - 1, np.random.default_rng(0))
    assert 0 <= codes.min() <= codes.max() < 1 << bits
    field = next(width for width in (2, 4, 8, 16, 32) if terms * ((1 << bits) - 1) < 1 << width)
    total = quantiser.pack(codes, field).astype(np.int64).sum(axis=0, keepdims=True)
    np.testing.assert_array_equal(quantiser.unpack(total, field, 9), codes.sum(axis=0, keepdims=True))
    if (terms, bits) == (16, 8):
        assert terms * 255 < 1 << 12  # section 1.10: 16 senders of 8-bit codes fit 12 bits


@pytest.mark.full
def test_training_with_codes_in_the_switch(in_group, wide) -> None:
    def work(job, group, propagator):
        return [e.loss for e in Trainer(job, group, propagator).run()], propagator.traffic

    losses, sent = {}, {}
    for codec in ("fp32", "q8", "q2"):
        _, outcomes, _ = on_switch(in_group, wide, replace(BASE, codec=codec), work)
        losses[codec] = np.array(outcomes[0][0])
        sent[codec] = sum(traffic.payload_up for _, traffic in outcomes)
    np.testing.assert_allclose(losses["q8"], losses["fp32"], rtol=0.01)
    np.testing.assert_allclose(losses["q2"], losses["fp32"], rtol=0.2)
    assert sent["q2"] < sent["q8"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"codec": "q4", "scheme": "balanced"},
            "codec q4: through a switch with scheme paper, chunk-major or hybrid and scale agreed only",
        ),
        ({"codec": "q4", "racks": 2}, "codec q4: through a switch with one rack and dtype float32 only"),
        ({"codec": "sylvie"}, "codec sylvie: goes with schedule other than plain"),
        ({"codec": "q4", "propagator": "strawman"}, "codec q4: goes with schedule other than plain"),
    ],
)
def test_golden_errors(changes: dict, message: str) -> None:
    with pytest.raises(OfframpError) as caught:
        replace(BASE, **changes)
    assert str(caught.value) == message
