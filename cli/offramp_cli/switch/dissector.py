# SPDX-License-Identifier: Apache-2.0
"""``offramp switch dissector``: the headers of a program, for Wireshark and tshark."""

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
class DissectorOutput:
    """Where Wireshark calls the dissector, and its file."""

    table: Annotated[
        str, Field("Dissector table and value, such as udp.port=5000; by default all frames of Ethernet")
    ] = "wtap_encap=1"
    state: Annotated[str, Field("Parser state to begin in")] = "start"
    name: Annotated[str | None, Field("Protocol's name; by default that of the file")] = None
    out: Annotated[
        Path | None, Field("File to write; standard output by default", short="-o", group=OUTPUT, written=True)
    ] = None


@command(
    "offramp_p4.program_source:ProgramSource",
    DissectorOutput,
    example="switch dissector program.p4 --out program.lua",
)
def dissector(source: ProgramSource, form: DissectorOutput) -> None:
    """Write a dissector for Wireshark (tshark -X lua_script:FILE) from a program's parser."""
    from offramp_p4_tools.dissector import dissector as dissector_text

    text = dissector_text(source.load(), form.name or Path(source.program).stem, form.table, form.state)
    if form.out is None:
        typer.echo(text, nl=False)
    else:
        write_file("out", form.out, text)
