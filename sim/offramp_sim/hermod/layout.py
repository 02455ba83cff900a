# SPDX-License-Identifier: Apache-2.0
"""Switches between NICs and their tables: one switch, leaves and spines, or any fabric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from offramp.hermod.factors import CType
from offramp_base.errors import OfframpError
from offramp_sim.hermod.flow.fabric import BisectionFabric
from offramp_sim.hermod.flow.routed import RoutedFabric
from offramp_sim.hermod.framing import NicAddress

NIC_PORT = 0


class LayoutCable(NamedTuple):
    """A cable between two ports; a NIC is a node of one port, called ``nic`` and its number."""

    a: str
    a_port: int
    b: str
    b_port: int
    rate_bps: float
    delay_ns: float


@dataclass(frozen=True)
class SwitchLayout:
    """What switches there are, how they forward, and what joins them.

    Attributes:
        ports: by switch, the port for each Ethernet address.
        cables: cables, in the fabric's order where there is one.
        at: switch and port of each NIC; None where its cable leads to another NIC.
    """

    ports: dict[str, dict[int, int]]
    cables: list[LayoutCable]
    at: list[tuple[str, int] | None]


def layout_of(fabric: BisectionFabric, delay_ns: float) -> SwitchLayout:
    """The switches of a fabric of the flow level; ``delay_ns`` counts where it has no delays of its own.

    Raises:
        OfframpError: packets of a flow would take several paths.
    """
    return _routed(fabric) if isinstance(fabric, RoutedFabric) else _tree(fabric, delay_ns)


def _in_order(routing: str, expected: str) -> OfframpError:
    return OfframpError(f"routing {routing}: packets of a flow must stay in order here, expected {expected}")


def _tree(fabric: BisectionFabric, delay_ns: float) -> SwitchLayout:
    if fabric.leaves > 1 and fabric.routing != "ecmp":
        raise _in_order(fabric.routing, "ecmp")
    leaves, each = fabric.leaves, fabric.leaf
    rate = fabric.bytes_per_s * 8
    paths = range(each if leaves > 1 else 1)
    ports = {
        f"leaf{leaf}": {
            NicAddress(nic, path).mac: nic % each if nic // each == leaf else each + path
            for nic in range(fabric.count)
            for path in paths
        }
        for leaf in range(leaves)
    }
    at = [(f"leaf{nic // each}", nic % each) for nic in range(fabric.count)]
    cables = [LayoutCable(f"nic{nic}", NIC_PORT, leaf, port, rate, delay_ns) for nic, (leaf, port) in enumerate(at)]
    for spine in paths if leaves > 1 else ():
        ports[f"spine{spine}"] = {NicAddress(nic, spine).mac: nic // each for nic in range(fabric.count)}
        cables += [
            LayoutCable(f"leaf{leaf}", each + spine, f"spine{spine}", leaf, rate, delay_ns) for leaf in range(leaves)
        ]
    return SwitchLayout(ports, cables, list(at))


def _routed(routed: RoutedFabric) -> SwitchLayout:
    fabric = routed.fabric
    routing = fabric.cluster.routing
    if routing not in ("destination", "ecmp"):
        raise _in_order(routing, "destination or ecmp")
    nics, hosts = fabric.nics, fabric.hosts
    nic_of = {link: f"nic{nic}" for nic, link in enumerate(nics.up.tolist())}

    def end(link: int) -> tuple[str, int]:
        """The node and the port from which a link leads."""
        node = fabric.nodes[fabric.ends[link, 0]]
        return (nic_of[link], NIC_PORT) if link in nic_of else (node, int(fabric.cable(link).near(node).port))

    cables = [
        LayoutCable(*end(link), *end(link + 1), float(fabric.rate_bps[link]), float(fabric.delay_ns[link]))
        for link in range(0, len(fabric.ends), 2)
        if fabric.works[link]
    ]
    ports: dict[str, dict[int, int]] = {fabric.nodes[k]: {} for k in range(hosts, len(fabric.nodes))}
    if routing == "destination":
        for nic in range(len(nics)):
            for link in fabric.paths.towards(nic):
                name, port = end(link)
                ports[name][NicAddress(nic).mac] = port
    else:
        a, b = (each.ravel() for each in np.indices((len(nics),) * 2))
        joined = (nics.host[a] != nics.host[b]) & (fabric.paths.between(a, b) < len(fabric.ends))
        a, b = a[joined], b[joined]
        for ctype in CType:
            for path, links, _ in routed.walk(a, b, int(ctype)):
                for p, k in zip(path.tolist(), links.tolist(), strict=True):
                    name, port = end(k)
                    if k not in nic_of:
                        ports[name][NicAddress(int(b[p]), int(a[p]) * len(CType) + int(ctype)).mac] = port
    at = [None if far < hosts else end(down) for far, down in zip(nics.far.tolist(), nics.down.tolist(), strict=True)]
    return SwitchLayout(ports, cables, at)
