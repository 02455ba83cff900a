# SPDX-License-Identifier: Apache-2.0
"""``offramp train unitg``: a graph neural network in a pipeline, a language model in its bubbles."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offramp_base.errors import OfframpError
from offramp_cli.json_file import expect_writable, write_json

if TYPE_CHECKING:
    from rich.console import Console

    from offramp.graph.data import Graph
    from offramp.unitg.results import UnitgResult
    from offramp.unitg.settings import UnitgSettings


def unitg(
    graph: Annotated[
        str, typer.Option(help="digits, FILE.npz, an edge list, pyg:CLASS/NAME, or a generator (sbm:n=1000,k=4).")
    ] = "digits",
    features: Annotated[Path | None, typer.Option(help="Edge list: features, a row a vertex.")] = None,
    labels: Annotated[Path | None, typer.Option(help="Edge list: labels, a row a vertex.")] = None,
    split: Annotated[str | None, typer.Option(help="planetoid, or fractions: 0.6/0.2/0.2.")] = None,
    text: Annotated[
        str,
        typer.Option(
            help="features (their names as words), topics (words drawn by class), or a file, a line a vertex."
        ),
    ] = "features",
    stages: Annotated[int, typer.Option(help="Of the pipeline, a process each; torchrun brings its own.")] = 2,
    microbatches: Annotated[
        int | None, typer.Option(help="Pieces of the graph, up to the stages; default: the auto scheduler's.")
    ] = None,
    cut: Annotated[str, typer.Option(help="How microbatches are made: affinity | random.")] = "affinity",
    model: Annotated[str, typer.Option(help="revgcn | revgat | resgen | gcn | sage | gat | gcnii.")] = "revgcn",
    layers: Annotated[int, typer.Option(help="Of the graph neural network.")] = 8,
    hidden: Annotated[int, typer.Option(help="Width of its layers.")] = 64,
    epochs: Annotated[int, typer.Option(help="Full-batch steps.")] = 60,
    lr: Annotated[float, typer.Option(help="Learning rate of Adam.")] = 0.01,
    dropout: Annotated[float, typer.Option(help="Dropout between layers.")] = 0.0,
    mode: Annotated[
        str,
        typer.Option(
            help="The language model: interleaved (in bubbles) | colocated | sequential (first) | alone (none)."
        ),
    ] = "interleaved",
    exits: Annotated[
        str, typer.Option(help="Where texts leave it: centrality (of their vertices) | random | none (all at the end).")
    ] = "centrality",
    lm_layers: Annotated[int, typer.Option(help="Of the language model.")] = 4,
    lm_width: Annotated[int, typer.Option(help="Width of its layers.")] = 64,
    lm_heads: Annotated[int, typer.Option(help="Of its attention.")] = 4,
    lm_length: Annotated[int, typer.Option(help="Tokens of a text, at most.")] = 24,
    lm_batch: Annotated[int, typer.Option(help="Texts of each exit in a step, on each rank.")] = 16,
    lm_epochs: Annotated[int, typer.Option(help="Passes over all texts.")] = 3,
    lm_lr: Annotated[float, typer.Option(help="Its learning rate.")] = 1e-3,
    link: Annotated[str | None, typer.Option(help="Emulate network cards of this rate: 100M, 10G.")] = None,
    device_ms: Annotated[
        float, typer.Option(help="Emulate devices on which a stage's forward pass of a microbatch takes so long.")
    ] = 0.0,
    lm_ms: Annotated[float, typer.Option(help="The same of a module of the language model.")] = 0.0,
    dtype: Annotated[str, typer.Option(help="float32 | float64.")] = "float32",
    timeout: Annotated[float, typer.Option(help="Seconds without news until a process gives up.")] = 120.0,
    seed: Annotated[int, typer.Option(help="Of split, cut, texts and weights.")] = 0,
    measure: Annotated[
        int, typer.Option(help="Instead of training, so many rounds of both models alone, interleaved, colocated.")
    ] = 0,
    lm_steps: Annotated[int, typer.Option(help="Of --measure; 0: as many as fit the bubbles.")] = 0,
    plot: Annotated[str | None, typer.Option(help="Write what ran when in the last iterations to this .png.")] = None,
    json_path: Annotated[str | None, typer.Option("--json", help="Write the result as JSON.")] = None,
) -> None:
    """Train a deep graph neural network in a pipeline and, in its bubbles, a language model of the vertices."""
    from rich.console import Console

    from offramp.graph.load import load
    from offramp.unitg.settings import UnitgSettings
    from offramp_cli.switch.traffic import parse_rate

    for flag, number in (("--measure", measure), ("--lm-steps", lm_steps)):
        if number < 0:
            raise OfframpError(f"{flag} {number}: expected at least 0")
    if lm_steps and not measure:
        raise OfframpError("--lm-steps: goes with --measure only; --lm-epochs says how long the language model trains")
    if plot is not None and measure:
        raise OfframpError("--plot: goes without --measure only")
    if measure and mode != "interleaved":
        raise OfframpError("--measure: runs every mode; expected no --mode")
    settings = UnitgSettings(
        graph=graph,
        features=str(features) if features else None,
        labels=str(labels) if labels else None,
        split=split,
        text=text,
        stages=stages,
        microbatches=microbatches,
        cut=cut,
        model=model,
        layers=layers,
        hidden=hidden,
        epochs=epochs,
        lr=lr,
        dropout=dropout,
        dtype=dtype,
        mode=mode,
        exits=exits,
        lm_layers=lm_layers,
        lm_width=lm_width,
        lm_heads=lm_heads,
        lm_length=lm_length,
        lm_batch=lm_batch,
        lm_epochs=lm_epochs,
        lm_lr=lm_lr,
        link_bps=parse_rate(link, "--link") if link else None,
        device_ms=device_ms,
        lm_ms=lm_ms,
        timeout_s=timeout,
        seed=seed,
    )
    expect_writable("--plot", plot)
    expect_writable("--json", json_path)
    loaded = load(graph, seed, split, features, labels)
    console = Console(highlight=False, quiet=os.environ.get("RANK", "0") != "0")
    if measure:
        _measure(console, loaded, settings, measure, lm_steps, json_path)
    else:
        _train(console, loaded, settings, plot, json_path)


def _train(console: Console, graph: Graph, settings: UnitgSettings, plot: str | None, json_path: str | None) -> None:
    from offramp.unitg.run import train_unitg
    from offramp_cli.switch.stages import stages as show_stages

    width = len(str(settings.epochs))
    with show_stages(console) as stage:
        stage("preparing")
        result = train_unitg(
            graph,
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
    if plot is not None:
        from offramp_cli.unitg.picture import draw_run

        draw_run(result, Path(plot))
        console.print(f"plot: {plot}")
    write_json(json_path, result.as_dict())


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


def _measure(
    console: Console, graph: Graph, settings: UnitgSettings, rounds: int, lm_steps: int, json_path: str | None
) -> None:
    from rich.table import Table

    from offramp.unitg.measure import Task, measure
    from offramp_cli.switch.stages import stages as show_stages

    with show_stages(console) as stage:
        stage("measuring")
        task = Task(rounds, lm_steps or None)
        found = measure(graph, settings, task, lambda done: stage.advance("round", done, rounds))
    if found is None:
        return
    table = Table(box=None, pad_edge=False)
    for head in (
        "round",
        "pipeline",
        "text",
        "in turn",
        "in bubbles",
        "beside",
        "iteration",
        "with text",
    ):
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
    write_json(json_path, {"settings": asdict(settings), **found.as_dict()})
