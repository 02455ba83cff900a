# SPDX-License-Identifier: Apache-2.0
"""``offramp coflow``: Hermod's priorities, queues, matchings and traces of a training job."""

from __future__ import annotations

import typer

from offramp_cli.command import add
from offramp_cli.hermod.demo import demo
from offramp_cli.hermod.deploy import deploy
from offramp_cli.hermod.export import export
from offramp_cli.hermod.match import match
from offramp_cli.hermod.models import models
from offramp_cli.hermod.plan import plan

coflow = typer.Typer(
    help="Coflow priorities of LLM training (Hermod).",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
coflow.command()(deploy)
add(coflow, models, plan, match, export, demo)
