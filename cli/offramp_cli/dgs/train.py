# SPDX-License-Identifier: Apache-2.0
"""``offramp train dgs``: mini-batch training that fetches what explains the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from offramp_base import Field, SettingsError
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import OUTPUT, Result

if TYPE_CHECKING:
    from rich.console import Console

    from offramp.dgs import DgsSettings


@dataclass(frozen=True)
class DgsOutput(Result):
    """Results of a run."""

    save_masks: Annotated[
        str | None, Field("dgs: write the last masks to this .npz file", written=True, group=OUTPUT)
    ] = None


@command(
    "offramp.dgs.settings:DgsSettings",
    DgsOutput,
    example="train dgs --graph karate --workers 2 --epochs 5 --fanout 5,5 --json -",
    systems=("dgs",),
)
def dgs(settings: DgsSettings, outputs: DgsOutput) -> None:
    """Train on mini-batches whose remote neighbours and features are sampled by explanations of the model (DGS)."""
    from offramp.dgs import save_masks, train_dgs
    from offramp.report.console import epoch_progress
    from offramp.workers import expect_workers

    if outputs.save_masks is not None and settings.sampler != "dgs":
        raise SettingsError("save_masks", "goes with {sampler} dgs only")
    expect_workers(settings.workers)
    console = show.console(one_rank=True)
    with epoch_progress(console, settings.sampler, settings.epochs) as on_epoch:
        result = train_dgs(settings.load(), settings, on_epoch=on_epoch)
    if result is None:
        return
    numbers = result.as_dict()
    _show(console, numbers)
    if outputs.save_masks is not None:
        save_masks(outputs.save_masks, result.masks)
    outputs.write("offramp.train.dgs/1", numbers)


def _show(console: Console, numbers: dict[str, Any]) -> None:
    """Show the bytes sent by purpose, and the accuracy."""
    from offramp.dgs.ledger import KINDS
    from offramp.report.units import number, percent, si

    table = show.table("", "run", "last epoch", title="bytes between workers")
    for kind in (*KINDS, "total", "gradients"):
        table.add_row(kind, *(si(numbers[which][kind], "B") for which in ("bytes", "bytes_last_epoch")))
    table.add_row("remote rows", *(number(numbers[which]["rows"]) for which in ("bytes", "bytes_last_epoch")))
    console.print(table)
    console.print(
        f"test accuracy {percent(numbers['test_accuracy'])} at the best epoch on validation, "
        f"{percent(numbers['final_test_accuracy'])} at the end; "
        f"{si(numbers['edges_sampled_per_s'])} neighbours sampled and fetched per second; "
        f"{numbers['explanations']} explanations; {numbers['seconds']:.1f} s"
    )
