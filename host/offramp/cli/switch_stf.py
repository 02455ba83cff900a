"""``offramp switch stf``: run a test in the p4c project's STF format on the embedded P4 switch."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from offramp.errors import OfframpError

if TYPE_CHECKING:
    from rich.text import Text

    from offramp_sim.p4.stf import Mismatch, StfResult


def stf(
    program: Annotated[Path, typer.Argument(help="P4-16 source for v1model.")],
    test: Annotated[Path, typer.Argument(help="STF file: packet, expect, add, setdefault, …")],
    include: Annotated[list[Path] | None, typer.Option("-I", "--include", help="Folder for #include.")] = None,
    define: Annotated[list[str] | None, typer.Option("-D", "--define", help="Macro, as NAME or NAME=VALUE.")] = None,
    seed: Annotated[int, typer.Option(help="Moves everything random in the switch.")] = 0,
    json_path: Annotated[Path | None, typer.Option("--json", help="Write the outcome to this file.")] = None,
) -> None:
    """Run an STF test; exit code 1 and the differing bytes if a packet is not as expected."""
    from rich.console import Console

    from offramp_sim.p4.frontend import load
    from offramp_sim.p4.stf import run_stf

    macros = dict(_macro(text) for text in define or [])
    try:
        text = test.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file in UTF-8"
        raise OfframpError(f"{test}: cannot be read: {reason}") from None
    result = run_stf(load(program, include=include or (), defines=macros), text, str(test), seed=seed)
    _show(Console(highlight=False, soft_wrap=True), program, result)
    if json_path is not None:
        try:
            json_path.write_text(json.dumps(summarise(result), indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            raise OfframpError(f"--json {json_path}: cannot be written: {error.strerror}") from None
    if not result.passed:
        raise typer.Exit(1)


def summarise(result: StfResult) -> dict[str, Any]:
    """The outcome, ready for JSON."""
    return {"passed": result.passed, **asdict(result)}


def _macro(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    if not name.isidentifier():
        raise OfframpError(f"--define {text}: expected NAME or NAME=VALUE")
    return name, value or "1"


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
