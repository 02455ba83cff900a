# SPDX-License-Identifier: Apache-2.0
"""``offramp fpga synth``: what the engines take of a chip, beside the thesis's table 6.3."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError
from offramp_cli.json_file import expect_writable, write_json

if TYPE_CHECKING:
    from rich.table import Table


def synth(
    module: Annotated[list[str] | None, typer.Argument(help="Modules of fpga/synth.toml; all by default.")] = None,
    fmax: Annotated[bool, typer.Option(help="Place and route on an ECP5 for the clock, too (minutes).")] = True,
    out: Annotated[Path | None, typer.Option(help="Folder to keep reports and logs in.")] = None,
    json: Annotated[str | None, typer.Option(help="File for the numbers.")] = None,
) -> None:
    """LUT, FF, BRAM and URAM on UltraScale+ (yosys) as shares of the VU35P, and the clock on ECP5 (nextpnr)."""
    from rich.console import Console

    from offramp.fpga.synth import ecp5, targets, ultrascale
    from offramp_cli.switch.stages import stages

    expect_writable("--json", json)
    known = targets()
    names = module or list(known)
    for name in names:
        if name not in known:
            raise OfframpError(f"{name}: not in fpga/synth.toml, which has {', '.join(known)}")
    found: dict[str, Any] = {}
    with temporary_folder() as scratch, stages(Console(stderr=True)) as stage:
        for name in names:
            target, folder = known[name], (out or Path(scratch)) / name
            stage(f"{name}: UltraScale+")
            resources = ultrascale(target.module, target.ultrascale, folder, flatten=target.flatten)
            entry = {
                "parameters": target.ultrascale,
                "counts": resources.counts,
                "share_percent": resources.share,
                "thesis": {"row": target.thesis_row, "share_percent": target.thesis},
            }
            if fmax and target.ecp5:
                stage(f"{name}: ECP5")
                timing = ecp5(target.module, target.ecp5, folder)
                entry["ecp5"] = {"parameters": target.ecp5, "fmax_mhz": timing.fmax_mhz, "used": timing.used}
            found[name] = entry
    Console(highlight=False, soft_wrap=True).print(_table(found))
    write_json(json, found)


def _table(found: dict[str, Any]) -> Table:
    from rich.table import Table

    kinds = ("LUT", "FF", "BRAM", "URAM")
    table = Table(
        title="resources on UltraScale+, share of the VU35P beside the thesis's table 6.3", title_justify="left"
    )
    for title in ("module", *kinds, "thesis: LUT, Reg, BRAM, URAM %", "ECP5 MHz"):
        table.add_column(title, justify="left" if title == "module" else "right", no_wrap=title == "module")
    for name, entry in found.items():
        cells = [f"{_count(entry['counts'][kind])}\n{entry['share_percent'][kind]:.2f} %" for kind in kinds]
        thesis = entry["thesis"]["share_percent"]
        published = ", ".join(f"{thesis[kind]:g}" for kind in kinds) + f"\n{entry['thesis']['row']}" if thesis else ""
        clock = f"{entry['ecp5']['fmax_mhz']:.0f}" if "ecp5" in entry else ""
        table.add_row(name, *cells, published, clock)
    return table


def _count(number: float) -> str:
    """Half of a block RAM is one of 18 Kb."""
    return f"{number:,.1f}".removesuffix(".0")
