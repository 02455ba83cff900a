# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate``: what a system does on simulated hardware, without the hardware."""

from __future__ import annotations

import typer

from offramp.cli.simulate_g3 import g3
from offramp.cli.simulate_hermod import hermod
from offramp.cli.simulate_leo import leo
from offramp.cli.simulate_placement import placement
from offramp.cli.simulate_themis import themis
from offramp.cli.simulate_unitg import unitg

simulate = typer.Typer(
    help="Simulate a system at sizes that no laboratory has.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
simulate.command()(themis)
simulate.command()(placement)
simulate.command()(hermod)
simulate.command()(leo)
simulate.command()(unitg)
simulate.command()(g3)
