# SPDX-License-Identifier: Apache-2.0
"""Kubernetes: the nodes of ``kubectl get nodes -o json`` or ``-o yaml``, and what their labels say of the network.

A node is below one switch for each label of its family, the nearest first: NVIDIA's Topograph, Google's and Amazon's
placement, or racks. What these leave apart, zones and regions join.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address
from itertools import count
from typing import Any, Final

from offramp.cluster.formats import Defaults
from offramp.cluster.formats.build import build, clean
from offramp.cluster.formats.tree import TreeSwitch, tree
from offramp.cluster.model import Cluster
from offramp.cluster.names import some
from offramp_base.documents import parse_json, parse_yaml
from offramp_base.errors import OfframpError
from offramp_base.settings.units import BYTES

Labels = dict[str, Any]
Level = tuple[str, str]
Chain = tuple[Level, ...]
_NVIDIA: Final = "network.topology.nvidia.com"
_GOOGLE: Final = "cloud.google.com/gce-topology"
_AMAZON: Final = "topology.k8s.aws/network-node-layer"
_FAMILIES: Final = (
    (f"{_NVIDIA}/leaf", f"{_NVIDIA}/block", f"{_NVIDIA}/spine", f"{_NVIDIA}/core", f"{_NVIDIA}/datacenter"),
    (f"{_GOOGLE}-subblock", f"{_GOOGLE}-block"),
    (f"{_AMAZON}-3", f"{_AMAZON}-2", f"{_AMAZON}-1"),
    ("topology.kubernetes.io/rack",),
    (f"{_NVIDIA}/accelerator",),
    ("nvidia.com/gpu.clique",),
    (f"{_GOOGLE}-host",),
)
"""Labels from the switch nearest to a node upwards; of several families the first that a node has any of."""
_JOINING: Final = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
_GPUS: Final = ("nvidia.com/gpu", "amd.com/gpu")
_CONTROL: Final = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
_MISSING: Final = f"labels that join the nodes, such as {_NVIDIA}/leaf and /spine or topology.kubernetes.io/zone"


@dataclass(frozen=True, slots=True)
class _LabelledNode:
    row: dict[str, Any]
    labels: Labels
    controls: bool
    where: str


def read(files: list[tuple[str, str]], defaults: Defaults) -> Cluster:
    """Nodes as hosts, labels of topology as switches.

    Raises:
        OfframpError: names the file and the node, or what is missing.
    """
    nodes = [_node(f"{path}: items[{i}]", item) for path, text in files for i, item in enumerate(_items(path, text))]
    workers = [node for node in nodes if not node.controls]
    if workers and len(workers) < len(nodes):
        names = some(node.row["name"] for node in nodes if node.controls)
        defaults.note(f"{files[0][0]}: left out: {names}: they run the control plane, without GPUs")
        nodes = workers
    switches, links = tree(_branches(nodes), defaults)
    parts = {"hosts": [node.row for node in nodes], "switches": switches, "links": links}
    return build(files[0][0], "kubernetes", parts, defaults, _MISSING)


def _branches(nodes: list[_LabelledNode]) -> dict[str, TreeSwitch]:
    """A switch for each value of a label; values that are the same below different ones are different switches."""
    chains = [_chain(node.labels) for node in nodes]
    longer: dict[Level, set[Chain]] = defaultdict(set)
    for chain in chains:
        for k in range(len(chain) - 1):
            longer[chain[k]].add(chain[k:])
    names: dict[Chain, str] = {}
    taken = {str(node.row["name"]) for node in nodes}
    branches: dict[str, TreeSwitch] = {}
    for node, chain in zip(nodes, chains, strict=True):
        below = str(node.row["name"])
        while chain:
            # Another node may say more of what is above.
            chain = max((other for other in longer[chain[0]] if set(chain) < set(other)), default=chain, key=len)
            if chain not in names:
                names[chain] = next(name for name in _names(chain) if name not in taken)
                taken.add(names[chain])
            known = names[chain] in branches
            branch = branches.setdefault(names[chain], TreeSwitch(node.where))
            children = branch.switches if below in branches else branch.hosts
            if below not in children:
                children.append(below)
            if known and children is branch.switches:
                break
            below, chain = names[chain], chain[1:]
    _drop_tops(branches)
    return branches


def _chain(labels: Labels) -> Chain:
    """The labels of a node that are about its place, the nearest first."""
    family = next((keys for keys in _FAMILIES if any(labels.get(key) for key in keys)), ())
    return tuple((key, str(labels[key])) for key in (*family, *_JOINING) if labels.get(key))


def _names(chain: Chain) -> Iterator[str]:
    """Names for a switch, the shortest first."""
    (label, value), *above = chain
    yield clean(value)
    if above:
        yield clean(f"{value[:30]}-{above[0][1][:30]}")
    for n in count(1):
        yield clean(f"{re.split('[/.-]', label)[-1]}-{value[:30]}-{n}")


def _drop_tops(branches: dict[str, TreeSwitch]) -> None:
    """Leave out switches at the top that join nothing."""
    while True:
        below = {name for branch in branches.values() for name in branch.switches}
        tops = [name for name in branches if name not in below]
        if len(tops) != 1 or branches[tops[0]].hosts or len(branches[tops[0]].switches) != 1:
            return
        del branches[tops[0]]


def _items(path: str, text: str) -> list[Any]:
    try:
        data = parse_json(text) if text.lstrip().startswith("{") else parse_yaml(text)
    except OfframpError as error:
        raise OfframpError(f"{path}: {error}") from None
    if isinstance(data, dict) and data.get("kind") == "Node":
        return [data]
    items = data.get("items") if isinstance(data, dict) else None
    if not isinstance(items, list) or not items:
        raise OfframpError(f"{path}: expected items, as kubectl get nodes -o json prints them")
    return items


def _node(where: str, item: Any) -> _LabelledNode:
    metadata, spec, status = (_mapping(where, item, part) for part in ("metadata", "spec", "status"))
    name = metadata.get("name")
    if not isinstance(name, str):
        raise OfframpError(f"{where}: metadata.name: expected a name")
    row: dict[str, Any] = {"name": name}
    address = _address(status.get("addresses"))
    row |= {"address": address} if address else {}
    capacity = _mapping(where, status, "allocatable") or _mapping(where, status, "capacity")
    if "cpu" in capacity:
        row["cores"] = _cores(f"{where}: cpu", str(capacity["cpu"]))
    if "memory" in capacity:
        row["memory"] = _bytes(f"{where}: memory", str(capacity["memory"]))
    for key in _GPUS:
        if re.fullmatch(r"[0-9]{1,4}", str(capacity.get(key, ""))):
            row["gpus"] = row.get("gpus", 0) + int(str(capacity[key]))
    labels, taints = _mapping(where, metadata, "labels"), spec.get("taints")
    keys = {str(each.get("key")) for each in taints if isinstance(each, dict)} if isinstance(taints, list) else set()
    controls = not row.get("gpus") and any(key in labels or key in keys for key in _CONTROL)
    return _LabelledNode(row, labels, controls, where)


def _address(addresses: Any) -> str | None:
    """The first internal IPv4 address."""
    for each in addresses if isinstance(addresses, list) else []:
        if isinstance(each, dict) and each.get("type") == "InternalIP":
            try:
                return str(IPv4Address(str(each.get("address"))))
            except (AddressValueError, ValueError):
                continue
    return None


def _cores(where: str, text: str) -> int:
    match = re.fullmatch(r"([0-9]{1,9})(?:\.[0-9]{1,9})?(m?)", text)
    if match is None:
        raise OfframpError(f"{where} {text[:40]}: expected cores such as 64 or 63500m")
    return max(1, int(match[1]) // (1000 if match[2] else 1))


def _bytes(where: str, text: str) -> int:
    """A quantity of Kubernetes, which knows thousandths of bytes."""
    try:
        return int(text[:-1]) // 1000 if re.fullmatch(r"[0-9]{1,18}m", text) else BYTES.parse(text)
    except ValueError as error:
        raise OfframpError(f"{where} {text[:40]}: {error}") from None


def _mapping(where: str, data: Any, part: str) -> dict[str, Any]:
    mapping = data.get(part) if isinstance(data, dict) else None
    if mapping is None:
        return {}
    if not isinstance(mapping, dict):
        raise OfframpError(f"{where}: {part}: expected fields by name")
    return mapping
