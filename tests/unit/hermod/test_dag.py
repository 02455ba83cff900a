# SPDX-License-Identifier: Apache-2.0
"""The DAG's form (specification section 2). Sizes and times are tested elsewhere."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from offramp.hermod.build import job_dag
from offramp.hermod.dag import ACTIVATION, ALL_GATHER, GRADIENT, REDUCE_SCATTER, Coflow, Compute, Dag
from offramp.hermod.factors import CType
from offramp.hermod.job import HermodJob, named_job
from offramp.hermod.models import DecoderTransformer
from offramp.hermod.pipeline import PipelineStep, interleaved, one_f_one_b
from offramp.hermod.placement import Placement, expert_groups

DENSE = DecoderTransformer("dense", 8, 64, 4, 4, 100, 256)
SPARSE = DecoderTransformer("sparse", 8, 64, 4, 4, 100, 256, experts=4, top_k=2)


def job(model: DecoderTransformer = SPARSE, **changes: object) -> HermodJob:
    given = {"gpus": 8, "pp": 2, "ep": 4 if model.experts else 1, "micro_batches": 4, "gpus_per_server": 2}
    return HermodJob(model, **{**given, "nics_per_server": 2, **changes})  # type: ignore[arg-type]


def before(dag: Dag) -> list[set[int]]:
    """All tasks that must have ended before each."""
    waits: list[set[int]] = []
    for task in dag.tasks:
        waits.append(set(task.waits).union(*(waits[b] for b in task.waits)))
    return waits


def test_the_order_of_1f1b() -> None:
    text = ["".join(f"{'B' if s.backward else 'F'}{s.micro_batch}" for s in one_f_one_b(r, 3, 4)) for r in range(3)]
    assert text == ["F0F1F2B0F3B1B2B3", "F0F1B0F2B1F3B2B3", "F0B0F1B1F2B2F3B3"]


@pytest.mark.parametrize(("stages", "micro_batches", "chunks"), [(2, 4, 2), (4, 8, 2), (4, 8, 3)])
def test_interleaved_visits_every_chunk_once_and_in_megatron_s_order(
    stages: int, micro_batches: int, chunks: int
) -> None:
    for rank in range(stages):
        steps = interleaved(rank, stages, micro_batches, chunks)
        every = Counter(steps)
        assert set(every.values()) == {1}
        assert len(every) == 2 * micro_batches * chunks
        warm_up = min((stages - rank - 1) * 2 + (chunks - 1) * stages, micro_batches * chunks)
        assert not any(s.backward for s in steps[: warm_up + 1 if warm_up < micro_batches * chunks else warm_up])
        forward = [s for s in steps if not s.backward]
        assert forward[: 2 * stages] == [PipelineStep(False, i % stages, i // stages) for i in range(2 * stages)]
        assert [s.chunk for s in steps if s.backward][:stages] == [chunks - 1] * stages


def test_numbers_of_coflows() -> None:
    dag = job_dag(job(), iterations=2)
    roles = Counter(c.role for _, c in dag.coflows())
    layers, mids, its = 8, 4, 2
    assert sum(c.ctype is CType.EP for _, c in dag.coflows()) == 4 * layers * mids * its  # one group a stage
    assert roles[ACTIVATION] == roles[GRADIENT] == mids * its * 4  # replicas
    assert roles[REDUCE_SCATTER] == roles[ALL_GATHER] == layers * its


@pytest.mark.parametrize("model", [DENSE, SPARSE])
@pytest.mark.parametrize("schedule", ["1f1b", "interleaved"])
def test_what_waits_for_what(model: DecoderTransformer, schedule: str) -> None:
    dag = job_dag(job(model, schedule=schedule, chunks=2 if schedule == "interleaved" else 1), iterations=2)
    earlier = before(dag)
    for k, task in enumerate(dag.tasks):
        assert all(b < k for b in task.waits)
    forward = {
        (t.worker, t.iteration, t.mid, lid): k
        for k, t in dag.computations()
        if not t.backward
        for lid in range(*t.layers)
    }
    for k, c in dag.coflows():
        f = c.factors
        if c.role == ALL_GATHER:
            assert f.mid == 3
            followers = [forward[w, 1, 0, f.lid] for w in c.flows.source.tolist()] if c.iteration == 0 else []
            assert all(k in earlier[t] for t in followers)
        if c.role == REDUCE_SCATTER:
            mids = {t.mid for b in c.waits if isinstance(t := dag.tasks[b], Compute)}
            assert mids == {3}
        if c.role == ACTIVATION:
            assert k in earlier[forward[int(c.flows.sink[0]), c.iteration, f.mid, f.lid + 1]]
            assert forward[int(c.flows.source[0]), c.iteration, f.mid, f.lid] in earlier[k]


def test_a_worker_computes_one_thing_after_the_other() -> None:
    dag = job_dag(job(), iterations=2)
    earlier = before(dag)
    for worker in range(dag.workers):
        mine = [k for k, t in dag.computations() if t.worker == worker]
        assert all(a in earlier[b] for a, b in itertools.pairwise(mine))


def test_the_barrier_waits_for_every_gather() -> None:
    dag = job_dag(job(DENSE, iteration_barrier=True), iterations=2)
    (barrier,) = (k for k, t in dag.computations() if t.worker < 0)
    gathers = [k for k, c in dag.coflows() if c.role == ALL_GATHER and c.iteration == 0]
    assert set(gathers) == set(dag.tasks[barrier].waits)
    earlier = before(dag)
    assert all(barrier in earlier[k] for k, t in dag.computations() if t.iteration == 1 and k != barrier)


def test_combine_is_dispatch_the_other_way_round() -> None:
    dag = job_dag(job(imbalance=1.0), iterations=1)
    by_role: dict[str, Coflow] = {}
    for _, c in dag.coflows():
        if c.ctype is CType.EP and (c.factors.mid, c.factors.lid) == (1, 2):
            by_role[c.role] = c
    pairs = {
        role: {(s, t): v for s, t, v in zip(c.flows.source, c.flows.sink, c.flows.size, strict=True)}
        for role, c in by_role.items()
    }
    assert pairs["combine"] == {(t, s): v for (s, t), v in pairs["dispatch"].items()}
    assert pairs["combine-gradient"] == pairs["dispatch"]
    assert pairs["dispatch-gradient"] == pairs["combine"]


def test_tensor_parallelism_stays_inside_the_server() -> None:
    dag = job_dag(named_job("gpt3-13b"), iterations=1, tensor_parallel=True)
    tensor = [c for _, c in dag.coflows() if c.ctype is CType.TP]
    assert len(tensor) == 2 * 2 * 8 * 40 * 2  # halves, passes, microbatches, layers, replicas
    assert all((c.flows.source == c.flows.sink).all() for c in tensor)


@pytest.mark.parametrize("name", ["qwen-moe-12l", "mixtral-8x7b", "gpt3-13b", "qwen-moe-24l", "mixtral-8x22b"])
def test_neighbours_and_experts_lie_on_different_servers(name: str) -> None:
    described = named_job(name)
    placement = Placement.of(described)
    each = Counter(placement.server.tolist())
    assert len(each) == described.gpus // 8
    assert set(each.values()) == {8 // described.tp}
    stage = placement.server.reshape(described.pp, described.dp)
    assert (stage[1:] != stage[:-1]).all()
    for group in expert_groups(described, 0):
        assert len(set(placement.server[group].tolist())) == min(len(group), len(each))


@pytest.mark.full
def test_the_same_seed_makes_the_same_dag() -> None:
    first, second, other = (job_dag(job(imbalance=0.5, jitter=0.1), 1, seed=s) for s in (1, 1, 2))
    sizes = [np.concatenate([c.flows.size for _, c in d.coflows()]) for d in (first, second, other)]
    assert (sizes[0] == sizes[1]).all()
    assert (sizes[0] != sizes[2]).any()
    assert [t.seconds for _, t in first.computations()] == [t.seconds for _, t in second.computations()]
