# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate unitg``: a pipeline and a language model in its bubbles, under several policies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from offramp_base.errors import OfframpError
from offramp_cli.json_file import expect_writable, write_json
from offramp_cli.size import parse_size
from offramp_cli.switch.traffic import parse_rate


def unitg(
    stages: Annotated[int, typer.Option(help="Of the pipeline.")] = 4,
    microbatches: Annotated[int, typer.Option(help="Of an iteration.")] = 4,
    iterations: Annotated[int, typer.Option(help="Of the graph neural network.")] = 3,
    forward: Annotated[float, typer.Option(help="Seconds of a stage for a microbatch.")] = 1.0,
    backward: Annotated[float, typer.Option(help="The same of the backward pass.")] = 2.0,
    activation: Annotated[str, typer.Option(help="Size of a microbatch's activations between stages.")] = "0",
    link: Annotated[str | None, typer.Option(help="Rate of network cards, such as 1gbit; default: no delay.")] = None,
    lm_steps: Annotated[int, typer.Option(help="Steps of the language model.")] = 3,
    lm_step: Annotated[float, typer.Option(help="Seconds of a step on each device.")] = 9.0,
    lm_modules: Annotated[int, typer.Option(help="Pieces of a step, between which it can be paused.")] = 64,
    gradients: Annotated[str, typer.Option(help="Size of the language model's gradients.")] = "0",
    policy: Annotated[
        list[str] | None,
        typer.Option(help="sequential | colocated | interleaved | interleaved+gate; several: repeat; default: all."),
    ] = None,
    plot: Annotated[str | None, typer.Option(help="Write what happened when to this .png.")] = None,
    json_path: Annotated[str | None, typer.Option("--json", help="Write the numbers to this file.")] = None,
) -> None:
    """Simulate UniTG: what it takes to train both models, by when the language model may run."""
    from rich.console import Console
    from rich.table import Table

    from offramp_sim.unitg.engine import simulate
    from offramp_sim.unitg.scenario import POLICIES, Scenario

    chosen = tuple(dict.fromkeys(policy or POLICIES))
    for name in chosen:
        if name not in POLICIES:
            raise OfframpError(f"--policy {name}: expected one of {', '.join(POLICIES)}")
    expect_writable("--plot", plot)
    expect_writable("--json", json_path)
    rate = parse_rate(link, "--link") if link else None
    sizes = parse_size(activation, "--activation"), parse_size(gradients, "--gradients")
    pipeline = (stages, microbatches, iterations, forward, backward)
    scenario = Scenario(*pipeline, sizes[0], rate, lm_steps, lm_step, lm_modules, sizes[1])
    console = Console(highlight=False)
    table = scenario.undisturbed()
    outcomes = {name: simulate(scenario, name) for name in chosen}
    console.print(
        f"one iteration by itself: {table.makespan:.6g} s, {100 * table.bubble():.1f} % of it bubbles; "
        f"predicted for both models: {scenario.predicted_s():.6g} s"
    )
    windows = Table("stage", "idle from to to, seconds", box=None, pad_edge=False)
    for stage in range(stages):
        windows.add_row(str(stage + 1), "  ".join(f"{a:.4g} to {b:.4g}" for a, b in table.windows(stage)))
    console.print(windows)
    console.print()
    runs = Table(box=None, pad_edge=False)
    for head in ("", "both", "pipeline", "text", "iteration", "slowed by", "steps in time"):
        runs.add_column(head, justify="right" if head else "left", no_wrap=True)
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
    if plot is not None:
        from offramp_sim.unitg.picture import draw_outcomes

        draw_outcomes(outcomes, stages, Path(plot))
        console.print(f"plot: {plot}")
    settings = {name: getattr(scenario, name) for name in Scenario.__slots__}
    golden = [table.windows(stage) for stage in range(stages)]
    iteration = {"makespan_s": table.makespan, "bubble": table.bubble(), "windows": golden}
    write_json(json_path, {"settings": settings, "iteration": iteration, "policies": rows})
