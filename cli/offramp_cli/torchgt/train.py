# SPDX-License-Identifier: Apache-2.0
"""``offramp train torchgt``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from offramp_cli.json_file import expect_writable, write_json

if TYPE_CHECKING:
    from rich.console import Console

    from offramp.torchgt.results import Epoch, TorchGtResult
    from offramp.torchgt.settings import TorchGtSettings

_GRAPH = (
    "digits, karate, FILE.npz, an edge list, pyg:CLASS/NAME, a generator (sbm:n=1000,k=4), "
    "or a set of graphs (molecules:count=200, families:count=100,nodes=400)."
)


def torchgt(
    graph: Annotated[str, typer.Option(help=_GRAPH)] = "digits",
    features: Annotated[Path | None, typer.Option(help="Of an edge list: .npy, one row a vertex.")] = None,
    labels: Annotated[Path | None, typer.Option(help="Of an edge list: .npy, one integer a vertex.")] = None,
    split: Annotated[str | None, typer.Option(help="planetoid, or fractions: 0.6/0.2/0.2.")] = None,
    workers: Annotated[int, typer.Option(help="Ranks; they share tokens, and heads in attention.")] = 2,
    model: Annotated[str, typer.Option(help="graphormer | graphormer-large | gt.")] = "graphormer",
    layers: Annotated[int | None, typer.Option(help="Default: the model's, as those below (table 4.4).")] = None,
    hidden: Annotated[int | None, typer.Option(help="Width of the layers.")] = None,
    heads: Annotated[int | None, typer.Option(help="Of attention; a multiple of --workers.")] = None,
    attention: Annotated[
        str,
        typer.Option(
            help="topology | interleaved (with full attention at times) | full | "
            "reformed (interleaved, sparse clusters as dense blocks)."
        ),
    ] = "reformed",
    interleave: Annotated[
        str,
        typer.Option(
            help="Full attention: periodic | conditions (where C1 to C3 fail) | constructed (a path is added, so that "
            "C2 holds) | never | auto (periodic up to 4096 vertices, else constructed)."
        ),
    ] = "auto",
    period: Annotated[int, typer.Option(help="With periodic, from one full step to the next.")] = 8,
    evaluate: Annotated[
        str,
        typer.Option(help="Scores are those of the steps between full ones (pattern), or of full attention (full)."),
    ] = "pattern",
    beta: Annotated[str, typer.Option(help="Clusters below this density become blocks: auto | 0 to 1.")] = "auto",
    clusters: Annotated[int, typer.Option(help="Clusters of a sequence (k).")] = 8,
    block: Annotated[int, typer.Option(help="Side of a dense block (d_b).")] = 16,
    placement: Annotated[str, typer.Option(help="Blocks within a cluster: densest | random.")] = "densest",
    sequence: Annotated[int | None, typer.Option(help="Vertices in a sequence; default: all.")] = None,
    graphs: Annotated[int | None, typer.Option(help="Of a set, in a sequence; default 16, or 1 if reformed.")] = None,
    global_token: Annotated[
        bool, typer.Option("--global-token/--no-global-token", help="A token that all attend to.")
    ] = True,
    distance: Annotated[int, typer.Option(help="Graphormer's bias tells distances up to this apart.")] = 1,
    positions: Annotated[int, typer.Option(help="Laplacian eigenvectors of GT.")] = 8,
    epochs: Annotated[int, typer.Option(help="Passes over all sequences.")] = 30,
    lr: Annotated[float, typer.Option(help="Peak learning rate of AdamW; it falls to 0.")] = 2e-3,
    weight_decay: Annotated[float, typer.Option(help="Of AdamW.")] = 0.01,
    dropout: Annotated[float, typer.Option(help="After attention and feed-forward.")] = 0.0,
    dtype: Annotated[str, typer.Option(help="float32 | float64.")] = "float32",
    wire: Annotated[str, typer.Option(help="Numbers in all-to-alls: dtype | bfloat16 (half of float32).")] = "dtype",
    seed: Annotated[int, typer.Option(help="Of graph, split, order, weights and blocks.")] = 0,
    coflows: Annotated[
        Path | None, typer.Option(help="Write a step's exchanges here: Chakra traces and a plan of priorities.")
    ] = None,
    json_path: Annotated[str | None, typer.Option("--json", help="Write the result as JSON.")] = None,
) -> None:
    """Train a graph transformer on sequences of vertices, split by tokens and heads over ranks (TorchGT)."""
    from rich.console import Console

    from offramp.torchgt.settings import TorchGtSettings

    settings = TorchGtSettings(
        graph=graph,
        features=str(features) if features else None,
        labels=str(labels) if labels else None,
        split=split,
        workers=workers,
        model=model,
        layers=layers,
        hidden=hidden,
        heads=heads,
        attention=attention,
        interleave=interleave,
        period=period,
        evaluate=evaluate,
        beta=beta,
        clusters=clusters,
        block=block,
        placement=placement,
        sequence=sequence,
        graphs=graphs,
        global_token=global_token,
        distance=distance,
        positions=positions,
        epochs=epochs,
        lr=lr,
        weight_decay=weight_decay,
        dropout=dropout,
        dtype=dtype,
        wire=wire,
        seed=seed,
    )
    expect_writable("--json", json_path)
    console = Console(highlight=False, quiet=os.environ.get("RANK", "0") != "0")
    result = run(console, settings)
    if result is None:
        return
    _summary(console, result)
    numbers = result.as_dict()
    if coflows is not None:
        numbers["coflows"] = _export(console, result, settings, coflows)
    write_json(json_path, numbers)


def run(console: Console, settings: TorchGtSettings) -> TorchGtResult | None:
    """Train with a bar and a line for each epoch; None where another rank of torchrun reports."""
    from offramp.torchgt.run import train
    from offramp_cli.switch.stages import stages

    with stages(console) as stage:
        stage("sequences and patterns")

        def show(epoch: Epoch) -> None:
            stage.advance(f"epoch {epoch.epoch} of {settings.epochs}", epoch.epoch, settings.epochs)
            console.print(_line(epoch, settings.epochs), soft_wrap=True)

        return train(settings, show)


def _line(epoch: Epoch, epochs: int) -> str:
    beta = "" if epoch.beta is None else f"  \N{GREEK SMALL LETTER BETA} {epoch.beta:.2g}"
    full = f"  full in {epoch.full_steps} of {epoch.steps}" if epoch.full_steps else ""
    return (
        f"epoch {epoch.epoch:>{len(str(epochs))}}/{epochs}  loss {epoch.loss:.4f}  validation {epoch.val_score:.4f}"
        f"  {epoch.seconds:.3f} s  communication {epoch.communication_seconds:.3f} s"
        f"  reduction {epoch.reduction_seconds:.3f} s{beta}{full}"
    )


def _summary(console: Console, result: TorchGtResult) -> None:
    from rich.table import Table

    from offramp.report.units import number

    last, workers = result.epochs[-1], result.settings["workers"]
    sent = sum(epoch.sent_bytes for epoch in result.epochs)
    rows: dict[str, Any] = {
        f"test {result.metric}": f"{last.test_score:.4f}",
        "seconds": f"{result.seconds:.2f}",
        "preparation, seconds": f"{result.preparation_seconds:.2f}",
        "sequences": len(result.tokens),
        "tokens of the longest": max(result.tokens),
        "attended pairs, last epoch": number(last.pairs),
        "all-to-all bytes": number(sent),
        f"of each of {workers} ranks": number(sent // workers),
        "bytes of patterns": number(result.pattern_bytes),
    }
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column("")
    table.add_column("", justify="right")
    for name, value in rows.items():
        table.add_row(name, str(value))
    console.print(table)


def _export(console: Console, result: TorchGtResult, settings: TorchGtSettings, folder: Path) -> dict[str, Any]:
    from offramp.torchgt.coflows import Step, export_step, priorities

    layer = sum(w.size for name, w in result.weights.items() if name.startswith("layers.0."))
    others = sum(w.size for name, w in result.weights.items() if not name.startswith("layers."))
    last = result.epochs[-1]
    seconds = (last.seconds - last.communication_seconds - last.reduction_seconds) / last.steps
    step = Step.of(settings, max(result.tokens), layer, others, max(0.0, seconds))
    paths = export_step(step, folder)
    document = priorities(step)
    write_json(str(folder / "plan.json"), document)
    console.print(f"coflows: {paths[0]} to {paths[-1]}; priorities: {folder / 'plan.json'}", soft_wrap=True)
    return document
