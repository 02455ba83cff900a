# SPDX-License-Identifier: Apache-2.0
"""``offramp fpga regs``: what comes from the SystemRDL files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from offramp_base.ending.files import write_text
from offramp_base.errors import OfframpError


def regs(
    out: Annotated[Path, typer.Option(help="Folder for SystemVerilog, C headers, Python and Markdown.")],
) -> None:
    """Generate register blocks, C headers, the drivers' offsets and documentation from fpga/regs."""
    from offramp.fpga.registers import markdown_text, python_text, write_header, write_verilog
    from offramp.fpga.sources import register_maps

    if not out.is_dir():
        raise OfframpError(f"--out {out}: no such folder")
    for name in register_maps():
        typer.echo(str(write_verilog(name, out)))
        typer.echo(str(write_header(name, out)))
    for file, text in (("registers.py", python_text()), ("fpga-registers.md", markdown_text())):
        write_text(out / file, text)
        typer.echo(str(out / file))
