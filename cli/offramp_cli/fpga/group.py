# SPDX-License-Identifier: Apache-2.0
"""``offramp fpga``: lint, test, synthesis, bitstreams and boards of the FPGA engines."""

from __future__ import annotations

import typer

from offramp_cli.fpga.build import build, flash
from offramp_cli.fpga.lint import lint
from offramp_cli.fpga.regs import regs
from offramp_cli.fpga.synth import synth
from offramp_cli.fpga.test import run_tests

fpga = typer.Typer(
    help="FPGA engines: lint, test, synthesis, bitstreams, boards.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
fpga.command()(lint)
fpga.command("test", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(run_tests)
fpga.command()(synth)
fpga.command()(regs)
fpga.command()(build)
fpga.command()(flash)
