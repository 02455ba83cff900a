# SPDX-License-Identifier: Apache-2.0
"""The port of each switch towards each host, by which plain frames are forwarded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from offramp.cluster.model import Cluster, ClusterHost
from offramp_base.errors import OfframpError
from offramp_base.p4rt.session import Session

if TYPE_CHECKING:
    from offramp.fabric.model import Fabric  # by name only: it starts threads, before which a laboratory has to unshare

TABLES: Final = {
    "HermodIngress.forward.macs": "HermodIngress.forward.forward",
    "AllReduceIngress.bridge.macs": "AllReduceIngress.bridge.forward",
    "SwitchGnnIngress.bridge.macs": "SwitchGnnIngress.bridge.forward",
}
"""Tables of our programs from ``dst_addr`` to a port, and their actions; on Tofino their names begin with ``pipe.``."""
BASE_PROGRAMS: Final = {"v1model": "hermod/v1model.p4", "tna": "hermod/tna.p4"}
"""Base program by target, an Ethernet switch with strict queues: it runs on a laboratory's switch before a job
comes."""


def ports_of_hosts(fabric: Fabric) -> dict[str, dict[int, int]]:
    """Per switch, the port towards the first interface of each host, by that interface's MAC address.

    Raises:
        OfframpError: a host without an address where a switch should know it, or whose first link carries nothing;
            names file and line.
    """
    cluster = fabric.cluster
    ports: dict[str, dict[int, int]] = {each.name: {} for each in cluster.switches}
    for number, host in enumerate(cluster.hosts):
        links = cluster.links_of[host.name]
        if not links:
            continue
        nic = int(fabric.nics_of_host[number])
        if nic == len(fabric.nics) or fabric.cable(int(fabric.nics.up[nic])) is not links[0]:
            problem = f"{links[0].near(host.name)} has failed: expected the first link of a host to work"
            raise OfframpError(f"{cluster.place(host.name)}: {problem}, where its address is")
        for link in fabric.paths.towards(nic):
            name = fabric.nodes[fabric.ends[link, 0]]
            ports[name][mac_of(cluster, host)] = int(fabric.cable(link).near(name).port)
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
    table, action = _forwarding(session)
    return [session.table_entry(table, {"dst_addr": mac}, action, {"port": port}) for mac, port in ports.items()]


def reroute(session: Session, ports: dict[int, int]) -> None:
    """Change those entries of the running program that forward to hosts by other ports.

    Raises:
        OfframpError: a program that has no such table.
    """
    held = {
        int.from_bytes(each.match[0].exact.value, "big"): int.from_bytes(each.action.action.params[0].value, "big")
        for each in session.read_table(_forwarding(session)[0])
    }
    session.modify(entries(session, {mac: port for mac, port in ports.items() if held.get(mac, port) != port}))


def _forwarding(session: Session) -> tuple[str, str]:
    """The table of the running program that forwards plain frames, and its action."""
    for name, action in TABLES.items():
        for prefix in ("", "pipe."):
            if prefix + name in session.index.tables:
                return prefix + name, prefix + action
    raise OfframpError(f"switch {session.name}: its program forwards no plain frames")
