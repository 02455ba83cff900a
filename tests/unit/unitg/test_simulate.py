# SPDX-License-Identifier: Apache-2.0
"""The simulator against the golden windows, closed forms and the timetable; commands and bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from offramp_base.errors import OfframpError
from offramp_cli.app import app
from offramp_sim.unitg.engine import PipelineResult, simulate
from offramp_sim.unitg.scenario import COLOCATED, GATED, INTERLEAVED, POLICIES, SEQUENTIAL, UnitgScenario

SLOW_LINK = UnitgScenario(link_bps=8.0, activation_bytes=0.5, gradient_bytes=2.0, lm_step_s=5.0, lm_modules=500)


def idle(outcome: PipelineResult, stage: int, start: float, end: float) -> list[tuple[float, float]]:
    bars = sorted((b.start, b.end) for b in outcome.bars if b.stage == stage and b.name.startswith(("f", "b")))
    gaps, at = [], start
    for begin, over in bars:
        if start <= begin < end:
            if begin > at:
                gaps.append((at, begin))
            at = over
    return [*gaps, (at, end)] if at < end else gaps


def test_golden_windows() -> None:
    outcome = simulate(UnitgScenario(lm_steps=0, iterations=2), INTERLEAVED)
    assert outcome.iteration_s == [21, 21]
    assert [idle(outcome, stage, 0, 21) for stage in range(4)] == [
        [(4, 13)],
        [(0, 1), (5, 11), (19, 21)],
        [(0, 2), (6, 9), (17, 21)],
        [(0, 3), (15, 21)],
    ]


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.integers(1, 6), st.integers(1, 6), st.sampled_from([0.0, 0.25, 2.0]), st.sampled_from([INTERLEAVED, GATED]))
def test_the_pipeline_alone_is_the_timetable(stages: int, microbatches: int, size: float, policy: str) -> None:
    scenario = UnitgScenario(stages, microbatches, 1, link_bps=8.0, activation_bytes=size, lm_steps=0)
    outcome, table = simulate(scenario, policy), scenario.undisturbed()
    assert outcome.makespan_s == pytest.approx(table.makespan)
    for stage in range(stages):
        ours = [b for b in outcome.bars if b.stage == stage]
        theirs = table.spans[stage]
        assert [t for b in ours for t in (b.start, b.end)] == pytest.approx(
            [t for s in theirs for t in (s.start, s.end)]
        )


def test_one_after_the_other_is_the_sum() -> None:
    scenario = UnitgScenario(lm_steps=4, lm_step_s=2.5, iterations=3)
    assert simulate(scenario, SEQUENTIAL).makespan_s == pytest.approx(3 * 21 + 4 * 2.5)


@pytest.mark.parametrize(
    "scenario", [UnitgScenario(), UnitgScenario(lm_step_s=3, lm_steps=9), SLOW_LINK, UnitgScenario(8, 4, 2)]
)
def test_the_order_of_the_policies(scenario: UnitgScenario) -> None:
    outcomes = {policy: simulate(scenario, policy) for policy in POLICIES}
    assert outcomes[SEQUENTIAL].makespan_s > outcomes[COLOCATED].makespan_s > outcomes[INTERLEAVED].makespan_s
    assert outcomes[COLOCATED].makespan_s > outcomes[GATED].makespan_s
    slow = {policy: sum(o.iteration_s) for policy, o in outcomes.items()}
    assert slow[COLOCATED] > slow[INTERLEAVED] >= slow[GATED] >= slow[SEQUENTIAL] - 1e-9


@pytest.mark.full
def test_progress_of_the_language_model() -> None:
    """Section 3.6: I min_s b_s / w steps in long windows; what is beyond takes longer than the pipeline."""
    inside = UnitgScenario(2, 1, 6, lm_steps=5, lm_step_s=3, lm_modules=3000)
    assert inside.predicted_s() == 36
    assert simulate(inside, INTERLEAVED).makespan_s == pytest.approx(36, rel=0.01)
    beyond = UnitgScenario(2, 1, 6, lm_steps=10, lm_step_s=3, lm_modules=3000)
    assert beyond.predicted_s() == 36 + 30 - 18
    assert simulate(beyond, INTERLEAVED).makespan_s == pytest.approx(beyond.predicted_s(), rel=0.07)


def test_pauses_at_module_borders_cost_no_more_than_a_module() -> None:
    for modules in (4, 16, 64, 256):
        scenario = UnitgScenario(lm_steps=3, lm_modules=modules)
        outcome = simulate(scenario, INTERLEAVED)
        grace = scenario.lm_step_s / modules
        assert sum(outcome.iteration_s) <= 3 * 21 + 3 * 2 * 4 * grace


@pytest.mark.full
def test_the_gate_keeps_transfers_at_their_time() -> None:
    """Section 3.10: with the language model's traffic at most 1.05 times as long as alone; without a gate longer."""
    alone = SLOW_LINK.transfer_s
    gated, plain = (simulate(SLOW_LINK, policy) for policy in (GATED, INTERLEAVED))
    assert max(gated.transfer_s) <= 1.05 * alone
    assert max(plain.transfer_s) > 1.2 * alone
    assert gated.iteration_s == pytest.approx([24] * 3, rel=0.01)


def run(*arguments: str) -> Any:
    result = CliRunner().invoke(app, ["simulate", "unitg", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.mark.full
def test_the_command(tmp_path: Path) -> None:
    numbers, plot = tmp_path / "n.json", tmp_path / "p.png"
    result = run("--json", str(numbers), "--plot", str(plot), "--link", "1gbit", "--activation", "60MB")
    assert result.exit_code == 0
    assert "0 to 1.48" in result.output
    report = json.loads(numbers.read_text())
    assert list(report["policies"]) == list(POLICIES)
    assert report["iteration"]["makespan_s"] == pytest.approx(21 + 6 * 0.48)
    assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--stages", "0"], "--stages 0: expected at least 1"),
        (["--microbatches", "0"], "--microbatches 0: expected at least 1"),
        (["--policy", "best"], "--policy best: expected one of sequential, colocated, interleaved, interleaved+gate"),
        (["--forward", "0"], "--forward 0: expected more than 0"),
        (["--lm-steps", "-1"], "--lm-steps -1: expected at least 0"),
        (["--plot", "missing/p.png"], "--plot missing/p.png: cannot be written: No such file or directory"),
    ],
)
def test_bad_input(arguments: list[str], message: str) -> None:
    with pytest.raises(OfframpError) as error:
        run(*arguments)
    assert str(error.value) == message
