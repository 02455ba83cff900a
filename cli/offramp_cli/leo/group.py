# SPDX-License-Identifier: Apache-2.0
"""``offramp leo``: applications over CPU, FPGA and smartNIC from their YAML."""

from __future__ import annotations

import typer

from offramp_cli.command import add
from offramp_cli.leo.plan import plan, validate
from offramp_cli.leo.profile import profile
from offramp_cli.leo.run import run

leo = typer.Typer(
    help="Applications over CPU, FPGA and smartNIC, a path for each request (LEO).",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
add(leo, validate, plan, profile, run)
