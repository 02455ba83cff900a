# SPDX-License-Identifier: Apache-2.0
"""``offramp switch shims``: launchers with the names of bmv2's and p4c's programs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from offramp_base import Field
from offramp_cli.command import command


@dataclass(frozen=True)
class Folder:
    """The folder for the launchers."""

    folder: Annotated[Path, Field("Folder for the launchers; put it first on PATH", position=True)]
    python: Annotated[Path | None, Field("Also write p4.tmp.p4config_pb2 here; put it first on PYTHONPATH")] = None


@command(Folder, example="switch shims ~/p4/bin")
def shims(settings: Folder) -> None:
    """Write launchers named simple_switch, simple_switch_grpc, simple_switch_CLI, p4c and p4c-bm2-* that run ours.

    They take the options of bmv2 and p4c; those that mean nothing here are accepted and named on standard error.
    """
    import offramp_base
    import offramp_p4
    import offramp_p4_tools
    from offramp_p4_tools import write_shims

    parents = {
        str(Path(package.__file__).parents[1])
        for package in (offramp_base, offramp_p4, offramp_p4_tools)
        if package.__file__
    }
    search = sorted(parent for parent in parents if Path(parent).name != "site-packages")
    for path in write_shims(settings.folder, search):
        typer.echo(path)
    if settings.python is not None:
        from offramp_p4_tools.dropin.config_module import write_config_module

        for path in write_config_module(settings.python):
            typer.echo(path)
