# SPDX-License-Identifier: Apache-2.0
"""``offramp switch resources``: an estimate of the Tofino resources that a TNA program takes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Result

if TYPE_CHECKING:
    from offramp_p4.program_source import ProgramSource
    from offramp_p4.tna.resources import ResourceReport


@command("offramp_p4.program_source:ProgramSource", Result, example="switch resources program_tna.p4 --json -")
def resources(source: ProgramSource, result: Result) -> None:
    """Estimate stages, memories, ALUs and PHV of a TNA program; exit code 1 if it cannot fit."""
    from offramp_p4.tna.resources import estimate

    reports = estimate(source.load())
    for report in reports:
        _show(Path(source.program), report)
    fits = all(report.fits for report in reports)
    result.write("offramp.switch.resources/1", {"fits": fits, "pipes": [report.as_dict() for report in reports]})
    if not fits:
        raise typer.Exit(1)


def _show(program: Path, report: ResourceReport) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    out, chip = show.console(), report.chip
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
        table.add_column(Text.assemble(f"{name}\n", (limit, "dim")), justify="right")
    table.add_column("what", overflow="fold")
    for number, s in enumerate(report.stages):
        numbers = [number, len(s.tables), len(s.stateful), s.srams, s.tcams, s.map_rams, s.hash_units]
        names = ", ".join(dict.fromkeys(_short(t.name, report.pipe) for t in s.tables))
        table.add_row(*map(str, numbers), names, style="red" if number >= chip.stages else "")
    out.print(table)
    containers = ", ".join(f"{n} x {w}" for w, n in report.phv.containers.items() if n)
    out.print(f"PHV: {report.phv.bits} of {chip.phv_bits} bits ({containers or 'no'} containers)")
    out.print("Critical chain:")
    for link in report.chain:
        out.print(
            Text.assemble(f"  stage {link.stage:2}  {link.table}  ", (link.place, "dim"), f"\n{'':12}{link.reason}")
        )
    for caution in report.cautions:
        out.print(Text.assemble(("caution", "yellow"), f": {caution}"))
    if report.fits:
        left = chip.stages - len(report.stages)
        out.print(Text.assemble(("fits", "green"), f": {len(report.stages)} of {chip.stages} stages, {left} to spare"))
    for problem in report.problems:
        out.print(Text.assemble(("does not fit", "red"), f": {problem}"))


def _short(name: str, pipe: str) -> str:
    return name.removeprefix(f"{pipe}.").replace("statements at line", "line")
