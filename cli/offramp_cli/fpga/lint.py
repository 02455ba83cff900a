# SPDX-License-Identifier: Apache-2.0
"""``offramp fpga lint``: lint the RTL with three tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from offramp_base import Field
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Result
from offramp_cli.stages import stages


@dataclass(frozen=True)
class LintSettings:
    """Modules to lint."""

    module: Annotated[tuple[str, ...], Field("Modules; all by default", position=True)] = ()


@command(LintSettings, Result, example="fpga lint")
def lint(settings: LintSettings, result: Result) -> None:
    """Read each module with Verilator's linter, Icarus Verilog and yosys; exit code 1 if one of them finds a fault."""
    from offramp_sim.rtl import lintable
    from offramp_sim.rtl.lint import faults

    names = settings.module or lintable()
    lines = []
    with stages(show.console(errors=True)) as stage:
        for name in names:
            stage(name)
            lines += faults(name)
    for fault in lines:
        typer.echo(fault)
    typer.echo(f"{show.count(len(names), 'module')}: {show.count(len(lines), 'fault')}")
    result.write("offramp.fpga.lint/1", {"modules": list(names), "faults": [str(fault) for fault in lines]})
    if lines:
        raise typer.Exit(1)
