# SPDX-License-Identifier: Apache-2.0
"""``offramp reproduce``: a paper's figure or table again, beside the published numbers, with a plot."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from offramp_base.errors import OfframpError
from offramp_base.progress import listen
from offramp_cli.json_file import expect_writable, write_json
from offramp_cli.switch.stages import Stages, stages

if TYPE_CHECKING:
    from rich.console import Console

    from offramp_sim.reproduce.item import Item, Reproduction


def reproduce(
    names: Annotated[list[str], typer.Argument(help="list, all, or system/item as list prints them.")],
    scale: Annotated[float, typer.Option(help="Size of generated graphs; 1 takes seconds to a minute.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Moves everything random.")] = 0,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder with data sets as OGB, PyG or DGL download them; else they are generated."),
    ] = None,
    plots: Annotated[str, typer.Option(help="Folder for the plots.")] = "reproduced",
    json_path: Annotated[str | None, typer.Option("--json", help="Write the numbers to this file.")] = None,
) -> None:
    """Reproduce figures and tables of the papers: published numbers beside ours, and a plot of each."""
    from rich.console import Console

    from offramp_sim.figures.plot import draw
    from offramp_sim.reproduce import catalogue

    console = Console(highlight=False)
    if names == ["list"]:
        for item in catalogue.items():
            typer.echo(f"{item.name:20} {item.seconds:4} s  {item.title}")
        return
    items = list(dict.fromkeys(item for name in names for item in catalogue.find(name)))
    folder = Path(plots)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OfframpError(f"--plots {plots}: cannot be made: {error.strerror}") from None
    expect_writable("--json", json_path)
    written: list[dict[str, Any]] = []
    failed: list[str] = []
    for place, item in enumerate(items, 1):
        try:
            with stages(console) as stage:
                name = f"{item.name} ({place} of {len(items)}; about {item.seconds} s at scale 1)"
                stage(name)
                with listen(partial(_advance, stage, name)):
                    found = item.reproduce(scale, seed, data)
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
    write_json(json_path, written)
    if failed:
        raise OfframpError(f"not reproduced here: {', '.join(failed)}")


def _advance(stage: Stages, name: str, what: str, done: int, total: int) -> None:
    stage.advance(f"{name}: {what}", done, total)


def _show(console: Console, item: Item, found: Reproduction, path: Path) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, title=f"{item.name}: {item.title}", title_justify="left")
    table.add_column("")
    table.add_column("paper", justify="right")
    table.add_column("here", justify="right")
    for line in found.comparisons:
        table.add_row(line.what, line.published or "\N{EN DASH}", line.ours)
    console.print(table)
    console.print(f"settings: {', '.join(f'{name} {value}' for name, value in found.settings.items())}")
    console.print(found.note)
    console.print(f"plot: {path}\n")
