# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate``: what a system does on simulated hardware, without the hardware."""

from __future__ import annotations

import typer

from offramp_cli.command import add
from offramp_cli.dgtp.simulate import placement
from offramp_cli.g3.simulate import g3
from offramp_cli.hermod.simulate import hermod
from offramp_cli.leo.simulate import leo
from offramp_cli.themis.simulate import themis
from offramp_cli.unitg.simulate import unitg

simulate = typer.Typer(
    help="Simulate a system at sizes that no laboratory has.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
add(simulate, themis, placement, hermod, leo, unitg, g3)
