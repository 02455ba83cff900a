# SPDX-License-Identifier: Apache-2.0
"""``offramp switch stf``: run a test in the p4c project's STF format on the embedded P4 switch."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from offramp_cli.switch.program import Define, Include, Program, load_program, read_text, write_json

if TYPE_CHECKING:
    from rich.text import Text

    from offramp_p4.stf import Mismatch, StfResult


def stf(
    program: Program,
    test: Annotated[Path, typer.Argument(help="STF file: packet, expect, add, setdefault, …")],
    include: Include = None,
    define: Define = None,
    seed: Annotated[int, typer.Option(help="Moves everything random in the switch.")] = 0,
    json_path: Annotated[Path | None, typer.Option("--json", help="Write the outcome to this file.")] = None,
) -> None:
    """Run an STF test; exit code 1 and the differing bytes if a packet is not as expected."""
    from rich.console import Console

    from offramp_p4.stf import run_stf

    text = read_text(test)
    result = run_stf(load_program(program, include, define), text, str(test), seed=seed)
    _show(Console(highlight=False, soft_wrap=True), program, result)
    if json_path is not None:
        write_json("--json", json_path, summarise(result))
    if not result.passed:
        raise typer.Exit(1)


def summarise(result: StfResult) -> dict[str, Any]:
    """The outcome, ready for JSON."""
    return {"passed": result.passed, **asdict(result)}


def _show(console: Any, program: Path, result: StfResult) -> None:
    for mismatch in result.mismatches:
        console.print(f"[red]{mismatch.where}[/red]: {mismatch.message}")
        if mismatch.expected:
            console.print("  expected ", _bytes(mismatch, mismatch.expected), sep="")
        if mismatch.received:
            console.print("  received ", _bytes(mismatch, mismatch.received), sep="")
    faults = len(result.mismatches)
    outcome = "[green]passed[/green]" if result.passed else f"[red]{faults} not as expected[/red]"
    counts = f"{result.sent} packets sent, {result.received} received, {result.expectations} checks"
    console.print(f"{program.name} {Path(result.file).name}: {outcome} ({counts})")


def _bytes(mismatch: Mismatch, digits: str) -> Text:
    """Packet data as bytes, those that differ marked."""
    from rich.text import Text

    line = Text()
    for at in range(0, len(digits), 2):
        pair = digits[at : at + 2]
        marked = mismatch.differs_at is not None and _differs(mismatch, at)
        line.append(pair, style="bold reverse red" if marked else "")
        line.append(" ")
    return line


def _differs(mismatch: Mismatch, at: int) -> bool:
    pairs = zip(mismatch.expected[at : at + 2], mismatch.received[at : at + 2], strict=False)
    return any(wanted not in {"*", got} for wanted, got in pairs)
