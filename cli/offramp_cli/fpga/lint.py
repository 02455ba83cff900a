# SPDX-License-Identifier: Apache-2.0
"""``offramp fpga lint``: the RTL through three readers."""

from __future__ import annotations

from typing import Annotated

import typer


def lint(
    module: Annotated[list[str] | None, typer.Argument(help="Modules; all by default.")] = None,
) -> None:
    """Read each module with Verilator's linter, Icarus Verilog and yosys; exit code 1 if one of them finds fault."""
    from rich.console import Console

    from offramp_cli.switch.stages import stages
    from offramp_sim.rtl.lint import faults, lintable

    names = module or lintable()
    found = []
    with stages(Console(stderr=True)) as stage:
        for name in names:
            stage(name)
            found += faults(name)
    for fault in found:
        typer.echo(fault)
    typer.echo(
        f"{len(names)} module{'' if len(names) == 1 else 's'}: {len(found) or 'no'} fault{'s'[: len(found) != 1]}"
    )
    if found:
        raise typer.Exit(1)
