# SPDX-License-Identifier: Apache-2.0
"""``offramp train unitg``: a graph neural network in a pipeline, a language model in its bubbles."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from offramp_base.settings.check import check
from offramp_base.settings.error import SettingsError
from offramp_base.settings.field import Field
from offramp_cli.command import command
from offramp_cli.result import OUTPUT, Result

if TYPE_CHECKING:
    from rich.console import Console

    from offramp.unitg.results import UnitgResult
    from offramp.unitg.settings import UnitgSettings


@dataclass(frozen=True)
class Measured:
    """Whether both models are measured in place of a training."""

    measure: Annotated[
        int, Field("Instead of training, so many rounds of both models alone, interleaved, colocated", least=0)
    ] = 0
    lm_steps: Annotated[
        int, Field("Steps of the language model while measuring; 0: as many as fit the bubbles", least=0)
    ] = 0

    def __post_init__(self) -> None:
        check(self)
        if self.lm_steps and not self.measure:
            problem = "goes with {measure} only; {lm_epochs} says how long the language model trains"
            raise SettingsError("lm_steps", problem)


@dataclass(frozen=True)
class Outputs(Result):
    """What a run writes."""

    plot: Annotated[
        Path | None, Field("Write what ran when in the last iterations to this .png", written=True, group=OUTPUT)
    ] = None


@command(
    "offramp.unitg.settings:UnitgSettings",
    Measured,
    Outputs,
    example="train unitg --graph karate --stages 2 --epochs 5 --json -",
)
def unitg(settings: UnitgSettings, measured: Measured, outputs: Outputs) -> None:
    """Train a deep graph neural network in a pipeline and, in its bubbles, a language model of the vertices."""
    from rich.console import Console

    from offramp.workers.place import leads

    if outputs.plot is not None and measured.measure:
        raise SettingsError("plot", "goes without {measure} only")
    if measured.measure and settings.mode != "interleaved":
        raise SettingsError("measure", "runs every mode; expected no {mode}")
    console = Console(highlight=False, quiet=not leads())
    if measured.measure:
        _measure(console, settings, measured, outputs)
    else:
        _train(console, settings, outputs)


def _train(console: Console, settings: UnitgSettings, outputs: Outputs) -> None:
    from offramp.unitg.run import train_unitg
    from offramp_cli.switch.stages import stages as show_stages

    width = len(str(settings.epochs))
    with show_stages(console) as stage:
        stage("preparing")
        result = train_unitg(
            settings.load(),
            settings,
            lambda e: stage.advance(
                f"epoch {e.epoch:{width}}  loss {e.loss:.4f}  val {100 * e.val_accuracy:.1f} %",
                e.epoch,
                settings.epochs,
            ),
        )
    if result is None:
        return
    _show(console, result)
    if outputs.plot is not None:
        from offramp_cli.unitg.picture import draw_run

        draw_run(result, outputs.plot)
        console.print(f"plot: {outputs.plot}")
    outputs.write("offramp.train.unitg/1", result.as_dict())


def _show(console: Console, result: UnitgResult) -> None:
    from rich.table import Table

    facts, last, progress = result.settings, result.epochs[-1], result.stages[0].progress
    console.print(
        f"{facts['graph_name']}: {facts['vertices']} vertices, {facts['edges']} edges; {facts['stages']} stages of "
        f"{', '.join(map(str, facts['layers_of_stage']))} layers, {facts['microbatches']} microbatches, "
        f"{facts['cut_edges']} edges cut"
    )
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_row("loss", f"{last.loss:.4f}")
    table.add_row("test accuracy", f"{100 * last.test_accuracy:.2f} %")
    table.add_row("with the edges between microbatches", f"{100 * result.whole[2]:.2f} %")
    table.add_row("graph neural network", f"{result.gnn_seconds:.3f} s")
    if facts["mode"] != "alone":
        table.add_row("both models", f"{result.seconds:.3f} s")
        table.add_row("steps of the language model", str(progress.steps))
        if progress.losses:
            table.add_row("its loss, first and last", f"{progress.losses[0]:.3f}, {progress.losses[-1]:.3f}")
        table.add_row("vertices with its embedding", f"{last.embedded} of {facts['vertices']}")
    for record in result.stages:
        table.add_row(f"stage {record.place.stage + 1} idle", f"{100 * record.idle_share():.1f} %")
    console.print(table)
    for record in result.stages:
        if record.progress.fault:
            console.print(f"the language model of stage {record.place.stage + 1} ended early: {record.progress.fault}")


def _measure(console: Console, settings: UnitgSettings, measured: Measured, outputs: Outputs) -> None:
    from rich.table import Table

    from offramp.unitg.measure import Task, measure
    from offramp_cli.switch.stages import stages as show_stages

    with show_stages(console) as stage:
        stage("measuring")
        rounds = measured.measure
        task = Task(rounds, measured.lm_steps or None)
        found = measure(settings.load(), settings, task, lambda done: stage.advance("round", done, rounds))
    if found is None:
        return
    table = Table(box=None, pad_edge=False)
    for head in ("round", "pipeline", "text", "in turn", "in bubbles", "beside", "iteration", "with text"):
        table.add_column(head, justify="right")
    for number, r in enumerate(found.rounds, 1):
        seconds = (r.gnn_s, r.lm_s, r.gnn_s + r.lm_s, r.interleaved_s, r.colocated_s)
        milliseconds = (f"{1000 * s:.1f} ms" for s in r.iteration_s[:2])
        table.add_row(str(number), *(f"{s:.3f} s" for s in seconds), *milliseconds)
    console.print(table)
    console.print(
        f"{found.epochs} iterations and {found.lm_steps} steps; medians: interleaved takes "
        f"{100 * found.saving():.1f} % less time than one phase after the other (colocated "
        f"{100 * found.saving_colocated():.1f} %), an iteration {100 * found.slowdown():.1f} % more "
        f"(colocated {100 * found.slowdown_colocated():.1f} %)"
    )
    outputs.write("offramp.train.unitg.measure/1", {"settings": asdict(settings), **found.as_dict()})
