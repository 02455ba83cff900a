# SPDX-License-Identifier: Apache-2.0
"""Kubernetes: the nodes of ``kubectl get nodes -o json`` or ``-o yaml``.

Racks follow from the labels ``network.topology.nvidia.com/leaf`` and ``…/spine``, which NVIDIA's Topograph sets, or
from ``topology.kubernetes.io/rack``; without them there are hosts alone.
"""

from __future__ import annotations

import re
from typing import Any, Final

from offramp.cluster.formats import Defaults
from offramp.cluster.formats.build import build, clean, speed
from offramp.cluster.model import Cluster
from offramp_base.documents import parse_json, parse_yaml
from offramp_base.errors import OfframpError
from offramp_base.settings.units import BYTES

_LEAVES: Final = ("network.topology.nvidia.com/leaf", "topology.kubernetes.io/rack")
_SPINE: Final = "network.topology.nvidia.com/spine"
_GPUS: Final = ("nvidia.com/gpu", "amd.com/gpu")


def read(files: list[tuple[str, str]], defaults: Defaults) -> Cluster:
    """Nodes as hosts, labels of topology as switches.

    Raises:
        OfframpError: names the file and the node.
    """
    hosts, links = [], []
    leaves: dict[str, str] = {}
    degree: dict[str, int] = {}
    for path, text in files:
        for i, item in enumerate(_items(path, text)):
            row, labels = _host(f"{path}: items[{i}]", item)
            hosts.append(row)
            leaf = next((clean(str(labels[key])) for key in _LEAVES if labels.get(key)), None)
            if leaf is not None:
                links.append({"ends": [row["name"], leaf], **speed(defaults)})
                degree[leaf] = degree.get(leaf, 0) + 1
                leaves.setdefault(leaf, clean(str(labels[_SPINE])) if labels.get(_SPINE) else "")
    for leaf, spine in leaves.items():
        if spine:
            links.append({"ends": [leaf, spine], **speed(defaults)})
            for each in (leaf, spine):
                degree[each] = degree.get(each, 0) + 1
    switches = [{"name": name, "target": "plain", "ports": max(32, n)} for name, n in degree.items()]
    return build(files[0][0], "kubernetes", {"hosts": hosts, "switches": switches, "links": links})


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


def _host(where: str, item: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    metadata, status = (_mapping(where, item, part) for part in ("metadata", "status"))
    name = metadata.get("name")
    if not isinstance(name, str):
        raise OfframpError(f"{where}: metadata.name: expected a name")
    row: dict[str, Any] = {"name": name}
    addresses = status.get("addresses")
    for each in addresses if isinstance(addresses, list) else []:
        if isinstance(each, dict) and each.get("type") == "InternalIP" and "." in str(each.get("address")):
            row.setdefault("address", str(each["address"]))
    capacity = _mapping(where, status, "allocatable") or _mapping(where, status, "capacity")
    if "cpu" in capacity:
        row["cores"] = _cores(f"{where}: cpu", str(capacity["cpu"]))
    if "memory" in capacity:
        try:
            row["memory"] = BYTES.parse(str(capacity["memory"]))
        except ValueError as error:
            raise OfframpError(f"{where}: memory {str(capacity['memory'])[:40]}: {error}") from None
    for key in _GPUS:
        if re.fullmatch(r"[0-9]{1,4}", str(capacity.get(key, ""))):
            row["gpus"] = row.get("gpus", 0) + int(str(capacity[key]))
    return row, _mapping(where, metadata, "labels")


def _cores(where: str, text: str) -> int:
    match = re.fullmatch(r"([0-9]{1,9})(m?)", text)
    if match is None:
        raise OfframpError(f"{where} {text[:40]}: expected cores such as 64 or 63500m")
    return max(1, int(match[1]) // (1000 if match[2] else 1))


def _mapping(where: str, data: Any, part: str) -> dict[str, Any]:
    mapping = data.get(part) if isinstance(data, dict) else None
    if mapping is None:
        return {}
    if not isinstance(mapping, dict):
        raise OfframpError(f"{where}: {part}: expected fields by name")
    return mapping
