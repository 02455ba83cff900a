# SPDX-License-Identifier: Apache-2.0
"""``offramp reproduce``: papers' figures and tables again, beside the published numbers, with a plot or a referee."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from offramp_base import Field, OfframpError, __version__
from offramp_base.progress import listen
from offramp_cli import show
from offramp_cli.claims import judge_claims
from offramp_cli.command import command
from offramp_cli.picture import draw_if_possible
from offramp_cli.result import OUTPUT, Result, expect_writable
from offramp_cli.stages import CommandStages, stages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from offramp_sim.reproduce import Item, Reproduction
    from offramp_sim.reproduce.mechanisms import Mechanism
    from offramp_sim.reproduce.referee.case import CaseResult
    from offramp_sim.reproduce.referee.run import RefereeSettings
    from offramp_sim.reproduce.referee.verdict import NumberVerdict

_MOST_BYTES: Final = 64 << 20
_CROWDED: Final = 1.5


@dataclass(frozen=True)
class ReproduceSettings:
    """Items to reproduce, and their size."""

    names: Annotated[
        tuple[str, ...], Field("list, mechanisms, all, or names that list prints, such as themis/table1", position=True)
    ]
    scale: Annotated[float, Field("Size of generated graphs; 1 takes seconds to a minute", above=0)] = 1.0
    seed: Annotated[int, Field("Random seed", least=0)] = 0
    data: Annotated[
        Path | None,
        Field("Folder with data sets as OGB, PyG or DGL download them; generated graphs by default"),
    ] = None
    resume: Annotated[
        bool, Field("Reuse items that a run with the same settings has left in --out, and run the rest")
    ] = False


@dataclass(frozen=True)
class ReproductionOutput(Result):
    """Results of a reproduction."""

    out: Annotated[Path, Field("Folder for the plots", group=OUTPUT, aliases=("plots",))] = Path("out/reproduced")


@command(
    ReproduceSettings,
    "offramp_sim.reproduce.referee.run:RefereeSettings",
    ReproductionOutput,
    example="reproduce themis/table1 --json -",
)
def reproduce(settings: ReproduceSettings, referee: RefereeSettings, outputs: ReproductionOutput) -> None:
    """Reproduce figures and tables of the papers: published numbers beside ours, and a plot of each.

    With --referee, each item runs at several sizes and seeds, and with other values of what the paper leaves open;
    each number gets an interval, whether its sign holds, where the sign changes, and the settings nearest to the paper.
    With --claims, the claims of the documents that rest on these items are judged the same way, in one table.
    """
    from offramp_sim.reproduce import MISSING, catalogue
    from offramp_sim.reproduce.duration import about, item_seconds
    from offramp_sim.reproduce.mechanisms import MECHANISMS

    console = show.console()
    if settings.names == ("mechanisms",):
        for system, mechanisms in MECHANISMS.items():
            for each in mechanisms:
                typer.echo(f"{system:8} {each.section:6} {each.what}\n{'':16}{_place(each)}")
        return
    if settings.names == ("list",):
        for item in catalogue.items():
            estimate = about(item_seconds(item, settings.scale))
            typer.echo(f"{item.name:22} {estimate:>6}  {item.evidence:9}  {item.title}")
        for name, reason in MISSING.items():
            typer.echo(f"{name:30} missing: {reason}")
        typer.echo(f"Times are this machine's at rest{_crowded()}.")
        return
    items = list(dict.fromkeys(item for name in settings.names for item in catalogue.find(name)))
    folder = outputs.out
    expect_writable("out", folder, folder=True)
    folder.mkdir(parents=True, exist_ok=True)
    if referee.claims:
        from offramp_sim.reproduce.referee.run import examine, run_cases

        examined = partial(examine, scale=settings.scale, seed=settings.seed, data=settings.data)
        ran = partial(run_cases, settings=referee, data=settings.data)
        refereed = replace(referee, referee=True)
        seconds = partial(_seconds, settings=settings)
        outputs.write("offramp.claims/1", judge_claims(console, items, refereed, examined, ran, seconds, folder))
        return
    written: list[dict[str, Any]] = []
    failed: list[str] = []
    for place, item in enumerate(items, 1):
        try:
            with stages(console) as stage:
                estimate = f"about {about(_seconds(item, referee, settings))}{_crowded()}"
                name = f"{item.name} ({place} of {len(items)}; {estimate})"
                stage(name)
                with listen(partial(_advance, stage, name)):
                    entry = _run_or_resumed(console, item, settings, referee, folder)
        except OfframpError as error:
            if len(items) == 1:
                raise
            failed.append(item.name)
            console.print(f"{item.name}: {error}", markup=False)
            continue
        written.append(entry)
    outputs.write(f"offramp.{'referee' if referee.referee else 'reproduce'}/1", {"items": written})
    if failed:
        raise OfframpError(f"not reproduced here: {', '.join(failed)}")


def _place(mechanism: Mechanism) -> str:
    """Where a mechanism is and what tests it."""
    folder, _, test = mechanism.test.partition("/")
    return f"host/offramp/{mechanism.file}, tests/unit/{folder}/test_{test}"


def _seconds(item: Item, referee: RefereeSettings, settings: ReproduceSettings) -> float:
    """The time that an item, or the referee's runs of it, takes on this machine."""
    from offramp_sim.reproduce.duration import cases_seconds, item_seconds
    from offramp_sim.reproduce.referee.run import cases_to_examine

    if not referee.referee:
        return item_seconds(item, settings.scale)
    return cases_seconds(item, cases_to_examine(item, referee, settings.scale, settings.seed), referee.processes)


def _crowded() -> str:
    """Note on an estimate while other programs use the cores; empty at rest."""
    from offramp_sim.reproduce.duration import crowding

    return f"; other programs use its cores now: {crowding():.1f} times as long" if crowding() > _CROWDED else ""


def _run_or_resumed(
    console: Console, item: Item, settings: ReproduceSettings, referee: RefereeSettings, folder: Path
) -> dict[str, Any]:
    """Run an item, or with ``--resume`` take its results from the folder; returns the result for JSON."""
    import json

    from offramp import on_dask
    from offramp_base import parse_json
    from offramp_base.documents import read_text

    if referee.referee:  # it has a file of its own (--rows), and goes to Dask run by run
        return _examined(console, item, settings, referee, folder)
    path = folder / f"{item.name.replace('/', '-')}.json"
    inputs = {"version": __version__, "scale": settings.scale, "seed": settings.seed, "data": str(settings.data)}
    if settings.resume and path.exists():
        kept = parse_json(read_text(path, _MOST_BYTES))
        if isinstance(kept, dict) and kept.get("asked") == inputs and isinstance(kept.get("item"), dict):
            console.print(f"{item.name}: kept from {path}")
            return dict(kept["item"])
    with on_dask(referee.dask):
        entry = _reproduced(console, item, settings, folder)
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps({"asked": inputs, "item": entry}, indent=2) + "\n", encoding="utf-8")
    beside.replace(path)  # a run that is killed leaves whole items only
    return entry


def _reproduced(console: Console, item: Item, settings: ReproduceSettings, folder: Path) -> dict[str, Any]:
    """Run an item, draw and show it; returns the result for JSON."""
    from offramp_base.ending.files import write_text

    reproduction = item.reproduce(settings.scale, settings.seed, settings.data)
    path = folder / f"{item.name.replace('/', '-')}.png"
    panels = reproduction.panels
    drawn = bool(panels) and draw_if_possible(console, panels, f"{item.name}: {item.title}", path)
    if reproduction.markdown:
        if panels:
            draw_if_possible(console, panels, item.title, path.with_suffix(".svg"))
        write_text(path.with_suffix(".md"), reproduction.markdown)
    _show(console, item, reproduction, path if drawn else None)
    return reproduction.as_json(item.name)


def _examined(
    console: Console, item: Item, settings: ReproduceSettings, referee: RefereeSettings, folder: Path
) -> dict[str, Any]:
    """Let the referee examine an item, draw and show the verdicts; returns the result for JSON."""
    from dataclasses import asdict

    from offramp_sim.reproduce.referee.picture import panel
    from offramp_sim.reproduce.referee.run import examine
    from offramp_sim.reproduce.referee.verdict import verdicts

    rows = examine(item, referee, settings.scale, settings.seed, settings.data)
    judged = verdicts(rows)
    path = folder / f"{item.name.replace('/', '-')}-referee.png"
    shown = panel(judged)
    drawn = shown is not None and draw_if_possible(console, [shown], f"{item.name}: {len(rows)} settings", path)
    _show_verdicts(console, item, rows, judged, path if drawn else None)
    return {
        "name": item.name,
        "verdicts": [asdict(verdict) for verdict in judged],
        "rows": [row.to_plain() for row in rows],
    }


def _advance(stage: CommandStages, name: str, what: str, done: int, total: int) -> None:
    stage.advance(f"{name}: {what}", done, total)


def _show(console: Console, item: Item, reproduction: Reproduction, path: Path | None) -> None:
    table = show.table("", "paper", "here", "", title=f"{item.name}: {item.title}", left=("", " "))
    for line in reproduction.comparisons:
        table.add_row(line.what, line.published or "\N{EN DASH}", line.ours, reproduction.evidence_of(line).value)
    console.print(table)
    console.print(f"settings: {', '.join(f'{name} {value}' for name, value in reproduction.settings.items())}")
    console.print(reproduction.note)
    _show_path(console, path)


def _show_verdicts(
    console: Console, item: Item, rows: Sequence[CaseResult], judged: Sequence[NumberVerdict], path: Path | None
) -> None:
    table = show.table("", "paper", "from", "median", "to", "", "verdict", title=f"{item.name}: {item.title}")
    for each in judged:
        spread = [_number(value) for value in (each.low, each.middle, each.high)]
        table.add_row(each.what, each.published or "\N{EN DASH}", *spread, each.evidence, each.ruling.value)
    console.print(table)
    for each in judged:
        if each.turns:
            console.print(f"{each.what}: turns at {'; '.join(each.turns)}", markup=False)
    for row in rows:
        if row.error:
            console.print(f"{row.case.name}: {row.error}", markup=False)
    console.print(f"{len(rows)} settings, {sum(bool(row.error) for row in rows)} of them failed")
    _show_path(console, path)


def _show_path(console: Console, path: Path | None) -> None:
    console.print("" if path is None else f"plot: {path}\n")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
