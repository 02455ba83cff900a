# SPDX-License-Identifier: Apache-2.0
"""``offramp coflow``: Hermod's priorities, queues, matchings and traces of a training job."""

from __future__ import annotations

import typer

from offramp.cli.coflow_demo import demo
from offramp.cli.coflow_deploy import deploy
from offramp.cli.coflow_export import export
from offramp.cli.coflow_match import match
from offramp.cli.coflow_models import models
from offramp.cli.coflow_plan import plan

coflow = typer.Typer(
    help="Coflow priorities of LLM training (Hermod).",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
coflow.command()(models)
coflow.command()(plan)
coflow.command()(deploy)
coflow.command()(match)
coflow.command()(export)
coflow.command()(demo)
