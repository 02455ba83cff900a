# SPDX-License-Identifier: Apache-2.0
"""``offramp fpga build`` and ``offramp fpga flash``: bitstreams and boards."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from offramp_base.errors import OfframpError

BoardName = Annotated[str, typer.Option(help="ulx3s, pynq-z2 or u50.")]


def build(
    board: BoardName = "ulx3s",
    out: Annotated[Path, typer.Option(help="Folder for the bitstream and its reports.")] = Path("out/fpga"),
    seed: Annotated[int, typer.Option(help="Of nextpnr's placement, for ulx3s.", min=0)] = 1,
) -> None:
    """Make a bitstream: ulx3s here, by yosys and nextpnr; the others where Vivado is, else the project for it."""
    from rich.console import Console

    from offramp.fpga.boards import board_of
    from offramp.fpga.boards import build as make
    from offramp_cli.switch.stages import stages

    chosen = board_of(board)
    with stages(Console(stderr=True)) as stage:
        stage(f"{board}: {chosen.what}")
        made = make(chosen, out / board, seed)
    for path in made.files:
        typer.echo(f"{path}: {path.stat().st_size:,} bytes" if made.timing else str(path))
    if made.timing is not None:
        for kind, used in made.timing.used.items():
            most = made.timing.available[kind]
            typer.echo(f"{kind:>14}: {used:6,} of {most:6,} ({100 * used / most:.0f} %)")
        typer.echo(f"{board}: {made.timing.fmax_mhz:.1f} MHz, needs {chosen.clock_mhz:g}")
    if made.project_only:
        typer.echo(f"{board}: vivado is not on PATH; run: vivado -mode batch -source {made.files[0]}")


def flash(
    bitstream: Annotated[Path, typer.Argument(help="What offramp fpga build made.")],
    board: BoardName = "ulx3s",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be run.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Write a bitstream to a board and verify it: openFPGALoader, PYNQ or xbutil by board; asks first."""
    from offramp.fpga import boards

    chosen = boards.board_of(board)
    if not bitstream.is_file() or not bitstream.stat().st_size:
        raise OfframpError(f"{bitstream}: no bitstream; offramp fpga build --board {board} makes one")
    commands = boards.flash_commands(chosen, bitstream)
    for command in commands:
        typer.echo(shlex.join(command))
    if dry_run:
        return
    if not yes and not typer.confirm(f"Overwrite what the {chosen.what} holds?"):
        raise OfframpError("nothing was written")
    boards.flash(commands)
