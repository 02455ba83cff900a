# SPDX-License-Identifier: Apache-2.0
"""``offramp schema``: JSON Schema of a command's settings file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated

import typer

from offramp_base import Field, SettingsError
from offramp_cli.command import command, imported
from offramp_cli.tree import CommandGroup, member


@dataclass(frozen=True)
class SchemaSettings:
    """The command whose schema is printed."""

    words: Annotated[
        tuple[str, ...], Field("The words of a command, such as train dgs", position=True, metavar="COMMAND…")
    ]


@command(SchemaSettings, example="schema train dgs > dgs.schema.json")
def schema(settings: SchemaSettings) -> None:
    """Print the JSON Schema of the file that a command's --settings reads, for editors and checkers."""
    from offramp_base.settings import json_schema

    node, names = member(settings.words)
    node = node.itself if isinstance(node, CommandGroup) else node
    if node is None:
        raise SettingsError("words", "expected the words of a command", " ".join(settings.words))
    typer.echo(json.dumps(json_schema(f"offramp {' '.join(names)}", imported(node).classes), indent=2))
