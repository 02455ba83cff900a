# SPDX-License-Identifier: Apache-2.0
"""``offramp fpga test``: the test benches of the RTL, from a checkout."""

from __future__ import annotations

import subprocess
import sys
from typing import Annotated

import typer

from offramp.fpga.sources import fpga_root
from offramp_base.errors import OfframpError


def run_tests(
    context: typer.Context,
    full: Annotated[bool, typer.Option("--full", help="The slow ones too: 10,000 transactions an engine.")] = False,
) -> None:
    """Run the cocotb test benches (tests/fpga) with pytest; further arguments go to pytest."""
    folder = fpga_root().parent / "tests" / "fpga"
    if not folder.is_dir():
        raise OfframpError("offramp fpga test: needs a checkout, whose tests/fpga this installation lacks")
    marks = [] if full else ["-m", "not slow"]
    command = [sys.executable, "-m", "pytest", str(folder), *marks, *context.args]
    raise typer.Exit(subprocess.run(command, cwd=folder.parent.parent, check=False).returncode)
