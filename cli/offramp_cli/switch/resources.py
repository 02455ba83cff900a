# SPDX-License-Identifier: Apache-2.0
"""``offramp switch resources``: what a TNA program takes of a Tofino, before its compiler says so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from offramp_cli.switch.program import Define, Include, load_program, write_json

if TYPE_CHECKING:
    from rich.console import Console

    from offramp_p4.tna.resources import ResourceReport


def resources(
    program: Annotated[Path, typer.Argument(help="P4-16 source for TNA.")],
    include: Include = None,
    define: Define = None,
    json_path: Annotated[Path | None, typer.Option("--json", help="Write the report to this file.")] = None,
) -> None:
    """Estimate stages, memories, ALUs and PHV of a TNA program; exit code 1 if it cannot fit."""
    from rich.console import Console

    from offramp_p4.tna.resources import estimate

    reports = estimate(load_program(program, include, define))
    console = Console(highlight=False)
    for report in reports:
        _show(console, program, report)
    if json_path is not None:
        write_json("--json", json_path, summarise(reports))
    if not all(report.fits for report in reports):
        raise typer.Exit(1)


def summarise(reports: list[ResourceReport]) -> dict[str, Any]:
    """All pipes, ready for JSON."""
    return {"fits": all(r.fits for r in reports), "pipes": [r.as_dict() for r in reports]}


def _show(console: Console, program: Path, report: ResourceReport) -> None:
    from rich import box
    from rich.table import Table

    chip = report.chip
    table = Table(title=f"{program.name}, {report.pipe}: stages of a {chip.name}", box=box.SIMPLE, padding=(0, 1, 0, 0))
    columns = {
        "stage": "",
        "tables": f"of {chip.tables}",
        "sALUs": f"of {chip.stateful_alus}",
        "SRAM": f"of {chip.srams}",
        "TCAM": f"of {chip.tcams}",
        "map": f"of {chip.map_rams}",
        "hash": f"of {chip.hash_units}",
    }
    for name, limit in columns.items():
        table.add_column(f"{name}\n[dim]{limit}[/dim]", justify="right")
    table.add_column("what", overflow="fold")
    for number, s in enumerate(report.stages):
        numbers = [number, len(s.tables), len(s.stateful), s.srams, s.tcams, s.map_rams, s.hash_units]
        names = ", ".join(dict.fromkeys(_short(t.name, report.pipe) for t in s.tables))
        table.add_row(*map(str, numbers), names, style="red" if number >= chip.stages else "")
    console.print(table)
    containers = ", ".join(f"{n} x {w}" for w, n in report.phv.containers.items() if n)
    console.print(f"PHV: {report.phv.bits} of {chip.phv_bits} bits ({containers or 'no'} containers)")
    console.print("Critical chain:")
    for link in report.chain:
        console.print(f"  stage {link.stage:2}  {link.table}  [dim]{link.place}[/dim]\n            {link.reason}")
    for caution in report.cautions:
        console.print(f"[yellow]caution[/yellow]: {caution}")
    if report.fits:
        left = chip.stages - len(report.stages)
        console.print(f"[green]fits[/green]: {len(report.stages)} of {chip.stages} stages, {left} to spare")
    for problem in report.problems:
        console.print(f"[red]does not fit[/red]: {problem}")


def _short(name: str, pipe: str) -> str:
    return name.removeprefix(f"{pipe}.").replace("statements at line", "line")
