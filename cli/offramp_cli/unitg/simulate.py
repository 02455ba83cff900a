# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate unitg``: a pipeline and a language model in its bubbles, under several policies."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from offramp_base import Field
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Plotted

if TYPE_CHECKING:
    from offramp_sim.unitg import UnitgScenario


def _policies() -> tuple[str, ...]:
    from offramp_sim.unitg import POLICIES

    return POLICIES


@dataclass(frozen=True)
class Compared:
    """The policies that are compared."""

    policy: Annotated[
        tuple[str, ...], Field("When the language model runs; repeatable; all by default", choices=_policies)
    ] = ()


@command(
    "offramp_sim.unitg.scenario:UnitgScenario",
    Compared,
    Plotted,
    example="simulate unitg --stages 4 --policy sequential --policy interleaved --json -",
)
def unitg(scenario: UnitgScenario, compared: Compared, outputs: Plotted) -> None:
    """Simulate UniTG: the time to train both models, by when the language model may run."""
    from offramp_sim.unitg import draw_outcomes, simulate

    chosen = tuple(dict.fromkeys(compared.policy or _policies()))
    stages = scenario.stages
    console = show.console()
    table = scenario.undisturbed()
    outcomes = {name: simulate(scenario, name) for name in chosen}
    console.print(
        f"one iteration by itself: {table.makespan:.6g} s, {100 * table.bubble():.1f} % of it bubbles; "
        f"predicted for both models: {scenario.predicted_s():.6g} s"
    )
    windows = show.table("stage", "idle from to to, seconds", left=("stage", "idle from to to, seconds"))
    for stage in range(stages):
        windows.add_row(str(stage + 1), "  ".join(f"{a:.4g} to {b:.4g}" for a, b in table.windows(stage)))
    console.print(windows)
    console.print()
    runs = show.table("", "both", "pipeline", "text", "iteration", "slowed by", "steps in time", whole=True)
    rows: dict[str, Any] = {}
    for name, outcome in outcomes.items():
        mean = sum(outcome.iteration_s) / len(outcome.iteration_s)
        rows[name] = {
            "makespan_s": outcome.makespan_s,
            "pipeline_s": outcome.pipeline_s,
            "model_s": outcome.model_s,
            "iteration_s": outcome.iteration_s,
            "slowdown": mean / table.makespan - 1,
            "steps_inside": outcome.steps_inside,
            "transfer_s": outcome.transfer_s,
        }
        runs.add_row(
            name,
            f"{outcome.makespan_s:.6g} s",
            f"{outcome.pipeline_s:.6g} s",
            f"{outcome.model_s:.6g} s",
            f"{mean:.6g} s",
            f"{100 * rows[name]['slowdown']:.1f} %",
            str(outcome.steps_inside),
        )
    console.print(runs)
    outputs.draw(partial(draw_outcomes, outcomes, stages))
    settings = asdict(scenario)
    golden = [table.windows(stage) for stage in range(stages)]
    iteration = {"makespan_s": table.makespan, "bubble": table.bubble(), "windows": golden}
    outputs.write("offramp.simulate.unitg/1", {"settings": settings, "iteration": iteration, "policies": rows})
