# SPDX-License-Identifier: Apache-2.0
"""``offramp reproduce``: a paper's figure or table again, beside the published numbers, with a plot."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from offramp_base.errors import OfframpError
from offramp_base.progress import listen
from offramp_base.settings.field import Field
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import OUTPUT, Result, expect_writable
from offramp_cli.stages import Stages, stages

if TYPE_CHECKING:
    from rich.console import Console

    from offramp_sim.reproduce.item import Item, Reproduction


@dataclass(frozen=True)
class ReproduceSettings:
    """What is reproduced, at which size."""

    names: Annotated[tuple[str, ...], Field("list, all, or system/item as list prints them", position=True)]
    scale: Annotated[float, Field("Size of generated graphs; 1 takes seconds to a minute")] = 1.0
    seed: Annotated[int, Field("Moves everything random")] = 0
    data: Annotated[
        Path | None,
        Field("Folder with data sets as OGB, PyG or DGL download them; else they are generated"),
    ] = None


@dataclass(frozen=True)
class Outputs(Result):
    """What a reproduction writes."""

    out: Annotated[Path, Field("Folder for the plots", group=OUTPUT, aliases=("plots",))] = Path("reproduced")


@command(ReproduceSettings, Outputs, example="reproduce themis/table1 --json -")
def reproduce(settings: ReproduceSettings, outputs: Outputs) -> None:
    """Reproduce figures and tables of the papers: published numbers beside ours, and a plot of each."""
    from offramp_sim.figures.plot import draw
    from offramp_sim.reproduce import catalogue

    console = show.console()
    if settings.names == ("list",):
        for item in catalogue.items():
            typer.echo(f"{item.name:20} {item.seconds:4} s  {item.title}")
        return
    items = list(dict.fromkeys(item for name in settings.names for item in catalogue.find(name)))
    folder = outputs.out
    expect_writable("out", folder, folder=True)
    folder.mkdir(parents=True, exist_ok=True)
    written: list[dict[str, Any]] = []
    failed: list[str] = []
    for place, item in enumerate(items, 1):
        try:
            with stages(console) as stage:
                name = f"{item.name} ({place} of {len(items)}; about {item.seconds} s at scale 1)"
                stage(name)
                with listen(partial(_advance, stage, name)):
                    found = item.reproduce(settings.scale, settings.seed, settings.data)
        except OfframpError as error:
            if len(items) == 1:
                raise
            failed.append(item.name)
            console.print(f"{item.name}: {error}", markup=False)
            continue
        path = folder / f"{item.name.replace('/', '-')}.png"
        draw(found.panels, f"{item.name}: {item.title}", path)
        written.append(found.as_json(item.name))
        _show(console, item, found, path)
    outputs.write("offramp.reproduce/1", {"items": written})
    if failed:
        raise OfframpError(f"not reproduced here: {', '.join(failed)}")


def _advance(stage: Stages, name: str, what: str, done: int, total: int) -> None:
    stage.advance(f"{name}: {what}", done, total)


def _show(console: Console, item: Item, found: Reproduction, path: Path) -> None:
    table = show.table("", "paper", "here", title=f"{item.name}: {item.title}")
    for line in found.comparisons:
        table.add_row(line.what, line.published or "\N{EN DASH}", line.ours)
    console.print(table)
    console.print(f"settings: {', '.join(f'{name} {value}' for name, value in found.settings.items())}")
    console.print(found.note)
    console.print(f"plot: {path}\n")
