# SPDX-License-Identifier: Apache-2.0
"""Ways to reach a host with a command: on this machine, by ssh, in a Slurm job, or in a laboratory's namespace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import join
from typing import Final

from offramp.cluster.model import ClusterHost, ClusterSwitch, parse_known_hosts
from offramp_base.arguments import host_name, label
from offramp_base.ending.owner import is_process
from offramp_base.errors import OfframpError

NAMESPACE: Final = "namespace:"
"""Prefix of ``PID.START.WHERE``, a process in the network namespace of a laboratory's host."""
_SSH: Final = {
    "BatchMode": "yes",
    "ConnectTimeout": "10",
    "StrictHostKeyChecking": "yes",
    "UpdateHostKeys": "no",
    "ForwardAgent": "no",
    "ClearAllForwardings": "yes",
    "PermitLocalCommand": "no",
    "RequestTTY": "no",
    "ServerAliveInterval": "15",
}
"""ssh's options: it asks nobody, it takes no key that it does not know, and the host gets nothing of this user's.

A host that does not answer for three intervals ends the connection.
"""


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
        OfframpError: the laboratory has ended, or the host's name or address is none that ssh and srun may see.
    """
    try:
        return _command_on(host, words, environment or {})
    except ValueError as error:
        raise OfframpError(f"{host.name}: {host.where}: {error}") from None


def shell_on(host: ClusterHost) -> list[str]:
    """Words of a command on a host; the last word of the whole is text for a shell there, which the caller appends.

    Raises:
        OfframpError: as :func:`command_on`.
    """
    try:
        if host.reach == "ssh":
            return [*_ssh(host), "--", host_name(host.where)]
        return _command_on(host, ["sh", "-c"], {})
    except ValueError as error:
        raise OfframpError(f"{host.name}: {host.where}: {error}") from None


def _command_on(host: ClusterHost | ClusterSwitch, words: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    assigned = [f"{name}={value}" for name, value in environment.items()]
    here = ["env", *assigned, *words] if assigned else list(words)
    if host.reach == "local":
        return here
    if host.reach == "ssh":
        return [*_ssh(host), "--", host_name(host.where), join(here)]
    if host.reach == "srun":
        return ["srun", "--overlap", "--nodes=1", "--ntasks=1", f"--nodelist={label(host.name)}", "--", *here]
    return [*_enter(host), *here]


def _ssh(host: ClusterHost | ClusterSwitch) -> list[str]:
    options = dict(_SSH)
    if isinstance(host, ClusterHost) and host.known_hosts is not None:
        keys = str(Path(parse_known_hosts(host.known_hosts)).absolute())
        options |= {"UserKnownHostsFile": parse_known_hosts(keys), "GlobalKnownHostsFile": "/dev/null"}
    return ["ssh", *(word for name, value in options.items() for word in ("-o", f"{name}={value}"))]


def _enter(host: ClusterHost | ClusterSwitch) -> list[str]:
    owner = str(host.reach).removeprefix(NAMESPACE)
    if not is_process(owner):
        raise OfframpError(f"{host.name}: its laboratory has ended: offramp lab up makes another one")
    pid = owner.split(".")[0]
    words = ["nsenter", f"--net=/proc/{pid}/ns/net"]
    if Path(f"/proc/{pid}/ns/user").readlink() != Path("/proc/self/ns/user").readlink():
        words += [f"--user=/proc/{pid}/ns/user", "--preserve-credentials"]
    return [*words, "--"]
