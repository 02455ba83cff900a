# SPDX-License-Identifier: Apache-2.0
"""``offramp switch lint``: warnings about a P4 program."""

from __future__ import annotations

from typing import Annotated

import typer

from offramp_cli.switch.program import Define, Include, Program, load_program


def lint(
    program: Program,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if there is a warning.")] = False,
    include: Include = None,
    define: Define = None,
) -> None:
    """Warn of what is unused, unreachable, uninitialised, invalid, or impossible for hardware."""
    from offramp_p4.lint import lint as find

    warnings = find(load_program(program, include, define))
    for warning in warnings:
        typer.echo(str(warning))
    plural = "" if len(warnings) == 1 else "s"
    typer.echo(f"{program}: {len(warnings) or 'no'} warning{plural}")
    if warnings and strict:
        raise typer.Exit(1)
