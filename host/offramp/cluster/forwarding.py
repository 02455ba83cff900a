# SPDX-License-Identifier: Apache-2.0
"""The port of each switch towards each host, by which plain frames are forwarded."""

from __future__ import annotations

from typing import Any, Final

from offramp.cluster.model import Cluster, ClusterHost
from offramp.cluster.routes import next_links
from offramp_base.errors import OfframpError
from offramp_base.p4rt.session import Session

TABLES: Final = {
    "HermodIngress.forward.macs": "HermodIngress.forward.forward",
    "AllReduceIngress.bridge.macs": "AllReduceIngress.bridge.forward",
    "SwitchGnnIngress.bridge.macs": "SwitchGnnIngress.bridge.forward",
}
"""Tables of our programs from ``dst_addr`` to a port, and their actions; on Tofino their names begin with ``pipe.``."""
BASE_PROGRAMS: Final = {"v1model": "hermod/v1model.p4", "tna": "hermod/tna.p4"}
"""Base program by target, an Ethernet switch with strict queues: it runs on a laboratory's switch before a job
comes."""


def ports_of_hosts(cluster: Cluster) -> dict[str, dict[int, int]]:
    """Per switch, the port towards each host that has a MAC address, by that address.

    Raises:
        OfframpError: a host without an address where a switch should know it; names file and line.
    """
    ports: dict[str, dict[int, int]] = {each.name: {} for each in cluster.switches}
    for host in cluster.hosts:
        steps = next_links(cluster, host.name)
        for name, known in ports.items():
            if name in steps:
                known[mac_of(cluster, host)] = int(steps[name].near(name).port)
    return ports


def mac_of(cluster: Cluster, host: ClusterHost) -> int:
    """The address of a host's first interface.

    Raises:
        OfframpError: the file does not say it.
    """
    if host.mac is None:
        raise OfframpError(f"{cluster.place(host.name)}: {host.name}: expected mac, so that switches forward to it")
    return int(host.mac.replace(":", ""), 16)


def entries(session: Session, ports: dict[int, int]) -> list[Any]:
    """Table entries of the running program that forward to hosts.

    Raises:
        OfframpError: a program that has no such table.
    """
    tables = session.index.tables
    for name, action in TABLES.items():
        for prefix in ("", "pipe."):
            if prefix + name in tables:
                return [
                    session.table_entry(prefix + name, {"dst_addr": mac}, prefix + action, {"port": port})
                    for mac, port in ports.items()
                ]
    raise OfframpError(f"switch {session.name}: its program forwards no plain frames")
