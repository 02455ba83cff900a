# SPDX-License-Identifier: Apache-2.0
"""``offramp fpga build`` and ``offramp fpga flash``: bitstreams and boards."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import AddressValueError, IPv4Address
from pathlib import Path
from typing import Annotated

import typer

from offramp_base import Field, OfframpError, SettingsError
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import OUTPUT, Result
from offramp_cli.stages import stages


def _boards() -> dict[str, str]:
    from offramp.fpga.boards import BOARDS

    return {name: board.what for name, board in BOARDS.items()}


def _parameter(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    if not re.fullmatch(r"[0-9]{1,9}", value) or not name:
        raise ValueError("expected NAME=NUMBER, such as AGGREGATORS=1024")
    return name, int(value)


@dataclass(frozen=True)
class BoardSettings:
    """The board of a command."""

    board: Annotated[str, Field("BoardSettings", choices=_boards)] = "ulx3s"


@dataclass(frozen=True)
class BuildSettings(BoardSettings):
    """Settings of a bitstream build."""

    seed: Annotated[int, Field("Random seed of nextpnr's placement, for boards with an ECP5", least=0)] = 1
    address: Annotated[str, Field("IPv4 address of a board on Ethernet; 192.168.1.50 by default")] = ""
    parameter: Annotated[
        Mapping[str, int],
        Field("NAME=NUMBER, an engine of the card on Ethernet or its size; repeatable", item=_parameter),
    ] = field(default_factory=dict)
    out: Annotated[Path, Field("Folder for the bitstream and its reports", group=OUTPUT, filled=True)] = Path(
        "out/fpga"
    )


@dataclass(frozen=True, kw_only=True)
class FlashSettings(BoardSettings):
    """A bitstream, and the board to load it into."""

    bitstream: Annotated[Path, Field("Bitstream that offramp fpga build has made", position=True)]
    dry_run: Annotated[bool, Field("Only print what would be run")] = False
    yes: Annotated[bool, Field("Do not ask")] = False


@command(BuildSettings, Result, example="fpga build --board ulx3s")
def build(settings: BuildSettings, result: Result) -> None:
    """Make a bitstream: with yosys and nextpnr for an ECP5, else with Vivado, or its project if Vivado is missing."""
    from offramp.fpga import boards

    board, chosen = settings.board, boards.BOARDS[settings.board]
    with stages(show.console(errors=True)) as stage:
        stage(f"{board}: {chosen.what}")
        address = _address(settings.address)
        built = boards.build(chosen, settings.out / board, settings.seed, address, settings.parameter)
    for path in built.files:
        typer.echo(f"{path}: {path.stat().st_size:,} bytes" if built.timing else str(path))
    numbers = {"board": board, "files": list(map(str, built.files)), "project_only": built.project_only}
    if built.timing is not None:
        for kind, used in built.timing.used.items():
            most = built.timing.available[kind]
            typer.echo(f"{kind:>14}: {used:6,} of {most:6,} ({100 * used / most:.0f} %)")
        for clock in built.timing.clocks:
            typer.echo(f"{board}: {clock.name}: {clock.reached_mhz:.1f} MHz, needs {clock.wanted_mhz:g}")
        numbers["clocks"] = {each.name: [each.reached_mhz, each.wanted_mhz] for each in built.timing.clocks}
        numbers |= {"used": built.timing.used, "available": built.timing.available, "fmax_mhz": built.timing.fmax_mhz}
    if built.project_only:
        then = f"make -C {settings.out / board}" if chosen.kernels else f"vivado -mode batch -source {built.files[0]}"
        typer.echo(f"{board}: vivado is not on PATH; run: {then}")
    result.write("offramp.fpga.build/1", numbers)


def _address(text: str) -> IPv4Address | None:
    try:
        return IPv4Address(text) if text else None
    except AddressValueError:
        raise SettingsError("address", "expected an IPv4 address", text) from None


@command(FlashSettings, example="fpga flash out/fpga/ulx3s/ulx3s.bit --dry-run")
def flash(settings: FlashSettings) -> None:
    """Write a bitstream to a board and verify it, with openFPGALoader, PYNQ or xbutil by board; asks first."""
    from offramp.fpga import boards

    chosen, bitstream = boards.BOARDS[settings.board], settings.bitstream
    if not bitstream.is_file():
        raise OfframpError(f"{bitstream}: no bitstream; offramp fpga build --board {settings.board} makes one")
    boards.check_bitstream(chosen, bitstream)
    commands = boards.flash_commands(chosen, bitstream)
    for words in commands:
        typer.echo(shlex.join(words))
    if settings.dry_run:
        return
    if not settings.yes and not typer.confirm(f"Overwrite what the {chosen.what} holds?"):
        raise OfframpError("nothing was written")
    boards.flash(commands)
