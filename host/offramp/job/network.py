# SPDX-License-Identifier: Apache-2.0
"""Contents of the file of ``OFFRAMP_NETWORK`` for ranks, for each way of summing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import yaml

from offramp.cluster.model import Cluster, ClusterHost, ClusterSwitch
from offramp.cluster.names import some
from offramp.job.settings import JobSettings
from offramp_base.errors import OfframpError


class ReductionNetwork(StrEnum):
    """The network that carries out a job's all-reduces."""

    GLOO = "gloo"
    SWITCH = "allreduce"
    HERMOD = "hermod"
    THEMIS = "themis"
    SYLVIE = "sylvie"


SUMS: Final = tuple(ReductionNetwork)
"""Ways of a program that sums, gloo first, which offloads nothing."""


@dataclass(frozen=True)
class Admitted:
    """A job as the switches know it: its number, and segments of a frame."""

    number: int
    segments: int


def network_text(
    way: ReductionNetwork,
    job: JobSettings,
    cluster: Cluster,
    hosts: Sequence[ClusterHost],
    known: Admitted | None,
    folder: Path,
    decided: Mapping[str, Any],
) -> str:
    """The settings of our backend of PyTorch; without offloads for gloo. ``folder`` gets links to sockets.

    ``decided`` are fields that the plan supposes.
    """
    fields: dict[str, Any] = {"offloads": [] if way is ReductionNetwork.GLOO else [str(way)]}
    if way is ReductionNetwork.THEMIS:
        fields["dimensions"] = cluster.origin
    elif way is ReductionNetwork.SYLVIE:
        fields["bits"] = job.bits
    elif way is ReductionNetwork.HERMOD:
        fields["interface"] = "lo" if hosts[0].reach == "local" else interface(cluster, hosts[0])
    elif way is ReductionNetwork.SWITCH:
        assert known is not None
        ports = [int(cluster.links_of[host.name][0].far(host.name).port) for host in hosts]
        fields |= {"link": _link(cluster, hosts, folder), "ports": ports, "job": known.number}
        fields |= {"pages": job.pages, "segments": known.segments}
    return str(yaml.safe_dump(fields | dict(decided), sort_keys=False))


def check_links(cluster: Cluster, hosts: Sequence[ClusterHost]) -> None:
    """Check that all ranks can name their links in one file.

    Raises:
        OfframpError: hosts' interfaces have several names, or their switches several transports, or hosts that are
            this machine are not on Unix sockets.
    """
    if hosts[0].reach == "local":
        _sockets(cluster, hosts)
        return
    names = {host.name: interface(cluster, host) for host in hosts}
    if len(set(names.values())) > 1:
        listed = some(f"{host} {name}" for host, name in names.items())
        raise OfframpError(f"{cluster.origin}: expected first interfaces of one name: {listed}")
    links = {host.name: link_on_interface(cluster, host) for host in hosts if cluster.links_of[host.name]}
    if len(set(links.values())) > 1:
        listed = some(f"{host} {link}" for host, link in links.items())
        raise OfframpError(f"{cluster.origin}: expected switches of one transport: {listed}")


def _link(cluster: Cluster, hosts: Sequence[ClusterHost], folder: Path) -> str:
    """The link that a rank opens to reach its switch; ``{rank}`` stands for its number."""
    if hosts[0].reach != "local":
        return link_on_interface(cluster, hosts[0])
    for rank, path in enumerate(_sockets(cluster, hosts)):
        name = folder.absolute() / f"port-{rank}"
        name.unlink(missing_ok=True)
        name.symlink_to(path)
    return f"unix:{folder.absolute()}/port-{{rank}}"


def _sockets(cluster: Cluster, hosts: Sequence[ClusterHost]) -> list[str]:
    """The socket of each host's port of a laboratory without namespaces.

    Raises:
        OfframpError: a switch that is not on Unix sockets.
    """
    return [socket_of_port(cluster, host) for host in hosts]


def socket_of_port(cluster: Cluster, host: ClusterHost) -> str:
    """The socket of the port that a host is at, in a laboratory without namespaces.

    Raises:
        OfframpError: a switch that is not on Unix sockets.
    """
    far = cluster.links_of[host.name][0].far(host.name)
    switch = cluster.by_name[far.node]
    control = switch.control if isinstance(switch, ClusterSwitch) else None
    if control is None or not control.startswith("unix:"):
        raise OfframpError(
            f"{cluster.place(host.name)}: {host.name}: is this machine: expected a switch on Unix sockets"
        )
    return f"{control.removeprefix('unix:').rpartition('/')[0]}/port{far.port}"


def link_on_interface(cluster: Cluster, host: ClusterHost) -> str:
    """The link that a process on a host opens to reach the switch at the host's first interface."""
    switch = cluster.by_name[cluster.links_of[host.name][0].far(host.name).node]
    return f"{switch.transport if isinstance(switch, ClusterSwitch) else 'af_packet'}:{interface(cluster, host)}"


def interface(cluster: Cluster, host: ClusterHost) -> str | None:
    """A host's first interface; None without links."""
    links = cluster.links_of[host.name]
    return str(links[0].near(host.name).port) if links else None
