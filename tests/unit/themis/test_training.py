# SPDX-License-Identifier: Apache-2.0
"""Workloads and iterations: parameter counts, what is waited for, the paper's breakdown, files."""

from __future__ import annotations

import pytest

from offramp.themis.bound import ideal_ps
from offramp.themis.demand import Demand
from offramp.themis.network import Collective
from offramp.themis.plan import Scheduler, make_plan
from offramp.themis.topologies import PAPER
from offramp_base.errors import OfframpError
from offramp_sim.themis.iteration import train
from offramp_sim.themis.models import MODELS, model_for
from offramp_sim.themis.workload import CommunicationScope, LayerCollective, TrainingWorkload, WorkloadLayer

HOMO = PAPER["3D-SW_SW_SW_homo"]
AR = Collective.ALL_REDUCE


def test_parameters():
    """Published: ResNet-152 has 60.2 million parameters; Transformer-1T 10^12."""
    assert MODELS["resnet-152"]().gradient_bytes == pytest.approx(2 * 60.19e6, rel=1e-3)
    transformer = model_for("transformer-1t", (16, 8, 8))
    assert transformer.model_parallel == 128
    assert transformer.gradient_bytes * 128 == pytest.approx(2e12, rel=0.02)
    assert model_for("transformer-1t", (16, 64)).model_parallel == 16
    for name in ("resnet-152", "gnmt", "dlrm"):  # all collectives lie between 100 MB and 1 GB
        assert 1e8 <= MODELS[name]().gradient_bytes <= 1e9


def test_computation_of_resnet():
    """11.5 billion multiply-adds an image, three passes, at 312 TFLOPS or memory-bound."""
    workload = MODELS["resnet-152"]()
    forward = sum(layer.forward_ps for layer in workload.layers) / 1e12
    assert forward >= 2 * 11.3e9 * 32 / 312e12


@pytest.mark.parametrize("name", MODELS)
def test_themis_lies_between_the_baseline_and_the_ideal(name):
    workload = model_for(name, (16, 8, 8))
    times = {s: train(workload, HOMO, s) for s in (Scheduler.BASELINE, Scheduler.THEMIS_SCF, Scheduler.BALANCED, None)}
    computes = {t.compute for t in times.values()}
    assert len(computes) == 1
    assert times[Scheduler.BASELINE].total > times[Scheduler.THEMIS_SCF].total > times[None].total
    assert times[Scheduler.BALANCED].total <= times[Scheduler.THEMIS_SCF].total
    assert times[Scheduler.BASELINE].utilisation(HOMO) < times[Scheduler.THEMIS_SCF].utilisation(HOMO) <= 1


def test_a_blocking_exchange_is_waited_for_in_full_and_time_adds_up():
    exchange = LayerCollective(AR, 10**8, blocking=True)
    workload = TrainingWorkload("one", (WorkloadLayer("a", 10**6, 2 * 10**6, 3 * 10**6, forward=(exchange,)),))
    breakdown = train(workload, HOMO, Scheduler.THEMIS_SCF, 3)
    alone = make_plan(HOMO, [Demand(AR, 10**8)]).finish_ps
    assert breakdown.exposed[CommunicationScope.ALL] == 3 * alone
    assert breakdown.total == 3 * (6 * 10**6 + alone)
    ideal = train(workload, HOMO, None).waiting
    assert ideal == round(ideal_ps(HOMO, [Demand(AR, 10**8)]))


def test_communication_in_the_shadow_of_computation_is_not_exposed():
    behind = LayerCollective(Collective.ALL_TO_ALL, 10**6)
    layers = (
        WorkloadLayer("embedding", forward=(behind,)),
        WorkloadLayer("bottom", forward_ps=10**10),
        WorkloadLayer("top", forward_ps=10**6, awaits="embedding"),
    )
    breakdown = train(TrainingWorkload("dlrm-like", layers), HOMO, Scheduler.BASELINE)
    assert breakdown.waiting == 0
    assert 0 < breakdown.utilisation(HOMO) <= 1  # only of the time in which something was pending


def test_gradients_layer_by_layer_overlap_the_backward_pass():
    layers = tuple(WorkloadLayer(f"l{i}", 10**9, 10**9, 10**9, weight=(LayerCollective(AR, 10**7),)) for i in range(8))
    fused = train(TrainingWorkload("fused", layers), HOMO, Scheduler.THEMIS_SCF)
    apart = train(TrainingWorkload("apart", layers, fuse_gradients=False), HOMO, Scheduler.THEMIS_SCF)
    assert apart.waiting < fused.waiting
    assert sum(apart.sent) == pytest.approx(sum(fused.sent))


def test_data_parallelism_on_one_dimension_leaves_no_choice():
    layer = WorkloadLayer("l", 10**6, weight=(LayerCollective(AR, 10**8, CommunicationScope.DATA),))
    workload = TrainingWorkload("dp", (layer,), model_parallel=128)
    times = {train(workload, HOMO, s).total for s in Scheduler}
    assert max(times) / min(times) < 1.001


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TrainingWorkload("w", ()), "workload w: expected at least one layer"),
        (lambda: TrainingWorkload("w", tuple(map(WorkloadLayer, "baca"))), "two layers are called a"),
        (
            lambda: TrainingWorkload("w", (WorkloadLayer("a", awaits="b"), WorkloadLayer("b"))),
            "layer a awaits b, expected one before it",
        ),
        (lambda: TrainingWorkload("w", (WorkloadLayer("a", -1),)), "times"),
        (
            lambda: train(TrainingWorkload("w", (WorkloadLayer("a"),)), HOMO, Scheduler.BASELINE),
            "an iteration takes no time",
        ),
        (lambda: train(TrainingWorkload("w", (WorkloadLayer("a", 1),)), HOMO, None, 0), "0 iterations"),
        (
            lambda: train(
                TrainingWorkload("w", (WorkloadLayer("a", 1, weight=(LayerCollective(AR, 9),)),), model_parallel=7),
                HOMO,
                Scheduler.BASELINE,
            ),
            "groups of 7 NPUs: they do not divide the 1024 NPUs of 3D-SW_SW_SW_homo",
        ),
        (lambda: model_for("alexnet", (4,)), "workload 'alexnet': expected a file or one of resnet-152"),
    ],
)
def test_bad_workloads(make, message):
    with pytest.raises(OfframpError, match=message):
        make()
