# SPDX-License-Identifier: Apache-2.0
"""``offramp schema``: what a command's file of settings may hold."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from offramp_base.errors import OfframpError
from offramp_base.settings.schema import json_schema


def schema(
    context: typer.Context,
    words: Annotated[list[str], typer.Argument(help="A command that has --settings.", metavar="COMMAND…")],
) -> None:
    """Print the JSON Schema of the file that a command's --settings reads, for editors and checkers.

    Example: offramp schema train dgs > dgs.schema.json
    """
    found: Any = context.find_root().command
    for word in words:
        found = getattr(found, "commands", {}).get(word)
    declaration = getattr(found, "declaration", None)
    if declaration is None:
        raise OfframpError(f"{' '.join(words)}: no command with --settings")
    typer.echo(json.dumps(json_schema(f"offramp {' '.join(words)}", declaration.classes), indent=2))
