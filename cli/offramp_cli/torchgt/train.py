# SPDX-License-Identifier: Apache-2.0
"""``offramp train torchgt``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from offramp_base import Field
from offramp_base.ending.files import write_text
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import OUTPUT, Result

if TYPE_CHECKING:
    from rich.console import Console

    from offramp.torchgt import TorchGtResult, TorchGtSettings
    from offramp.torchgt.results import TorchGtEpoch


@dataclass(frozen=True)
class TorchGtOutput(Result):
    """Results of a run."""

    coflows: Annotated[
        Path | None,
        Field("Folder for a step's exchanges: Chakra traces and a plan of priorities", group=OUTPUT, filled=True),
    ] = None


@command(
    "offramp.torchgt.settings:TorchGtSettings",
    TorchGtOutput,
    example="train torchgt --graph karate --clusters 2 --block 4 --epochs 5 --json -",
    systems=("torchgt",),
)
def torchgt(settings: TorchGtSettings, outputs: TorchGtOutput) -> None:
    """Train a graph transformer on sequences of vertices, split by tokens and heads over ranks (TorchGT)."""
    from offramp.workers import expect_workers

    expect_workers(settings.workers)
    console = show.console(one_rank=True)
    result = run(console, settings)
    if result is None:
        return
    _summary(console, result)
    numbers = result.as_dict()
    if outputs.coflows is not None:
        numbers["coflows"] = _export(console, result, settings, outputs.coflows)
    outputs.write("offramp.train.torchgt/1", numbers)


def run(console: Console, settings: TorchGtSettings) -> TorchGtResult | None:
    """Train with a bar and a line for each epoch; returns None if another rank of torchrun reports."""
    from offramp.report.console import epoch_line
    from offramp.torchgt.run import train
    from offramp_cli.stages import stages

    with stages(console) as stage:
        stage("sequences and patterns")

        def show(epoch: TorchGtEpoch) -> None:
            stage.advance(f"epoch {epoch.epoch} of {settings.epochs}", epoch.epoch, settings.epochs)
            console.print(epoch_line(epoch, settings.epochs), soft_wrap=True)

        return train(settings, show)


def _summary(console: Console, result: TorchGtResult) -> None:
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
    console.print(show.facts(rows.items()))


def _export(console: Console, result: TorchGtResult, settings: TorchGtSettings, folder: Path) -> dict[str, Any]:
    from offramp.torchgt.coflows import StepExchanges, export_step, priorities

    layer = sum(w.size for name, w in result.weights.items() if name.startswith("layers.0."))
    others = sum(w.size for name, w in result.weights.items() if not name.startswith("layers."))
    last = result.epochs[-1]
    seconds = (last.seconds - last.communication_seconds - last.reduction_seconds) / last.steps
    step = StepExchanges.of(settings, max(result.tokens), layer, others, max(0.0, seconds))
    paths = export_step(step, folder)
    document = priorities(step)
    write_text(folder / "plan.json", json.dumps(document, indent=2) + "\n")
    console.print(f"coflows: {paths[0]} to {paths[-1]}; priorities: {folder / 'plan.json'}", soft_wrap=True)
    return document
