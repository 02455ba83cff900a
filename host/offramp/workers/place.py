# SPDX-License-Identifier: Apache-2.0
"""The rank of this process, as torchrun, Slurm's srun or Open MPI's mpirun reports it to the processes that they start.

torchrun: https://pytorch.org/docs/stable/elastic/run.html#environment-variables;
srun: https://slurm.schedmd.com/srun.html#SECTION_OUTPUT-ENVIRONMENT-VARIABLES;
mpirun: https://docs.open-mpi.org/en/v5.0.x/tuning-apps/environment-var.html.
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
"""Range of ports for rank 0 under srun and mpirun, chosen by the job's number unless MASTER_PORT names a port."""
_OMPI: Final = "OMPI_COMM_WORLD_"
_GROUPS: Final = re.compile(r"(\d{1,9})(?:\(x(\d{1,9})\))?", re.ASCII)
"""Pattern of one part of a list such as ``2(x3),1``: three nodes with two tasks each, and one with a single task."""

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
        local: rank among those on this machine; 0 if the launcher does not say.
    """

    rank: int
    size: int
    on_machine: int
    rendezvous: str
    started: str
    local: int = 0

    def host(self, environment: Mapping[str, str]) -> str:
        """Host of rank 0."""
        if self.rendezvous == "env://":
            return environment["MASTER_ADDR"]
        return urlsplit(self.rendezvous).hostname or ""

    def port(self, environment: Mapping[str, str]) -> int:
        """Port of rank 0."""
        if self.rendezvous == "env://":
            return int(environment["MASTER_PORT"])
        return urlsplit(self.rendezvous).port or _FIRST_PORT


def find_place(environment: Mapping[str, str] = os.environ) -> LaunchedRank | None:
    """This process's place; None if neither torchrun, mpirun nor srun started it.

    If several sets of variables are present, torchrun's count before mpirun's, and these before srun's: each of them
    may have started the one before.

    Raises:
        OfframpError: a variable is missing or invalid.
    """
    if "RANK" in environment or "WORLD_SIZE" in environment:
        return _of_torchrun(environment)
    if f"{_OMPI}RANK" in environment:
        return _of_mpirun(environment)
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
    local = _number(environment, "torchrun", "LOCAL_RANK", 0, 0, size - 1)
    return LaunchedRank(rank, size, on_machine, "env://", f"torchrun started WORLD_SIZE={size}", local)


def _of_mpirun(environment: Mapping[str, str]) -> LaunchedRank:
    rank, size = _rank_of(environment, "mpirun", f"{_OMPI}RANK", f"{_OMPI}SIZE")
    on_machine = _number(environment, "mpirun", f"{_OMPI}LOCAL_SIZE", size, 1, size)
    local = _number(environment, "mpirun", f"{_OMPI}LOCAL_RANK", 0, 0, size - 1)
    if on_machine == size and "MASTER_ADDR" not in environment:
        address = "127.0.0.1"
    elif "MASTER_ADDR" in environment:
        address = _address(environment, "mpirun")
    else:
        raise OfframpError("MASTER_ADDR: not set: mpirun -x MASTER_ADDR=HOST says where rank 0 is")
    job = _number(environment, "mpirun", "OMPI_MCA_ess_base_jobid", 0, 0)
    port = _port(environment, "mpirun") if "MASTER_PORT" in environment else _FIRST_PORT + job % _PORTS
    started = f"mpirun started {_OMPI}SIZE={size}"
    return LaunchedRank(rank, size, on_machine, _tcp(address, port), started, local)


def _of_srun(environment: Mapping[str, str]) -> LaunchedRank:
    rank, size = _rank_of(environment, "srun", "SLURM_PROCID", "SLURM_NTASKS")
    listed = "SLURM_STEP_NODELIST" if "SLURM_STEP_NODELIST" in environment else "SLURM_NODELIST"
    nodes = _text(environment, "srun", listed)
    match = _NODES.match(nodes)
    if match is None:
        raise _refused(listed, nodes, "srun", "host names such as node[1-4]")
    first = "".join(part or "" for part in match.group("prefix", "first", "suffix"))
    address = _address(environment, "srun") if "MASTER_ADDR" in environment else first
    job = _number(environment, "srun", "SLURM_JOB_ID", 0, 0)
    port = _port(environment, "srun") if "MASTER_PORT" in environment else _FIRST_PORT + job % _PORTS
    on_machine = min(size, _tasks_here(environment, size))
    local = _number(environment, "srun", "SLURM_LOCALID", 0, 0, size - 1)
    started = f"srun started SLURM_NTASKS={size}"
    return LaunchedRank(rank, size, on_machine, _tcp(address, port), started, local)


def _tasks_here(environment: Mapping[str, str], size: int) -> int:
    """Tasks of the step on this node, of a list such as ``2(x3),1``."""
    name = "SLURM_STEP_TASKS_PER_NODE"
    if name not in environment or "SLURM_NODEID" not in environment:
        return _number(environment, "srun", "SLURM_NTASKS_PER_NODE", size, 1)
    node = _number(environment, "srun", "SLURM_NODEID", None, 0)
    text = _text(environment, "srun", name)
    for part in text.split(","):
        match = _GROUPS.fullmatch(part)
        if match is None:
            raise _refused(name, text, "srun", "numbers of tasks such as 2(x3),1")
        node -= int(match[2] or 1)
        if node < 0:
            return int(match[1])
    raise _refused(name, text, "srun", "a number for each node")


def _tcp(address: str, port: int) -> str:
    return f"tcp://[{address}]:{port}" if ":" in address else f"tcp://{address}:{port}"


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
