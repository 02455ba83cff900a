# SPDX-License-Identifier: Apache-2.0
"""The rank of this process, as torchrun or Slurm's srun reports it to the processes that they start.

torchrun: https://pytorch.org/docs/stable/elastic/run.html#environment-variables;
srun: https://slurm.schedmd.com/srun.html#SECTION_OUTPUT-ENVIRONMENT-VARIABLES.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from offramp_base.errors import OfframpError
from offramp_base.numerals import whole_number

_MOST_PORT: Final = 65535
_FIRST_PORT, _PORTS = 20_000, 10_000
"""Range of ports for rank 0 of a Slurm step, chosen by the job's number unless MASTER_PORT names a port."""

_NODES: Final = re.compile(
    r"(?P<prefix>[\w.-]+)(?:\[(?P<first>\d+)(?:-\d+)?(?:,\d+(?:-\d+)?)*\](?P<suffix>[\w.-]*))?(?:,|$)", re.ASCII
)
"""Pattern of the first entry of a list such as ``node[03-07,12],login1``."""


@dataclass(frozen=True, slots=True)
class LaunchedRank:
    """A process among those that a launcher started.

    Attributes:
        rank: rank of this process, from 0.
        size: number of processes.
        on_machine: number of them on this machine; ``size`` if the launcher does not say.
        rendezvous: rendezvous, a URL of ``torch.distributed.init_process_group``.
        started: a phrase for messages: ``torchrun started WORLD_SIZE=2``.
    """

    rank: int
    size: int
    on_machine: int
    rendezvous: str
    started: str

    def host(self, environment: Mapping[str, str]) -> str:
        """Host of rank 0."""
        if self.rendezvous == "env://":
            return environment["MASTER_ADDR"]
        return urlsplit(self.rendezvous).hostname or ""


def find_place(environment: Mapping[str, str] = os.environ) -> LaunchedRank | None:
    """This process's place; None if neither torchrun nor srun started it.

    If both sets of variables are present, torchrun's count, since srun may have started torchrun.

    Raises:
        OfframpError: a variable is missing or invalid.
    """
    if "RANK" in environment or "WORLD_SIZE" in environment:
        return _of_torchrun(environment)
    if "SLURM_PROCID" in environment and not _is_batch_script(environment):
        return _of_srun(environment)
    return None


def leads() -> bool:
    """Whether this process is rank 0, which prints and writes files; true if no launcher started it."""
    place = find_place()
    return place is None or place.rank == 0


def ranks_here(ranks: int) -> int:
    """Number of a run's ``ranks`` that share this machine's memory."""
    place = find_place()
    return ranks if place is None else place.on_machine


def _is_batch_script(environment: Mapping[str, str]) -> bool:
    """Whether sbatch started this process: it has the variables of rank 0, but no other rank will come."""
    return environment.get("ENVIRONMENT") == "BATCH" and "SLURM_STEP_ID" not in environment


def _of_torchrun(environment: Mapping[str, str]) -> LaunchedRank:
    rank, size = _rank_of(environment, "torchrun", "RANK", "WORLD_SIZE")
    _address(environment, "torchrun")
    _port(environment, "torchrun")
    on_machine = _number(environment, "torchrun", "LOCAL_WORLD_SIZE", size, 1, size)
    return LaunchedRank(rank, size, on_machine, "env://", f"torchrun started WORLD_SIZE={size}")


def _of_srun(environment: Mapping[str, str]) -> LaunchedRank:
    rank, size = _rank_of(environment, "srun", "SLURM_PROCID", "SLURM_NTASKS")
    nodes = _text(environment, "srun", "SLURM_NODELIST")
    match = _NODES.match(nodes)
    if match is None:
        raise _refused("SLURM_NODELIST", nodes, "srun", "host names such as node[1-4]")
    first = "".join(part or "" for part in match.group("prefix", "first", "suffix"))
    address = _address(environment, "srun") if "MASTER_ADDR" in environment else first
    job = _number(environment, "srun", "SLURM_JOB_ID", 0, 0)
    port = _port(environment, "srun") if "MASTER_PORT" in environment else _FIRST_PORT + job % _PORTS
    on_machine = _number(environment, "srun", "SLURM_NTASKS_PER_NODE", size, 1)
    host = f"[{address}]" if ":" in address else address
    return LaunchedRank(rank, size, min(size, on_machine), f"tcp://{host}:{port}", f"srun started SLURM_NTASKS={size}")


def _rank_of(environment: Mapping[str, str], launcher: str, rank: str, size: str) -> tuple[int, int]:
    ranks = _number(environment, launcher, size, None, 1)
    return _number(environment, launcher, rank, None, 0, ranks - 1), ranks


def _address(environment: Mapping[str, str], launcher: str) -> str:
    address = _text(environment, launcher, "MASTER_ADDR")
    if not re.fullmatch(r"[\w.:-]+", address, re.ASCII):
        raise _refused("MASTER_ADDR", address, launcher, "a host name or an address")
    return address


def _port(environment: Mapping[str, str], launcher: str) -> int:
    return _number(environment, launcher, "MASTER_PORT", None, 1, _MOST_PORT)


def _number(
    environment: Mapping[str, str], launcher: str, name: str, default: int | None, least: int, most: int | None = None
) -> int:
    if default is not None and name not in environment:
        return default
    text = _text(environment, launcher, name)
    number = whole_number(text)
    if number is None or number < least or (most is not None and number > most):
        raise _refused(name, text, launcher, f"at least {least}" if most is None else f"{least} to {most}")
    return number


def _text(environment: Mapping[str, str], launcher: str, name: str) -> str:
    text = environment.get(name, "")
    if not text:
        raise OfframpError(f"{name}: not set, which {launcher} sets for each process that it starts")
    return text


def _refused(name: str, text: str, launcher: str, expected: str) -> OfframpError:
    return OfframpError(f"{name} {text}: expected {expected}, as {launcher} sets it")
