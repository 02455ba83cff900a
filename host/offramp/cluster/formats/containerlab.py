# SPDX-License-Identifier: Apache-2.0
"""containerlab's topologies (``NAME.clab.yml``).

A node is a switch by the label ``offramp.target``, by a kind that is a network operating system, or, where it runs
Linux, by label, group, name or image, or because others hang on it. containerlab gives its links no rates: ours stand
in the links' ``vars``, and hosts set them with ``tc`` when they start.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import yaml

from offramp.cluster.formats import Defaults
from offramp.cluster.formats.build import build, clean, speed
from offramp.cluster.formats.roles import role_word, switches_among
from offramp.cluster.model import MOST_PROGRAM_PORTS, TARGETS, CableEnd, Cluster, ClusterSwitch
from offramp.cluster.names import some
from offramp_base.errors import OfframpError
from offramp_base.settings.source import Place, SourceFile, parse_source
from offramp_base.settings.units import BITS_PER_SECOND, nanoseconds_shown

_TARGET: Final = "offramp.target"
_ADDRESS: Final = "offramp.address"
_ROLE: Final = "role"
_HOST_IMAGE: Final = "alpine:3"
_SWITCH_IMAGE: Final = "p4lang/behavioral-model:latest"
_SONIC: Final = ("sonic-vs", "sonic-vm")
_LINUX: Final = ("linux", "ext-container", "host", "k8s-kind", "generic_vm")
_AROUND: Final = ("mgmt-net", "host", "macvlan")
"""What stands in place of a node where a link leaves the topology."""
_ROUTER_IMAGE: Final = re.compile("frr|sonic|bird|gobgp|cumulus|vyos|behavioral-model|openvswitch|quagga|holo")
_INTERFACE: Final = "[A-Za-z][A-Za-z0-9._-]{0,14}"
_MISSING: Final = "nodes of kind linux as hosts, joined by links over switches"


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
    given = _mapping(source, ("topology",), topology, "nodes")
    nodes = {str(name): _fields(source, topology, name, node) for name, node in given.items()}
    rows = topology.get("links")
    if rows is not None and not isinstance(rows, list):
        raise source.error(("topology", "links"), "expected a list")
    wires = [wire for i, row in enumerate(rows or []) if (wire := _wire(source, i, row)) is not None]
    neighbours: dict[str, set[str]] = {name: set() for name in nodes}
    for wire in wires:
        for k, (node, _) in enumerate(wire.ends):
            if node not in nodes:
                raise source.error((*wire.place, "endpoints", k), f"{node}: no such node")
            neighbours[node].add(wire.ends[1 - k][0])
    alone = [name for name, others in neighbours.items() if not others]
    if wires and alone:
        defaults.note(f"{path}: left out: {some(alone)}: without links to other nodes")
        nodes = {name: fields for name, fields in nodes.items() if neighbours[name]}
        neighbours = {name: others for name, others in neighbours.items() if others}
    switches = switches_among(neighbours, {name: _role(name, fields) for name, fields in nodes.items()})
    ports = _ports(source, wires, switches)
    links = [_link(wire, ports, switches, defaults) for wire in wires]
    parts = {
        "hosts": [_host(name, fields) for name, fields in nodes.items() if name not in switches],
        "switches": [_switch(name, fields) for name, fields in nodes.items() if name in switches],
        "links": links,
    }
    return build(path, str(source.data.get("name", "lab")), parts, defaults, _MISSING)


@dataclass(frozen=True, slots=True)
class _LabLink:
    """A link between two nodes: its place, node and interface of each end, and what it says of its speed."""

    place: Place
    ends: tuple[tuple[str, str], tuple[str, str]]
    speeds: dict[str, Any]


def _fields(source: SourceFile, topology: dict[str, Any], name: str, node: Any) -> dict[str, Any]:
    """The fields of a node, over those of its kind, its group and all nodes."""
    if node is not None and not isinstance(node, dict):
        raise source.error(("topology", "nodes", name), "expected fields by name")
    own: dict[str, Any] = node or {}
    usual = topology.get("defaults")
    fields = {**(usual if isinstance(usual, dict) else {})}
    for part, key in (("groups", own.get("group")), ("kinds", own.get("kind", fields.get("kind")))):
        shared = topology.get(part)
        row = shared.get(str(key)) if isinstance(shared, dict) else None
        fields |= row if isinstance(row, dict) else {}
    fields |= own
    if fields.get("labels") is not None:
        _mapping(source, ("topology", "nodes", name), fields, "labels")
    return fields


def _role(name: str, fields: dict[str, Any]) -> str | None:
    """``switch`` or ``host`` where the file says it; None for a Linux machine that can be either."""
    labels = fields.get("labels") or {}
    if _TARGET in labels:
        return "switch"
    if _ADDRESS in labels:
        return "host"
    kind = str(fields.get("kind", "linux"))
    if kind not in _LINUX:
        return "switch"
    words = (labels.get(_ROLE), labels.get("graph-icon"), fields.get("group"), name)
    role = next((role for word in words if word and (role := role_word(str(word)))), None)
    return role or ("switch" if _ROUTER_IMAGE.search(str(fields.get("image", ""))) else None)


def _host(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    labels = fields.get("labels") or {}
    address = labels.get(_ADDRESS) or fields.get("mgmt-ipv4") or fields.get("mgmt_ipv4")
    return {"name": name} | ({"address": str(address)} if address else {})


def _switch(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    labels, kind = fields.get("labels") or {}, str(fields.get("kind", "linux"))
    target = str(labels.get(_TARGET, "sonic" if kind in _SONIC else "plain"))
    return {"name": name, "target": target if target in TARGETS else "plain"}


def _wire(source: SourceFile, i: int, link: Any) -> _LabLink | None:
    """A link; None for one to the management network, to the machine around, or to nothing."""
    place: Place = ("topology", "links", i)
    if isinstance(link, dict) and str(link.get("type", "veth")) not in ("veth", "brief"):
        return None
    ends = link.get("endpoints") if isinstance(link, dict) else None
    if not isinstance(ends, list) or len(ends) != 2:
        raise source.error(place, "expected two endpoints, such as [h1:eth1, leaf1:eth1]")
    link_ends: list[tuple[str, str]] = []
    for k, end in enumerate(ends):
        words = [end.get("node"), end.get("interface")] if isinstance(end, dict) else str(end).split(":")
        if len(words) != 2 or not all(words):
            raise source.error((*place, "endpoints", k), "expected NODE:INTERFACE")
        link_ends.append((str(words[0]), str(words[1])))
    if any(node in _AROUND for node, _ in link_ends):
        return None
    extra = link.get("vars") if isinstance(link.get("vars"), dict) else {}
    speeds = {key: extra[key] for key in ("rate", "delay") if key in extra}
    return _LabLink(place, (link_ends[0], link_ends[1]), speeds)


def _ports(source: SourceFile, wires: list[_LabLink], switches: set[str]) -> dict[tuple[str, str], int]:
    """Ports of switches by interface: the last number of each where these differ, and else in order."""
    names: dict[str, list[str]] = {switch: [] for switch in switches}
    for wire in wires:
        for k, (node, interface) in enumerate(wire.ends):
            if node in switches:
                if not re.search("[0-9]", interface):
                    problem = f"{interface}: expected the number of a port in it"
                    raise source.error((*wire.place, "endpoints", k), problem)
                names[node].append(interface)
    ports: dict[tuple[str, str], int] = {}
    for switch, interfaces in names.items():
        numbers = [int(re.findall(r"[0-9]{1,9}", name)[-1]) for name in interfaces]
        if len(set(numbers)) < len(numbers) or not all(1 <= n <= MOST_PROGRAM_PORTS for n in numbers):
            if len(set(interfaces)) < len(interfaces):
                twice = next(name for name in interfaces if interfaces.count(name) > 1)
                raise source.error(("topology", "links"), f"{switch}:{twice} has two links")
            order = sorted(interfaces, key=lambda name: [int(n) for n in re.findall(r"[0-9]{1,9}", name)])
            numbers = [order.index(name) + 1 for name in interfaces]
        ports |= {(switch, name): n for name, n in zip(interfaces, numbers, strict=True)}
    return ports


def _link(wire: _LabLink, ports: dict[tuple[str, str], int], switches: set[str], defaults: Defaults) -> dict[str, Any]:
    ends = []
    for node, interface in wire.ends:
        if node in switches:
            ends.append(f"{node}:{ports[node, interface]}")
        else:
            ends.append(f"{node}:{interface}" if re.fullmatch(_INTERFACE, interface) else node)
    return {"ends": ends, **speed(defaults), **wire.speeds}


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
                    f"ip address add {host.address or f'10.0.{number // 254}.{number % 254 + 1}'}/16 dev {name}"
                )
            burst = max(32_000, link.rate_bps // 8 // 250)
            commands.append(f"tc qdisc add dev {name} root tbf rate {link.rate_bps}bit burst {burst} latency 50ms")
        labels = {_ROLE: "host"} | ({_ADDRESS: host.address} if host.address else {})
        nodes[host.name] = {"kind": "linux", "image": _HOST_IMAGE, "labels": labels, "exec": commands}
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
