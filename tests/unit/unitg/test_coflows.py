# SPDX-License-Identifier: Apache-2.0
"""UniTG's exchanges under Hermod's priorities, at flow level, and what a switch is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from offramp.hermod.dag import Coflow, Compute
from offramp.hermod.factors import CType, key
from offramp.hermod.queues import plan_queues
from offramp.hermod.switch.entries import GateRole
from offramp.unitg.coflows import codec_of, gated_plan, gradient_factors, transfer_factors
from offramp.unitg.schedule import Op, PipelinePosition
from offramp.unitg.timetable import timetable
from offramp_base.errors import OfframpError
from offramp_sim.hermod.flow.simulate import FlowResult, simulate
from offramp_sim.hermod.flow.study import SimulationSetup, prepare_traces
from unitg_dag import OF_TEXT, unitg_dag

if TYPE_CHECKING:
    import numpy as np

PLACE = PipelinePosition(0, 4, 4)


def transfers(outcome: FlowResult) -> np.ndarray:
    """Seconds of each coflow between stages."""
    tasks = outcome.loaded.dag.tasks
    chosen = [k for k, t in enumerate(tasks) if isinstance(t, Coflow) and t.ctype is CType.PP]
    return (outcome.end - outcome.start)[chosen]


@pytest.mark.parametrize("gradient_bytes", [0.0, 4e9])
def test_hermod_keeps_transfers_at_their_time(gradient_bytes: float) -> None:
    """1 GB per second: 0.5 s each alone. Gradients of a step take 6 s of each card."""
    dag = unitg_dag(PLACE, 3, (1.0, 2.0, 3.0), 0.5e9, gradient_bytes)
    loaded = prepare_traces(dag, 8, SimulationSetup())
    outcomes = {policy: simulate(loaded, policy) for policy in ("fair", "fifo", "hermod")}
    assert transfers(outcomes["hermod"]).max() <= 1.05 * 0.5
    if gradient_bytes:
        assert transfers(outcomes["fair"]).max() > 1.2 * 0.5
        assert outcomes["hermod"].iteration_s <= outcomes["fair"].iteration_s + 1e-9


def test_without_text_it_is_the_timetable() -> None:
    outcome = simulate(prepare_traces(unitg_dag(PLACE, 1, (1.0, 2.0, 0.0), 0.5e9, 0.0), 8, SimulationSetup()), "hermod")
    assert outcome.iteration_ends[-1] == pytest.approx(timetable([1] * 4, [2] * 4, 4, 0.5).makespan)


def test_every_stage_does_its_part_of_every_step() -> None:
    dag = unitg_dag(PLACE, 3, (1.0, 2.0, 3.0), 1.0, 1.0)
    parts = [t for t in dag.tasks if isinstance(t, Compute) and t.layers == OF_TEXT]
    assert sorted((t.iteration, t.worker) for t in parts) == [(i, s) for i in range(3) for s in range(4)]
    averages = [t for t in dag.tasks if isinstance(t, Coflow) and t.ctype is CType.DP]
    assert [len(t.flows.size) for t in averages] == [12] * 3
    assert [t.flows.size.sum() for t in averages] == pytest.approx([2 * 3 * 1.0] * 3)


@pytest.mark.parametrize("microbatches", [1, 2, 4, 8, 16])
def test_gradients_of_the_language_model_come_last(microbatches: int) -> None:
    codec = codec_of(4, microbatches)
    urgent = [transfer_factors(Op(b, m), s) for b in (False, True) for m in range(microbatches) for s in range(4)]
    text = [gradient_factors(microbatches, s) for s in range(4)]
    assert max(codec.code(f) for f in urgent) < min(codec.code(f) for f in text)
    assert max(key("hermod", f) for f in urgent) < min(key("hermod", f) for f in text)


@pytest.mark.parametrize("microbatches", [1, 2, 4, 8, 16])
def test_the_switchs_plan(microbatches: int) -> None:
    plan = gated_plan(4, microbatches, {0x02_00_00_00_00_01: 1}, [1, 2])
    codec = codec_of(4, microbatches)
    on_wire = plan_queues(codec).dscp
    for stage in range(4):
        for m in range(microbatches):
            expected = GateRole(closes=m == 0, opens=m == microbatches - 1)
            dscp = on_wire[codec.code(transfer_factors(Op(backward=False, microbatch=m), stage))]
            assert plan.roles.get(dscp, GateRole()) == expected
            text = on_wire[codec.code(gradient_factors(microbatches, stage))]
            assert plan.roles[text] == GateRole(held=True)
            assert plan.queues[text] < plan.queues[dscp]


def test_bad_plans() -> None:
    with pytest.raises(OfframpError, match=r"^micro_batches 0: expected at least 1$"):
        gated_plan(4, 0, {}, [1])
    with pytest.raises(OfframpError, match=r"^host 000000000001: port 3 is not one of the switch's$"):
        gated_plan(4, 2, {1: 3}, [1])
