# SPDX-License-Identifier: Apache-2.0
"""containerlab's topologies (``NAME.clab.yml``).

A node is a switch by the label ``offramp.target``, or by a kind that is a network operating system. containerlab gives
its links no rates: ours stand in the links' ``vars``, and hosts set them with ``tc`` when they start.
"""

from __future__ import annotations

import re
from typing import Any, Final

import yaml

from offramp.cluster.formats import Defaults
from offramp.cluster.formats.build import build, clean, speed
from offramp.cluster.model import MOST_PORTS, TARGETS, CableEnd, Cluster, ClusterSwitch
from offramp_base.errors import OfframpError
from offramp_base.settings.source import Place, SourceFile, parse_source
from offramp_base.settings.units import BITS_PER_SECOND, nanoseconds_shown

_TARGET: Final = "offramp.target"
_HOST_IMAGE: Final = "alpine:3"
_SWITCH_IMAGE: Final = "p4lang/behavioral-model:latest"
_SONIC: Final = ("sonic-vs", "sonic-vm")
_NO_SWITCH: Final = ("linux", "ext-container", "host", "k8s-kind")


def read(files: list[tuple[str, str]], defaults: Defaults) -> Cluster:
    """Nodes and links of a topology.

    Raises:
        OfframpError: names the file and line.
    """
    (path, text), *more = files
    if more:
        raise OfframpError(f"{more[0][0]}: expected one topology")
    source = parse_source(text, path)
    topology = _mapping(source, (), source.data, "topology")
    nodes = _mapping(source, ("topology",), topology, "nodes")
    hosts: list[dict[str, Any]] = []
    switches: list[dict[str, Any]] = []
    for name, node in nodes.items():
        row = _node(source, topology, name, node)
        (switches if "target" in row else hosts).append(row)
    names = {row["name"] for row in switches}
    links = [_link(source, i, link, names, defaults) for i, link in enumerate(topology.get("links") or [])]
    return build(path, str(source.data.get("name", "lab")), {"hosts": hosts, "switches": switches, "links": links})


def _node(source: SourceFile, topology: dict[str, Any], name: str, node: Any) -> dict[str, Any]:
    if node is not None and not isinstance(node, dict):
        raise source.error(("topology", "nodes", name), "expected fields by name")
    own: dict[str, Any] = node or {}
    defaults = topology.get("defaults")
    fields = {**(defaults if isinstance(defaults, dict) else {}), **own}
    labels = _mapping(source, ("topology", "nodes", name), fields, "labels") if "labels" in fields else {}
    kind, row = str(fields.get("kind", "linux")), {"name": name}
    if _TARGET in labels or kind not in _NO_SWITCH:
        target = str(labels.get(_TARGET, "sonic" if kind in _SONIC else "plain"))
        return row | {"target": target if target in TARGETS else "plain", "ports": MOST_PORTS}
    address = labels.get("offramp.address") or fields.get("mgmt-ipv4")
    return row | ({"address": str(address)} if address else {})


def _link(source: SourceFile, i: int, link: Any, switches: set[str], defaults: Defaults) -> dict[str, Any]:
    place: Place = ("topology", "links", i)
    ends = link.get("endpoints") if isinstance(link, dict) else None
    if not isinstance(ends, list) or len(ends) != 2:
        raise source.error(place, "expected two endpoints, such as [h1:eth1, leaf1:eth1]")
    link_ends = []
    for k, end in enumerate(ends):
        words = [end.get("node"), end.get("interface")] if isinstance(end, dict) else str(end).split(":")
        if len(words) != 2 or not all(words):
            raise source.error((*place, "endpoints", k), "expected NODE:INTERFACE")
        node, interface = map(str, words)
        if node in switches:
            number = re.search(r"([0-9]{1,3})$", interface)
            if number is None:
                raise source.error((*place, "endpoints", k), f"{interface}: expected the number of a port in it")
            interface = number[1]
        link_ends.append(f"{node}:{interface}")
    extra = link.get("vars") if isinstance(link.get("vars"), dict) else {}
    speeds = {key: extra[key] for key in ("rate", "delay") if key in extra}
    return {"ends": link_ends, **speed(defaults), **speeds}


def _mapping(source: SourceFile, place: Place, data: Any, part: str) -> dict[str, Any]:
    mapping = data.get(part) if isinstance(data, dict) else None
    if not isinstance(mapping, dict):
        raise source.error((*place, part), "expected fields by name")
    return mapping


def write(cluster: Cluster) -> str:
    """A topology of Linux containers: hosts with addresses and rates, switches with bmv2's image.

    Raises:
        OfframpError: a switch's target has no container image.
    """
    nodes: dict[str, Any] = {}
    for number, host in enumerate(cluster.hosts):
        commands: list[str] = []
        for link in cluster.links_of[host.name]:
            name = _interface(cluster, link.near(host.name))
            if not commands:
                commands.append(
                    f"ip address add {host.address or f'10.0.{number >> 8}.{number % 254 + 1}'}/16 dev {name}"
                )
            burst = max(32_000, link.rate_bps // 8 // 250)
            commands.append(f"tc qdisc add dev {name} root tbf rate {link.rate_bps}bit burst {burst} latency 50ms")
        labels = {"labels": {"offramp.address": host.address}} if host.address else {}
        nodes[host.name] = {"kind": "linux", "image": _HOST_IMAGE, **labels, "exec": commands}
    for switch in cluster.switches:
        if switch.target not in ("v1model", "plain", "sonic"):
            raise OfframpError(f"{cluster.place(switch.name)}: {switch.name}: containerlab has no {switch.target}")
        kind = {"kind": "sonic-vs"} if switch.target == "sonic" else {"kind": "linux", "image": _SWITCH_IMAGE}
        nodes[switch.name] = {**kind, "labels": {_TARGET: switch.target}}
    links = [
        {
            "endpoints": [f"{end.node}:{_interface(cluster, end)}" for end in (link.a, link.b)],
            "vars": {"rate": BITS_PER_SECOND.shown(link.rate_bps), "delay": nanoseconds_shown(link.delay_ns)},
        }
        for link in cluster.links
    ]
    data = {"name": clean(cluster.name), "topology": {"nodes": nodes, "links": links}}
    return str(yaml.safe_dump(data, sort_keys=False, width=120))


def _interface(cluster: Cluster, end: CableEnd) -> str:
    """Containerlab keeps eth0 for itself."""
    if isinstance(cluster.by_name[end.node], ClusterSwitch):
        return f"eth{end.port}"
    position = [link.near(end.node) for link in cluster.links_of[end.node]].index(end)
    return f"eth{position + 1}"
