# SPDX-License-Identifier: Apache-2.0
"""The tasks of a small workload by hand: what waits for what, and what counts as what."""

from __future__ import annotations

from dataclasses import replace

import pytest

from offramp.hermod.dag import Coflow, Compute, Dag
from offramp.hermod.factors import CType
from offramp.themis.network import Collective, Dimension, DimensionTopology, Network
from offramp_base.errors import OfframpError
from offramp_sim.hermod.flow.workload import workload_dag
from offramp_sim.themis.workload import CommunicationScope, LayerCollective, TrainingWorkload, WorkloadLayer

PAIR = Network("pair", (Dimension(DimensionTopology.RING, 2, 100e9, 500),))
ALL, REDUCE = CommunicationScope.ALL, Collective.ALL_REDUCE


def layers(**more: object) -> tuple[WorkloadLayer, ...]:
    return tuple(
        WorkloadLayer(
            name, 10**6, 2 * 10**6, 3 * 10**6,
            input=(LayerCollective(Collective.ALL_TO_ALL, 800, ALL),), weight=(LayerCollective(REDUCE, 4000, ALL),),
            **more,  # type: ignore[arg-type]
        )
        for name in ("a", "b")
    )  # fmt: skip


def parts(dag: Dag, npu: int) -> list[tuple[object, ...]]:
    """Tasks that NPU 0 or all take part in; what each waits for, as numbers in this list."""
    own = [n for n, task in enumerate(dag.tasks) if isinstance(task, Coflow) or task.worker == npu]
    place = {n: k for k, n in enumerate(own)}
    rows = []
    for n in own:
        task = dag.tasks[n]
        waits = sorted(place[each] for each in task.waits if each in place)
        if isinstance(task, Compute):
            rows.append((round(task.seconds * 1e6), task.layers[0], task.backward, waits))
        else:
            rows.append((task.factors.ctype, task.factors.lid, int(task.flows.size.sum()), waits))
    return rows


@pytest.mark.parametrize("npu", [0, 1])
def test_gradients_of_all_layers_go_together_at_the_end(npu: int) -> None:
    dag, _ = workload_dag(TrainingWorkload("w", layers()), PAIR)
    size = 2 * 8000  # a sum's scatter of two layers; each of two sends half to the other, twice
    assert parts(dag, npu) == [
        (1, 0, False, []),
        (1, 1, False, [0]),
        (2, 1, True, [1]),
        (CType.EP, 1, 800, [2]),
        (3, 1, True, [2]),
        (2, 0, True, [4]),
        (CType.EP, 0, 800, [5]),
        (3, 0, True, [5]),
        (CType.DP, 0, size, [7]),
    ]
    assert {(task.factors.mid, task.iteration, task.stage) for task in dag.tasks if isinstance(task, Coflow)} == {
        (0, 0, 0)
    }


def test_gradients_go_as_they_come_and_input_is_waited_for() -> None:
    dag, _ = workload_dag(TrainingWorkload("w", layers(await_input=True), fuse_gradients=False), PAIR)
    assert parts(dag, 0)[2:] == [
        (2, 1, True, [1]),
        (CType.EP, 1, 800, [2]),
        (3, 1, True, [2]),
        (CType.DP, 1, 8000, [4]),
        (2, 0, True, [3, 4]),
        (CType.EP, 0, 800, [6]),
        (3, 0, True, [6]),
        (CType.DP, 0, 8000, [8]),
    ]


def test_a_forward_pass_that_runs_again_and_a_layer_that_awaits_another() -> None:
    first, second = layers()
    exchange = (LayerCollective(Collective.ALL_GATHER, 1000, ALL),)
    first = replace(first, forward=exchange, input=(), weight=())
    second = replace(second, input=(), weight=(), awaits="a", recompute=True)
    dag, _ = workload_dag(TrainingWorkload("w", (first, second)), PAIR)
    assert [row[:2] + row[3:] for row in parts(dag, 0)] == [
        (1, 0, []),
        (CType.PP, 0, [0]),
        (1, 1, [0, 1]),
        (1, 1, [2]),
        (2, 1, [3]),
        (3, 1, [4]),
        (2, 0, [5]),
        (3, 0, [6]),
    ]


def test_a_workload_without_anything_to_do_is_refused() -> None:
    with pytest.raises(OfframpError, match="workload w: expected computation or communication"):
        workload_dag(TrainingWorkload("w", (WorkloadLayer("a"),)), PAIR)
