# SPDX-License-Identifier: Apache-2.0
"""``offramp switch lint``: warnings about a P4 program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from offramp_base import Field
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Result

if TYPE_CHECKING:
    from offramp_p4.program_source import ProgramSource


@dataclass(frozen=True)
class Strictness:
    """Whether warnings make the command fail."""

    strict: Annotated[bool, Field("Exit with code 1 if there is a warning")] = False


@command("offramp_p4.program_source:ProgramSource", Strictness, Result, example="switch lint program.p4 --strict")
def lint(source: ProgramSource, strictness: Strictness, result: Result) -> None:
    """Warn about what is unused, unreachable, uninitialised, invalid, or impossible in hardware."""
    from offramp_p4.lint import lint as find

    warnings = [str(warning) for warning in find(source.load())]
    typer.echo(
        "".join(f"{warning}\n" for warning in warnings) + f"{source.program}: {show.count(len(warnings), 'warning')}"
    )
    result.write("offramp.switch.lint/1", {"program": source.program, "warnings": warnings})
    if warnings and strictness.strict:
        raise typer.Exit(1)
