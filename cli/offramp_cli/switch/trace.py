# SPDX-License-Identifier: Apache-2.0
"""``offramp switch trace``: what packets meet on their way through a P4 program."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offramp_base.errors import OfframpError
from offramp_cli.switch.program import Define, Include, Program, load_program, read_text, write_text

if TYPE_CHECKING:
    from offramp_p4.trace import PacketTrace


def trace(
    program: Program,
    packet: Annotated[list[str] | None, typer.Option(help="PORT:HEX, a packet to send; may be repeated.")] = None,
    stf: Annotated[Path | None, typer.Option(help="STF file, whose packets and table commands are used.")] = None,
    entries: Annotated[Path | None, typer.Option(help="STF file with table commands to run first.")] = None,
    include: Include = None,
    define: Define = None,
    seed: Annotated[int, typer.Option(help="Moves everything random in the switch.")] = 0,
    json_path: Annotated[
        Path | None, typer.Option("--json", help="Write JSON lines, one for each packet, to this file.")
    ] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Show no trees.")] = False,
) -> None:
    """Run packets and show for each a tree: parser states, tables, actions, registers, copies, drops."""
    from offramp_p4.stf.replay import replay
    from offramp_p4.switch import Switch

    if not packet and stf is None:
        raise OfframpError("switch trace: expected --packet PORT:HEX or --stf FILE")
    packets = [_packet(text) for text in packet or ()]
    traces: list[PacketTrace] = []
    switch = Switch(load_program(program, include, define), seed=seed, trace=traces.append)
    for file in (entries, stf):
        if file is not None:
            replay(switch, read_text(file), str(file))
    for port, frame in packets:
        switch.process_one(port, frame)
    if not quiet:
        _show(traces)
    if json_path is not None:
        write_text("--json", json_path, "".join(json.dumps(t.to_json()) + "\n" for t in traces))


def _packet(text: str) -> tuple[int, bytes]:
    try:
        port, digits = text.split(":")
        return _port(port), bytes.fromhex(digits)
    except ValueError:
        raise OfframpError(f"--packet {text}: expected PORT:HEX such as 1:0011223344") from None


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port < 512:
        raise ValueError
    return port


def _show(traces: Iterable[PacketTrace]) -> None:
    from rich.console import Console

    from offramp_p4.trace.render import tree

    console = Console(highlight=False, soft_wrap=True)
    for each in traces:
        console.print(tree(each))
