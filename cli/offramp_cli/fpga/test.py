# SPDX-License-Identifier: Apache-2.0
"""``offramp fpga test``: the test benches of the RTL, from a checkout."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from offramp_base.errors import OfframpError
from offramp_base.settings.field import Field
from offramp_cli.command import command


@dataclass(frozen=True)
class BenchTests:
    """Which test benches run."""

    arguments: Annotated[tuple[str, ...], Field("For pytest", position=True)] = ()
    full: Annotated[bool, Field("The slow ones too: 10,000 transactions an engine")] = False


@command(BenchTests, example="fpga test -k checksum", ignore_unknown_options=True)
def test(settings: BenchTests) -> None:
    """Run the cocotb test benches (tests/fpga) with pytest; further arguments go to pytest."""
    from offramp.fpga.sources import fpga_root

    folder = fpga_root().parent / "tests" / "fpga"
    if not folder.is_dir():
        raise OfframpError("offramp fpga test: needs a checkout, whose tests/fpga this installation lacks")
    marks = [] if settings.full else ["-m", "not slow"]
    words = [sys.executable, "-m", "pytest", str(folder), *marks, *settings.arguments]
    raise typer.Exit(subprocess.run(words, cwd=folder.parent.parent, check=False).returncode)
