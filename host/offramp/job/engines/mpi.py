# SPDX-License-Identifier: Apache-2.0
"""Open MPI's mpirun as the launcher of all ranks; its remote shell reaches each host as the cluster's file says.

Ranks need not be programs of MPI. https://www.open-mpi.org/doc/v4.1/man1/mpirun.1.php
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from shlex import join, quote
from typing import ClassVar, Final

from offramp.cluster.model import ClusterHost
from offramp.cluster.reach import shell_on
from offramp.job.engine import ENGINES, RankCommand, RankEngine, RankStart
from offramp_base.arguments import host_name
from offramp_base.ending.files import written
from offramp_base.errors import OfframpError

_FAILED: Final = re.compile(r"Process name: \[\[\d+,\d+\],(\d+)\]|process rank (\d+) with PID")
_SHELL: Final = "mpirun-shell"


@ENGINES.register("mpi")
class MpiEngine(RankEngine):
    """One mpirun for all ranks."""

    what = "Open MPI's mpirun"
    needs: ClassVar = ("mpirun",)
    together = True

    def commands(self, start: RankStart) -> list[RankCommand]:
        """One command, behind a remote shell that is written into the job's folder."""
        shell = start.folder.absolute() / _SHELL
        _write_shell(shell, start.hosts)
        hosts = ",".join(f"{_where(host)}:{host.processes}" for host in start.hosts)
        words = ["mpirun", "--host", hosts, "-np", str(len(start.own)), "--map-by", "slot", "--bind-to", "none"]
        words += ["--mca", "plm_rsh_agent", str(shell), "--mca", "plm_rsh_no_tree_spawn", "1"]
        words += ["--mca", "plm", "rsh", "--mca", "ras", "^slurm"]  # inside of a Slurm job, too
        if os.geteuid() == 0:
            words.append("--allow-run-as-root")
        if all(host.reach == "local" for host in start.hosts):
            words[2:3] = [f"localhost:{len(start.own)}"]
        return [RankCommand([*words, *start.launched()], range(len(start.own)), "mpirun.log")]

    def refuse(self, hosts: Sequence[ClusterHost]) -> str:
        """It takes a folder without blanks alone, which is checked when its shell is written."""
        here = {host.reach == "local" for host in hosts}
        return "expected hosts that are all this machine, or none of them" if len(here) > 1 else ""

    def failed_rank(self, said: str) -> int | None:
        """The rank of mpirun's message about the first process that failed."""
        match = _FAILED.search(said)
        return int(match[1] or match[2]) if match else None


def _where(host: ClusterHost) -> str:
    try:
        return host_name(host.where)
    except ValueError as error:
        raise OfframpError(f"{host.name}: {host.where}: {error}") from None


def _write_shell(path: Path, hosts: Sequence[ClusterHost]) -> None:
    """Write the program that mpirun calls with a host and the words of a command for it.

    Raises:
        OfframpError: a path that mpirun would split.
    """
    if re.search(r"\s", str(path)):
        raise OfframpError(f"{path.parent}: expected a folder without blanks in its path: mpirun splits them")
    rows = [f'{quote(_where(host))}) exec {join(shell_on(host))} "$*" ;;' for host in hosts]
    lines = [
        "#!/bin/sh",
        "# mpirun's remote shell: HOST WORD...; it reaches each host as the cluster's file says.",
        "host=$1",
        "shift",
        'case "$host" in',
        *rows,
        "esac",
        'echo "$host: not a host of this job" >&2',
        "exit 1",
    ]
    with written(path) as file:
        file.write(("\n".join(lines) + "\n").encode())
        os.fchmod(file.fileno(), 0o700)
