# SPDX-License-Identifier: Apache-2.0
"""``offramp train unitg``: a graph neural network in a pipeline, a language model in its bubbles."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

from offramp_base import Field, SettingsError
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Plotted

if TYPE_CHECKING:
    from rich.console import Console

    from offramp.unitg import UnitgResult, UnitgSettings


@dataclass(frozen=True)
class MeasureSettings:
    """Whether both models are measured instead of trained."""

    measure: Annotated[
        int, Field("Instead of training: rounds to measure both models alone, interleaved and colocated", least=0)
    ] = 0
    lm_steps: Annotated[
        int, Field("Steps of the language model while measuring; 0: as many as fit into the bubbles", least=0)
    ] = 0

    def __post_init__(self) -> None:
        if self.lm_steps and not self.measure:
            problem = "goes with {measure} only; {lm_epochs} says how long the language model trains"
            raise SettingsError("lm_steps", problem)


@command(
    "offramp.unitg.settings:UnitgSettings",
    MeasureSettings,
    Plotted,
    example="train unitg --graph karate --stages 2 --epochs 5 --json -",
    systems=("unitg", "tape", "glem"),
)
def unitg(settings: UnitgSettings, measured: MeasureSettings, outputs: Plotted) -> None:
    """Train a deep graph neural network in a pipeline and, in its bubbles, a language model of the vertices."""
    if outputs.plot is not None and measured.measure:
        raise SettingsError("plot", "goes without {measure} only")
    if measured.measure and settings.mode != "interleaved":
        raise SettingsError("measure", "runs every mode; expected no {mode}")
    from offramp.workers import expect_workers

    expect_workers(settings.stages)
    console = show.console(one_rank=True)
    if measured.measure:
        _measure(console, settings, measured, outputs)
    else:
        _train(console, settings, outputs)


def _train(console: Console, settings: UnitgSettings, outputs: Plotted) -> None:
    from offramp.unitg import train_unitg
    from offramp_cli.stages import stages as show_stages

    width = len(str(settings.all_epochs))
    with show_stages(console) as stage:
        stage("preparing")
        result = train_unitg(
            settings.load(),
            settings,
            lambda e: stage.advance(
                f"epoch {e.epoch:{width}}  loss {e.loss:.4f}  val {100 * e.val_accuracy:.1f} %",
                e.epoch,
                settings.all_epochs,
            ),
        )
    if result is None:
        return
    _show(console, result)
    if outputs.plot is not None:
        from offramp_cli.unitg.picture import draw_run

        outputs.draw(partial(draw_run, result))
    outputs.write("offramp.train.unitg/1", result.as_dict())


def _show(console: Console, result: UnitgResult) -> None:
    facts, last, progress = result.settings, result.epochs[-1], result.stages[0].progress
    console.print(
        f"{facts['graph_name']}: {facts['vertices']} vertices, {facts['edges']} edges; {facts['stages']} stages of "
        f"{', '.join(map(str, facts['layers_of_stage']))} layers, {facts['microbatches']} microbatches, "
        f"{facts['cut_edges']} edges cut"
    )
    rows = {
        "loss": f"{last.loss:.4f}",
        "test accuracy": f"{100 * last.test_accuracy:.2f} %",
        "with the edges between microbatches": f"{100 * result.whole[2]:.2f} %",
        "graph neural network": f"{result.gnn_seconds:.3f} s",
    }
    if facts["mode"] != "alone":
        rows |= {"both models": f"{result.seconds:.3f} s", "steps of the language model": str(progress.steps)}
        if progress.losses:
            rows["its loss, first and last"] = f"{progress.losses[0]:.3f}, {progress.losses[-1]:.3f}"
        rows["vertices with its embedding"] = f"{last.embedded} of {facts['vertices']}"
    rows |= {f"stage {r.place.stage + 1} idle": f"{100 * r.idle_share():.1f} %" for r in result.stages}
    console.print(show.facts(rows.items()))
    for record in result.stages:
        if record.progress.fault:
            console.print(f"the language model of stage {record.place.stage + 1} ended early: {record.progress.fault}")


def _measure(console: Console, settings: UnitgSettings, measured: MeasureSettings, outputs: Plotted) -> None:
    from offramp.unitg.measure import MeasurementTask, measure
    from offramp_cli.stages import stages as show_stages

    with show_stages(console) as stage:
        stage("measuring")
        rounds = measured.measure
        task = MeasurementTask(rounds, measured.lm_steps or None)
        outcome = measure(settings.load(), settings, task, lambda done: stage.advance("round", done, rounds))
    if outcome is None:
        return
    headings = ("pipeline", "text", "in turn", "in bubbles", "beside", "iteration", "with text")
    table = show.table("round", *headings, left=())
    for number, r in enumerate(outcome.rounds, 1):
        seconds = (r.gnn_s, r.lm_s, r.gnn_s + r.lm_s, r.interleaved_s, r.colocated_s)
        milliseconds = (f"{1000 * s:.1f} ms" for s in r.iteration_s[:2])
        table.add_row(str(number), *(f"{s:.3f} s" for s in seconds), *milliseconds)
    console.print(table)
    console.print(
        f"{outcome.epochs} iterations and {outcome.lm_steps} steps; medians: interleaved takes "
        f"{100 * outcome.saving():.1f} % less time than one phase after the other (colocated "
        f"{100 * outcome.saving_colocated():.1f} %), an iteration {100 * outcome.slowdown():.1f} % more "
        f"(colocated {100 * outcome.slowdown_colocated():.1f} %)"
    )
    outputs.write("offramp.train.unitg.measure/1", {"settings": asdict(settings), **outcome.as_dict()})
