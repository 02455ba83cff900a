# SPDX-License-Identifier: Apache-2.0
"""``offramp fpga regs``: generate files from SystemRDL."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from offramp_base import Field, SettingsError
from offramp_cli.command import command
from offramp_cli.result import OUTPUT, write_file


@dataclass(frozen=True)
class RegsSettings:
    """The folder for generated files."""

    out: Annotated[Path, Field("Folder for SystemVerilog, C headers, Python and Markdown", group=OUTPUT)]

    def __post_init__(self) -> None:
        if not self.out.is_dir():
            raise SettingsError("out", "no such folder", str(self.out))


@command(RegsSettings, example="fpga regs --out generated")
def regs(settings: RegsSettings) -> None:
    """Generate register blocks, C headers, the drivers' offsets and documentation from fpga/regs."""
    from offramp.fpga import register_maps, write_verilog
    from offramp.fpga.registers import markdown_text, python_text, write_header

    out = settings.out
    for name in register_maps():
        typer.echo(str(write_verilog(name, out)))
        typer.echo(str(write_header(name, out)))
    for file, text in (("registers.py", python_text()), ("fpga-registers.md", markdown_text())):
        write_file("out", out / file, text)
        typer.echo(str(out / file))
