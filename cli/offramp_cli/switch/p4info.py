# SPDX-License-Identifier: Apache-2.0
"""``offramp switch p4info``: the description of a program that a controller needs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offramp_base import Field
from offramp_cli.command import command
from offramp_cli.result import OUTPUT, write_file

if TYPE_CHECKING:
    from offramp_p4.program_source import ProgramSource


@dataclass(frozen=True)
class P4InfoOutput:
    """Format and destination of a P4Info."""

    out: Annotated[
        Path | None,
        Field("File to write; standard output by default", short="-o", group=OUTPUT, aliases=("output",), written=True),
    ] = None
    format: Annotated[str, Field("Format", choices={"text": "protobuf's text format", "json": "protobuf's JSON"})] = (
        "text"
    )
    as_json: Annotated[bool, Field("The same as --format json", key="json", hidden=True)] = False


@command("offramp_p4.program_source:ProgramSource", P4InfoOutput, example="switch p4info program.p4 --out p4info.txtpb")
def p4info(source: ProgramSource, form: P4InfoOutput) -> None:
    """Print the P4Info of a program, as p4c's --p4runtime-files writes it."""
    from offramp_p4.runtime.p4info import generate
    from offramp_p4.runtime.p4info_files import p4info_bytes

    text = p4info_bytes(generate(source.load()), "json" if form.as_json else form.format).decode()
    if form.out is None:
        typer.echo(text, nl=False)
    else:
        write_file("out", form.out, text)
