# SPDX-License-Identifier: Apache-2.0
"""Jobs as arrays against the same jobs as objects, bit for bit. Blind to what both take from the job's traffic."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from offramp.hermod.job_file import load_job
from offramp_base.errors import OfframpError
from offramp_sim.hermod.flow import study
from offramp_sim.hermod.flow.bars import bars
from offramp_sim.hermod.flow.concurrency import concurrent
from offramp_sim.hermod.flow.network import Loaded
from offramp_sim.hermod.flow.study import SimulationSetup, one, prepare

pytestmark = pytest.mark.full

UNEVEN = {"jitter": 0.02, "imbalance": 0.3}
JOBS = {
    "experts": ("qwen-moe-12l", {"gpus": 128, **UNEVEN}),
    "even": ("qwen-moe-12l", {"gpus": 64}),
    "wide groups": ("qwen-moe-24l", {"gpus": 1024, "micro_batches": 2, **UNEVEN}),
    "one replica": ("qwen-moe-12l", {"gpus": 4, "ep": 1}),
    "dense": ("gpt3-13b", {"gpus": 128, "jitter": 0.1}),
    "interleaved": ("mixtral-8x22b", {"gpus": 1024, "schedule": "interleaved", "chunks": 2, **UNEVEN}),
    "dense, interleaved": ("gpt3-13b", {"gpus": 64, "schedule": "interleaved", "chunks": 2}),
    "barrier": ("qwen-moe-12l", {"gpus": 128, "iteration_barrier": True, "jitter": 0.02}),
}


def prepared(monkeypatch: pytest.MonkeyPatch, name: str, setup: SimulationSetup) -> tuple[Loaded, Loaded]:
    preset, changes = JOBS[name]
    job = replace(load_job(preset), **changes)  # type: ignore[arg-type]
    objects = prepare(job, setup)
    monkeypatch.setattr(study, "MOST_OBJECTS", 0)
    return objects, prepare(job, setup)


def assert_same_loads(one: Loaded, other: Loaded) -> None:
    """Each flow puts the same on the same resources, whatever the loads are numbered."""
    assert len(one.load) == len(other.load)
    for a, b in zip(one.load.tolist(), other.load.tolist(), strict=True):
        assert one.weight[a] == other.weight[b]
        mine, theirs = (slice(x.use_row[n], x.use_row[n + 1]) for x, n in ((one, a), (other, b)))
        np.testing.assert_array_equal(one.use[mine], other.use[theirs])
        np.testing.assert_array_equal(one.amount[mine], other.amount[theirs])


@pytest.mark.full
@pytest.mark.parametrize("name", JOBS)
@pytest.mark.parametrize("routing", ["ecmp", pytest.param("spray", marks=pytest.mark.slow)])
def test_arrays_are_what_objects_make(monkeypatch: pytest.MonkeyPatch, name: str, routing: str) -> None:
    objects, arrays = prepared(monkeypatch, name, SimulationSetup(iterations=3, routing=routing, seed=3))
    assert not arrays.dag.tasks
    for field in fields(Loaded):
        if field.name not in {"dag", "fabric", "reload", "load", "use_row", "use", "amount", "weight", "after"}:
            np.testing.assert_array_equal(getattr(objects, field.name), getattr(arrays, field.name), field.name)
    rows = ([sorted(row) for row in np.split(x.after, x.after_row[1:-1])] for x in (objects, arrays))
    assert next(rows) == next(rows)
    assert_same_loads(objects, arrays)
    for policy in ("fifo", "hermod", "lina"):
        results = [one(loaded, policy, SimulationSetup()) for loaded in (objects, arrays)]
        assert results[0].iteration_ends == results[1].iteration_ends
        np.testing.assert_array_equal(results[0].end, results[1].end)


def test_tasks_one_by_one_are_refused_not_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    _, arrays = prepared(monkeypatch, "even", SimulationSetup(iterations=2))
    outcome = one(arrays, "fifo", SimulationSetup())
    with pytest.raises(OfframpError, match="64 workers: its tasks are not kept one by one, expected fewer or a sample"):
        bars(outcome, 0, 1)
    with pytest.raises(OfframpError, match="64 workers"):
        concurrent(outcome, 10)
