# SPDX-License-Identifier: Apache-2.0
"""The settings of a job file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Self

from offramp.cluster.model import Cluster, ClusterHost
from offramp.cluster.names import expand
from offramp.cluster.read import require
from offramp_base.arguments import word
from offramp_base.errors import OfframpError
from offramp_base.settings.check import check
from offramp_base.settings.document import Given, read_settings
from offramp_base.settings.error import SettingsError
from offramp_base.settings.field import Field
from offramp_base.settings.units import BYTES

_FILES: Final = ("train", "dgs", "torchgt", "unitg", "leo")
"""Fields that name a file in place of a command."""


def _assignment(text: str) -> str:
    if not text.partition("=")[0].isidentifier() or "=" not in text:
        raise ValueError("expected NAME=VALUE")
    return text


def _sbatch_option(text: str) -> str:
    if not re.fullmatch(r"--[a-z][a-z-]*(=[A-Za-z0-9][A-Za-z0-9._,:@/+\[\]-]*)?", text):
        raise ValueError("expected an option of sbatch such as --partition=gpu or --time=2:00:00")
    return text


@dataclass(frozen=True, kw_only=True)
class JobSettings:
    """A program of ``torch.distributed``, one process for each rank, and what is known of its communication."""

    name: Annotated[str, Field("Name of the job", parse=word)] = "job"
    command: Annotated[tuple[str, ...], Field("Program of every rank and its arguments")] = ()
    train: Annotated[
        Path | None, Field("Instead of command: settings of offramp train, full-graph training of a GNN")
    ] = None
    dgs: Annotated[Path | None, Field("The same of offramp train dgs, training on sampled neighbours")] = None
    torchgt: Annotated[Path | None, Field("The same of offramp train torchgt, a graph transformer")] = None
    unitg: Annotated[Path | None, Field("The same of offramp train unitg, a GNN with a language model")] = None
    leo: Annotated[Path | None, Field("Instead of command: requests of a LEO application")] = None
    hosts: Annotated[str | None, Field("Hosts that it runs on, h[1-4]; all by default")] = None
    environment: Annotated[tuple[str, ...], Field("NAME=VALUE for every rank", item=_assignment)] = ()
    all_reduce: Annotated[int, Field("Bytes of float32 that each rank sums in a step", least=0, unit=BYTES)] = 0
    collectives: Annotated[int, Field("All-reduces of a step", least=1, most=1_000_000)] = 1
    all_to_all: Annotated[int, Field("Bytes that each rank sends in all-to-alls in a step", least=0, unit=BYTES)] = 0
    exchanges: Annotated[int, Field("All-to-alls of a step", least=1, most=1_000_000)] = 1
    compute_s: Annotated[float, Field("Seconds of a step without communication", key="compute", least=0)] = 0.0
    steps: Annotated[int, Field("Steps of the job, for predictions", least=1)] = 1
    lossy: Annotated[bool, Field("Whether gradients may be summed in a few bits per value (Sylvie)")] = False
    bits: Annotated[int, Field("Bits of these values", least=1, most=8)] = 8
    pages: Annotated[int, Field("Pages of 256 slots of each switch", least=1, most=16)] = 1
    segments: Annotated[int, Field("Segments of 256 bytes in a frame of all-reduce, where switches are empty")] = 32
    port: Annotated[int, Field("Port at which rank 0 listens for the others", least=1024, most=65535)] = 29500
    deadline_s: Annotated[float, Field("Seconds that planning may take", key="deadline", above=0)] = 60.0
    wait_s: Annotated[
        float, Field("Seconds that it waits for room on switches that other jobs use", key="wait", least=0)
    ] = 0.0
    share: Annotated[bool, Field("Bring a program with room for jobs of other systems, where switches are empty")] = (
        False
    )
    queues: Annotated[
        Path | None, Field("Hermod's plan of queues for switches and hosts, a file that all of them see")
    ] = None
    fallback: Annotated[bool, Field("Run in the plain way where switches have no room, rather than fail")] = False
    slurm: Annotated[
        tuple[str, ...], Field("Further options of sbatch, such as --partition=gpu", item=_sbatch_option)
    ] = ()
    restarts: Annotated[int, Field("How often the job is restarted after a rank has died", least=0, most=100)] = 0

    def __post_init__(self) -> None:
        check(self)
        files = [name for name in _FILES if getattr(self, name) is not None]
        if not self.command and not files:
            raise SettingsError("command", f"expected a program, or one of {', '.join(_FILES)}")
        if self.segments not in (1, 4, 32):
            raise SettingsError("segments", "expected 1, 4 or 32", self.segments)

    @classmethod
    def read(cls, path: Path) -> Self:
        """A job from a YAML or TOML file.

        Raises:
            OfframpError: names file, line and field.
        """
        file_settings: dict[str, Given] = read_settings(path, (cls,))
        values = {name: each.value for name, each in file_settings.items()}
        names = [name for name in ("command", *_FILES) if values.get(name)]
        if len(names) > 1:
            raise OfframpError(f"{file_settings[names[1]].place}: {names[1]}: goes without {names[0]}")
        paths = (*_FILES, "queues")
        values |= {name: path.parent / values[name] for name in paths if values.get(name) is not None}
        try:
            return cls(**values)
        except SettingsError as error:
            place = file_settings[error.field].place if error.field in file_settings else str(path)
            raise OfframpError(f"{place}: {error}") from None

    @property
    def communicates(self) -> bool:
        """Whether the job says what its program sums or exchanges."""
        return bool(self.all_reduce or self.all_to_all)

    @property
    def shares(self) -> bool:
        """Whether the job brings the program that carries several systems."""
        return self.share or self.queues is not None

    @property
    def kind(self) -> str:
        """The field of the file that names the job's program."""
        return next((name for name in _FILES if getattr(self, name) is not None), "command")

    @property
    def file(self) -> Path | None:
        """The path in the field :attr:`kind`; None for a job with a command."""
        if self.kind == "command":
            return None
        path: Path = getattr(self, self.kind)
        return path

    def hosts_of(self, cluster: Cluster) -> list[ClusterHost]:
        """The hosts that it runs on, in the cluster's order.

        Raises:
            OfframpError: one that the cluster lacks, or none with a rank.
        """
        names = [host.name for host in cluster.hosts] if self.hosts is None else expand(self.hosts)
        require(cluster, names)
        hosts = [host for host in cluster.hosts if host.name in set(names) and host.processes]
        if not hosts:
            raise OfframpError(f"{cluster.origin}: no host of {self.name} has ranks")
        return hosts
