# SPDX-License-Identifier: Apache-2.0
"""``offramp switch stf``: run a test in the p4c project's STF format on the embedded P4 switch."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offramp_base import Field, OfframpError
from offramp_base.documents import read_text
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Result
from offramp_p4.settings import ENGINES

if TYPE_CHECKING:
    from rich.text import Text

    from offramp_p4.program_source import ProgramSource
    from offramp_p4.stf import Mismatch, StfResult


@dataclass(frozen=True)
class StfSettings:
    """The program and the STF files to run."""

    test: Annotated[Path, Field("STF file: packet, expect, add, setdefault, …", position=True)]
    engine: Annotated[str, Field("Engine that runs the program", choices=ENGINES)] = "auto"
    seed: Annotated[int, Field("Random seed", least=0)] = 0


@command("offramp_p4.program_source:ProgramSource", StfSettings, Result, example="switch stf program.p4 test.stf")
def stf(source: ProgramSource, settings: StfSettings, result: Result) -> None:
    """Run an STF test; if a packet is not as expected, show the differing bytes and exit with code 1."""
    from offramp_p4 import run_stf

    text = read_stf(settings.test)
    outcome = run_stf(source.load(), text, str(settings.test), seed=settings.seed, engine=settings.engine)
    _show(Path(source.program), outcome)
    result.write("offramp.switch.stf/1", {"passed": outcome.passed, **asdict(outcome)})
    if not outcome.passed:
        raise typer.Exit(1)


def read_stf(path: Path) -> str:
    """Read the text of a test.

    Raises:
        OfframpError: the file cannot be read.
    """
    try:
        return read_text(path)
    except OfframpError as error:
        raise OfframpError(f"{path}: {error}") from None


def _show(program: Path, result: StfResult) -> None:
    from rich.text import Text

    out = show.console(wrap=False)
    for mismatch in result.mismatches:
        out.print(Text.assemble((mismatch.where, "red"), f": {mismatch.message}"))
        if mismatch.expected:
            out.print("  expected ", _bytes(mismatch, mismatch.expected), sep="")
        if mismatch.received:
            out.print("  received ", _bytes(mismatch, mismatch.received), sep="")
    faults = len(result.mismatches)
    outcome = ("passed", "green") if result.passed else (f"{faults} not as expected", "red")
    counts = f"{result.sent} packets sent, {result.received} received, {result.expectations} checks"
    out.print(Text.assemble(f"{program.name} {Path(result.file).name}: ", outcome, f" ({counts})"))


def _bytes(mismatch: Mismatch, digits: str) -> Text:
    """Packet data as bytes, with differing ones marked."""
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
    return any(wanted not in {"*", actual} for wanted, actual in pairs)
