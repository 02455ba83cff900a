# SPDX-License-Identifier: Apache-2.0
"""``offramp cluster import`` and ``export``: other programs' files."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from offramp_base import Field
from offramp_base.errors import printable
from offramp_base.settings import BITS_PER_SECOND
from offramp_base.settings.units import nanoseconds
from offramp_cli.command import command
from offramp_cli.result import OUTPUT, write_file


def _imports() -> dict[str, str]:
    from offramp.cluster.formats import IMPORTS

    return IMPORTS


def _exports() -> dict[str, str]:
    from offramp.cluster.formats import EXPORTS

    return EXPORTS


@dataclass(frozen=True)
class Import:
    """The files that are read, and defaults for what they leave out."""

    format: Annotated[str, Field("Format of the files", choices=_imports, position=True)]
    files: Annotated[tuple[Path, ...], Field("The files; some formats take several", position=True)]
    rate: Annotated[int, Field("Rate of links for which the files give none", unit=BITS_PER_SECOND)] = 10**10
    delay: Annotated[
        float, Field("Delay of links for which the files give none", parse=nanoseconds, shown_default="0")
    ] = 0.0
    flat: Annotated[bool, Field("Join by one switch what the files leave apart")] = False
    oversubscription: Annotated[
        float, Field("What is below a switch, as a multiple of what its links up carry", least=1, most=1e6)
    ] = 1.0


@dataclass(frozen=True)
class Export:
    """A cluster file, and the format in which it is written."""

    format: Annotated[str, Field("Format to write", choices=_exports, position=True)]
    cluster: Annotated[Path, Field("A cluster file, YAML or TOML", position=True)]


@dataclass(frozen=True)
class Out:
    """The destination of the result."""

    out: Annotated[
        Path | None,
        Field("Write this file", group=OUTPUT, written=True, shown_default="standard output"),
    ] = None

    def write(self, text: str) -> None:
        """Write the text, or print it."""
        if self.out is None:
            typer.echo(text, nl=False)
        else:
            write_file("out", self.out, text)


@command(Import, Out, example="cluster import slurm nodes.txt topology.conf --rate 100gbit --out cluster.yaml")
def import_(given: Import, to: Out) -> None:
    """Make a cluster file from files of schedulers, simulators, emulators, NCCL, InfiniBand or LLDP.

    Slurm's LinkSpeed is a rate such as 200gbit, or a number of Gbit/s.
    """
    from offramp.cluster.formats import Defaults, import_cluster
    from offramp.cluster.write import cluster_text

    def note(line: str) -> None:
        sys.stderr.write(f"{printable(line)}\n")

    defaults = Defaults(given.rate, given.delay, given.flat, given.oversubscription, note)
    to.write(cluster_text(import_cluster(given.format, list(given.files), defaults)))


@command(Export, Out, example="cluster export containerlab cluster.yaml --out lab.clab.yml")
def export(given: Export, to: Out) -> None:
    """Write a cluster file as a topology for containerlab or p4-utils."""
    from offramp.cluster import read_cluster
    from offramp.cluster.formats import export_cluster

    to.write(export_cluster(given.format, read_cluster(given.cluster)))
