# SPDX-License-Identifier: Apache-2.0
"""``offramp train dgs``: mini-batch training that fetches what explains the model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from offramp_base.errors import OfframpError
from offramp_base.numerals import whole_number
from offramp_cli.json_file import expect_writable, write_json

if TYPE_CHECKING:
    from rich.console import Console

    from offramp.dgs.results import DgsEpoch

_GRAPH = "digits, karate, FILE.npz, an edge list, pyg:CLASS/NAME, or a generator (sbm:n=1000,k=4)."


def dgs(
    graph: Annotated[str, typer.Option(help=_GRAPH)] = "digits",
    features: Annotated[Path | None, typer.Option(help="Edge list: features, a row a vertex.")] = None,
    labels: Annotated[Path | None, typer.Option(help="Edge list: labels, a row a vertex.")] = None,
    sampler: Annotated[str, typer.Option(help="dgs | random | fastgcn | ladies | clustergcn | full.")] = "dgs",
    workers: Annotated[int, typer.Option(help="Worker processes; torchrun brings its own.")] = 4,
    model: Annotated[str, typer.Option(help="sage | gcn | gat.")] = "sage",
    layers: Annotated[int, typer.Option(help="Of the model: hops that are sampled.")] = 2,
    hidden: Annotated[int, typer.Option(help="Width of the hidden layers.")] = 16,
    heads: Annotated[int, typer.Option(help="Of attention (gat).")] = 1,
    epochs: Annotated[int, typer.Option(help="Passes over the training vertices.")] = 30,
    batch: Annotated[int, typer.Option(help="Training vertices of a worker in a step.")] = 1024,
    fanout: Annotated[
        str, typer.Option(help="Neighbours of a vertex at each hop: 10,10; one number for all hops; all.")
    ] = "10",
    epsilon: Annotated[
        float, typer.Option(help="dgs: share of the fan-out moved to remote neighbours; -1: local ones first.")
    ] = 0.1,
    node_mask: Annotated[bool, typer.Option(help="dgs: sample remote neighbours by the node mask.")] = True,
    columns: Annotated[
        str | None,
        typer.Option(
            help="Features of remote vertices that travel: a share up to 1, or a number; dgs: 0.85, those of greatest "
            "mask; else all, or random ones."
        ),
    ] = None,
    period: Annotated[int, typer.Option(help="Batches between explanations.")] = 30,
    lag: Annotated[
        str | None,
        typer.Option(help="Batches until masks take effect: 0 to period - 1, or free: when they are ready."),
    ] = None,
    explain: Annotated[str, typer.Option(help="Where masks are made: beside (a process of its own) | inline.")] = (
        "beside"
    ),
    explain_epochs: Annotated[int, typer.Option(help="Steps of an explanation.")] = 50,
    explain_lr: Annotated[float, typer.Option(help="Learning rate of the masks.")] = 0.1,
    threshold: Annotated[float, typer.Option(help="Divergence at which an explanation may stop.")] = 0.01,
    explain_features: Annotated[
        str, typer.Option(help="Remote features to explain with: cache (received ones) | fetch (all; counted).")
    ] = "cache",
    explain_scope: Annotated[
        str, typer.Option(help="Local vertices pooled into one each class (classes), or into one (pooled; the thesis).")
    ] = "classes",
    topology: Annotated[
        str, typer.Option(help="Edges: owned (of others asked for) | replicated (all workers have all).")
    ] = "owned",
    partition: Annotated[
        str,
        typer.Option(help="metis | metis-volume | kahypar | auto | g3 | g3-best | g3-literal | hash | chunk | random."),
    ] = "metis",
    lr: Annotated[float, typer.Option(help="Learning rate of Adam.")] = 0.01,
    dropout: Annotated[float, typer.Option(help="Dropout between layers.")] = 0.0,
    split: Annotated[
        str | None, typer.Option(help="planetoid, or fractions: 0.6/0.2/0.2; default: the graph's own.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of split, partition, weights, batches, draws and masks.")] = 0,
    masks: Annotated[str | None, typer.Option(help="dgs: begin with the masks in this file.")] = None,
    save_masks: Annotated[str | None, typer.Option(help="dgs: write the last masks to this .npz file.")] = None,
    json_path: Annotated[str | None, typer.Option("--json", help="Write the result as JSON.")] = None,
) -> None:
    """Train on mini-batches whose remote neighbours and features are sampled by what explains the model (DGS)."""
    from rich.console import Console

    from offramp.dgs.mask_file import save_masks as write_masks
    from offramp.dgs.run import train_dgs
    from offramp.dgs.settings import DgsSettings
    from offramp.graph.load import load

    settings = DgsSettings(
        graph=graph,
        sampler=sampler,
        workers=workers,
        model=model,
        hidden=hidden,
        layers=layers,
        heads=heads,
        epochs=epochs,
        batch=batch,
        lr=lr,
        dropout=dropout,
        fanout=parse_fanout(fanout, layers),
        epsilon=epsilon,
        node_mask=node_mask,
        columns=parse_columns(columns),
        period=period,
        lag=parse_lag(lag),
        explain=explain,
        explain_epochs=explain_epochs,
        explain_lr=explain_lr,
        threshold=threshold,
        explain_features=explain_features,
        explain_scope=explain_scope,
        topology=topology,
        partition=partition,
        split=split,
        seed=seed,
        masks=masks,
    )
    if save_masks is not None and sampler != "dgs":
        raise OfframpError("--save-masks: goes with --sampler dgs only")
    expect_writable("--json", json_path)
    expect_writable("--save-masks", save_masks)
    files = (str(name) if name else None for name in (features, labels))
    data = load(graph, seed, split, *files)
    console = Console(highlight=False, quiet=os.environ.get("RANK", "0") != "0")
    with epoch_bar(console, settings.sampler, epochs) as on_epoch:
        result = train_dgs(data, settings, on_epoch=on_epoch)
    if result is None:
        return
    numbers = result.as_dict()
    show(console, numbers)
    if save_masks is not None:
        write_masks(save_masks, result.masks)
    write_json(json_path, numbers)


def parse_fanout(text: str, layers: int) -> tuple[int, ...]:
    """``10,5`` for two hops; one number stands for every hop; ``all`` takes every neighbour.

    Raises:
        OfframpError: something else.
    """
    from offramp.dgs.picks import ALL

    parts = [part.strip() for part in text.split(",")]
    numbers = tuple(number for part in parts if (number := ALL if part == "all" else whole_number(part)) is not None)
    if len(numbers) < len(parts):
        raise OfframpError(f"--fanout {text}: expected numbers of at least 1, or all")
    return numbers * layers if len(numbers) == 1 else numbers


def parse_columns(text: str | None) -> float:
    """A share or a number of features; 0 for the default.

    Raises:
        OfframpError: no number above 0.
    """
    if text is None:
        return 0.0
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not number > 0:
        raise OfframpError(f"--columns {text}: expected a share of more than 0 and at most 1, or a number of features")
    return number


def parse_lag(text: str | None) -> int | None:
    """A number of batches, or ``free``.

    Raises:
        OfframpError: something else.
    """
    from offramp.dgs.settings import FREE

    if text is None or text == "free":
        return None if text is None else FREE
    lag = whole_number(text)
    if lag is None:
        raise OfframpError(f"--lag {text}: expected a number of batches, or free")
    return lag


def epoch_bar(console: Console, name: str, epochs: int) -> Any:
    """A bar over the epochs, and a line for each; yields what to call after each."""
    from contextlib import contextmanager

    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    @contextmanager
    def bar() -> Any:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(compact=True),
        )
        with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task(name, total=epochs)

            def on_epoch(epoch: DgsEpoch) -> None:
                progress.update(task, completed=epoch.progress.epoch)
                progress.console.print(epoch_line(epoch, epochs), highlight=False, soft_wrap=True)

            yield on_epoch

    return bar()


def epoch_line(epoch: DgsEpoch, epochs: int) -> str:
    """One epoch in one line."""
    from offramp.report.units import percent, si

    progress = epoch.progress
    masks = f"  masks {progress.version}" if progress.version else ""
    return (
        f"epoch {progress.epoch:>{len(str(epochs))}}/{epochs}  loss {progress.loss:.4f}"
        f"  val acc {percent(epoch.val_accuracy)}  {progress.seconds:.3f} s"
        f"  sampling {progress.sampling_s:.3f} s  sent {si(progress.ledger.total, 'B')}{masks}"
    )


def show(console: Console, numbers: dict[str, Any]) -> None:
    """What was sent for what, and how well it went."""
    from rich.table import Table

    from offramp.dgs.ledger import KINDS
    from offramp.report.units import number, percent, si

    table = Table(box=None, pad_edge=False, title="bytes between workers", title_justify="left")
    for heading in ("", "run", "last epoch"):
        table.add_column(heading, justify="right" if heading else "left")
    for kind in (*KINDS, "total", "gradients"):
        table.add_row(kind, *(si(numbers[which][kind], "B") for which in ("bytes", "bytes_last_epoch")))
    table.add_row("remote rows", *(number(numbers[which]["rows"]) for which in ("bytes", "bytes_last_epoch")))
    console.print(table)
    console.print(
        f"test accuracy {percent(numbers['test_accuracy'])} at the best epoch on validation, "
        f"{percent(numbers['final_test_accuracy'])} at the end; "
        f"{si(numbers['edges_sampled_per_s'])} neighbours sampled and fetched a second; "
        f"{numbers['explanations']} explanations; {numbers['seconds']:.1f} s"
    )
