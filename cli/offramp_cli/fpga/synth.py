# SPDX-License-Identifier: Apache-2.0
"""``offramp fpga synth``: resources of the engines, beside the thesis's table 6.3, and their depth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from offramp_base import Field
from offramp_base.settings import expect_choice
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import OUTPUT, Result
from offramp_cli.stages import stages

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class SynthSettings:
    """Modules to synthesise."""

    module: Annotated[tuple[str, ...], Field("Modules of fpga/synth.toml; all by default", position=True)] = ()
    fmax: Annotated[bool, Field("Also place and route on an ECP5, for the clock (takes minutes)")] = True
    out: Annotated[Path | None, Field("Folder to keep reports and logs in", group=OUTPUT, filled=True)] = None


@command(SynthSettings, Result, example="fpga synth --no-fmax --json -")
def synth(settings: SynthSettings, result: Result) -> None:
    """Show resources on UltraScale+ as shares of the VU35P, longest paths (yosys), and the clock on ECP5 (nextpnr)."""
    from offramp.fpga.synth import ecp5, targets, ultrascale
    from offramp_base.ending.left import temporary_folder

    known = targets()
    names = settings.module or list(known)
    for name in names:
        expect_choice("module", name, known)
    modules: dict[str, Any] = {}
    with temporary_folder() as scratch, stages(show.console(errors=True)) as stage:
        for name in names:
            target, folder = known[name], (settings.out or Path(scratch)) / name
            stage(f"{name}: UltraScale+")
            resources, depth = ultrascale(target.module, target.ultrascale, folder, flatten=target.flatten)
            entry = {
                "parameters": target.ultrascale,
                "counts": resources.counts,
                "share_percent": resources.share,
                "depth": {"levels": depth.levels, "carry_bits": depth.carry, "within": depth.within},
                "longest_paths": {"levels": depth.deepest, "carry_bits": depth.longest_carry},
                "thesis": {"row": target.thesis_row, "share_percent": target.thesis},
            }
            if settings.fmax and target.ecp5:
                stage(f"{name}: ECP5")
                timing = ecp5(target.module, target.ecp5, folder)
                entry["ecp5"] = {"parameters": target.ecp5, "fmax_mhz": timing.fmax_mhz, "used": timing.used}
            modules[name] = entry
    show.print_table(show.console(), _table(modules))
    result.write("offramp.fpga.synth/1", {"modules": modules})


def _table(modules: dict[str, Any]) -> Table:
    from offramp.fpga.depth import MOST_CARRY, MOST_LEVELS

    kinds = ("LUT", "FF", "BRAM", "URAM")
    title = "resources on UltraScale+, share of the VU35P beside the thesis's table 6.3"
    table = show.table(
        "module", *kinds, "LUT levels", "carry bits", "thesis: LUT, Reg, BRAM, URAM %", "ECP5 MHz", title=title
    )
    for name, entry in modules.items():
        cells = [f"{_count(entry['counts'][kind])}\n{entry['share_percent'][kind]:.2f} %" for kind in kinds]
        thesis = entry["thesis"]["share_percent"]
        published = ", ".join(f"{thesis[kind]:g}" for kind in kinds) + f"\n{entry['thesis']['row']}" if thesis else ""
        clock = f"{entry['ecp5']['fmax_mhz']:.0f}" if "ecp5" in entry else ""
        depth = entry["depth"]
        deep = [_limited(depth["levels"], MOST_LEVELS), _limited(depth["carry_bits"], MOST_CARRY)]
        table.add_row(name, *cells, *deep, published, clock)
    return table


def _limited(number: int, most: int) -> str:
    return f"{number}" if number <= most else f"{number}\nabove {most}"


def _count(number: float) -> str:
    """A count as text; half of a block RAM is one of 18 Kb."""
    return f"{number:,.1f}".removesuffix(".0")
