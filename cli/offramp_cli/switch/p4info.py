# SPDX-License-Identifier: Apache-2.0
"""``offramp switch p4info``: what a controller must know of a program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from offramp_cli.switch.program import Define, Include, Program, load_program, write_text


def p4info(
    program: Program,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File to write; standard output without it.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of protobuf's text format.")] = False,
    include: Include = None,
    define: Define = None,
) -> None:
    """Print the P4Info of a program, as p4c's --p4runtime-files makes it."""
    from google.protobuf import json_format, text_format

    from offramp_base.p4rt.schema import POOL
    from offramp_p4.runtime.p4info import generate

    info = generate(load_program(program, include, define))
    if as_json:
        text = json_format.MessageToJson(info, preserving_proto_field_name=True, descriptor_pool=POOL) + "\n"
    else:
        head = "# proto-file: p4/config/v1/p4info.proto\n# proto-message: p4.config.v1.P4Info\n\n"
        text = head + text_format.MessageToString(info, descriptor_pool=POOL)
    if output is None:
        typer.echo(text, nl=False)
    else:
        write_text("--output", output, text)
