"""The command tree; each command lives in a module of its own."""

from __future__ import annotations

import typer

app = typer.Typer(
    name="offramp",
    help="Take the communication of distributed training off the host.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
