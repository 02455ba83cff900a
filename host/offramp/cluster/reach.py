# SPDX-License-Identifier: Apache-2.0
"""Ways to reach a host with a command: on this machine, by ssh, in a Slurm job, or in a laboratory's namespace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import join
from typing import Final

from offramp.cluster.model import ClusterHost, ClusterSwitch
from offramp_base.ending.owner import is_process
from offramp_base.errors import OfframpError

NAMESPACE: Final = "namespace:"
"""Prefix of ``PID.START.WHERE``, a process in the network namespace of a laboratory's host."""
_SSH: Final = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10")


def is_here(host: ClusterHost) -> bool:
    """Whether a host is this machine, or a laboratory's namespace on it, so that it has our files."""
    return host.reach == "local" or host.reach.startswith(NAMESPACE)


def command_on(
    host: ClusterHost | ClusterSwitch, words: Sequence[str], environment: Mapping[str, str] | None = None
) -> list[str]:
    """The command that runs ``words`` on a host, or on a switch, as its file says.

    Args:
        host: where.
        words: program and arguments.
        environment: variables that are set there.

    Raises:
        OfframpError: the laboratory has ended.
    """
    assigned = [f"{name}={value}" for name, value in (environment or {}).items()]
    here = ["env", *assigned, *words] if assigned else list(words)
    if host.reach == "local":
        return here
    if host.reach == "ssh":
        return [*_SSH, host.where, join(here)]
    if host.reach == "srun":
        return ["srun", "--overlap", "--nodes=1", "--ntasks=1", f"--nodelist={host.name}", *here]
    return [*_enter(host), *here]


def _enter(host: ClusterHost | ClusterSwitch) -> list[str]:
    owner = str(host.reach).removeprefix(NAMESPACE)
    if not is_process(owner):
        raise OfframpError(f"{host.name}: its laboratory has ended: offramp lab up makes another one")
    pid = owner.split(".")[0]
    words = ["nsenter", f"--net=/proc/{pid}/ns/net"]
    if Path(f"/proc/{pid}/ns/user").readlink() != Path("/proc/self/ns/user").readlink():
        words += [f"--user=/proc/{pid}/ns/user", "--preserve-credentials"]
    return [*words, "--"]
