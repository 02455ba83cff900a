# SPDX-License-Identifier: Apache-2.0
"""The networks of ASTRA-sim 1's analytical back end: JSON, in all the forms that it has had.

The last form is ``"topology-name": "Hierarchical"`` with lists of an item for each dimension: ``topologies-per-dim``,
``units-count``, ``links-count`` of an NPU, ``link-bandwidth`` in GB/s of 2^30 bytes, ``link-latency``, ``nic-latency``,
``router-latency`` in nanoseconds, and the memory behind a dimension (``hbm-…``). Earlier forms have the dimensions in
the topology's name (``Ring_AllToAll_Switch``, ``Torus2D``), no number of links, other names for the same lists
(``packages-counts``), or plain numbers for the one dimension there is (``dims-count``, ``nodes-per-dim``).

What a message takes there is the larger of two times: that of the network, its latency (links on the way, two cards, a
switch's own) and its bytes at the bandwidth of all links that it uses; and that of the memory, (latency + bytes ÷
bandwidth) x ``hbm-scale``. A dimension has one latency and one rate, so the worse of the two counts for each: exact if
one of the times bounds both, never less elsewhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final

from offramp.cluster.model import KINDS, Cluster, ClusterDimension
from offramp_base.documents import is_number, parse_json
from offramp_base.errors import OfframpError

GB: Final = 2**30
"""Bytes in ASTRA-sim's GB of a link, whose memory has 10^9."""
_MOST_BPS: Final = (1 << 63) - 1
_MOST_DIMENSIONS: Final = 64
_MARKS: Final = ("topology-name", "topologies-per-dim", "topology-configuration", "topology_configuration")
_SPELLINGS: Final = {
    "fullyconnected": "fully-connected",
    "fc": "fully-connected",
    "alltoall": "fully-connected",
    "a2a": "fully-connected",
    "sw": "switch",
}
_SYNONYMS: Final = {
    "name": "topology-name",
    "dims-count": "dimensions-count",
    "packages-counts": "units-count",
    "nodes-per-dim": "units-count",
    "hosts-count": "units-count",
    "bandwidth": "link-bandwidth",
    "switch-latency": "router-latency",
}
_USED: Final = frozenset(
    {
        "topology-name",
        "topologies-per-dim",
        "dimensions-count",
        "units-count",
        "links-count",
        "topology-shape-configs",
        "link-bandwidth",
        "link-latency",
        "nic-latency",
        "router-latency",
        "hbm-bandwidth",
        "hbm-latency",
        "hbm-scale",
    }
)
_UNUSED: Final = frozenset({"dimension-type", "use-fast-version", "print-log"})
_BESIDE: Final = frozenset({"run-configuration", "rendezvous-protocol"})
"""Keys of the oldest form that are not about the topology but stand in the same file."""
_NUMBERS: Final = ("link-bandwidth", "link-latency", "nic-latency", "router-latency")


def is_network(text: str) -> bool:
    """Whether a text begins as JSON does and has one of the keys that say the topology."""
    return text.lstrip().startswith("{") and any(f'"{mark}"' in text for mark in _MARKS)


def building_block(k: int, kind: str) -> str:
    """The dimension type that ASTRA-sim calls ``kind``.

    Raises:
        OfframpError: there is none of this name here.
    """
    word = kind.lower().replace("_", "-")
    word = _SPELLINGS.get(word.replace("-", ""), word)
    if word not in KINDS:
        raise OfframpError(f"dim{k}: dimension type '{kind}': expected one of {', '.join(KINDS)}")
    return word


def checked(k: int, kind: str, size: int, bps: float, latency_ns: float) -> ClusterDimension:
    """A dimension of these numbers.

    Raises:
        OfframpError: one that is out of range.
    """
    if size < 1 or not 1 <= bps <= _MOST_BPS or not 0 <= latency_ns <= 1e15:
        raise OfframpError(f"dim{k}: {size} NPUs, {bps:.4g} bit/s, {latency_ns:.4g} ns: expected positive numbers")
    return ClusterDimension(type=kind, size=size, rate_bps=round(bps), latency_ns=latency_ns)


def network(text: str, name: str) -> Cluster:
    """A cluster of dimensions alone.

    Raises:
        OfframpError: names the field or dimension.
    """
    fields = _fields(parse_json(text))
    kinds, sizes = _shape(fields)
    dimensions = []
    for k, (kind, size) in enumerate(zip(kinds, sizes, strict=True)):
        dimensions.append(_dimension(fields, k, kind, size))
    return Cluster(name=name, dimensions=tuple(dimensions))


def _fields(content: Any) -> dict[str, Any]:
    """The topology's fields under the names of the last form."""
    if not isinstance(content, dict):
        raise OfframpError("expected a table of the topology")
    rows = {key.replace("_", "-"): value for key, value in content.items()}
    inner = rows.pop("topology-configuration", None)
    if inner is not None:
        if not isinstance(inner, dict):
            raise OfframpError("topology-configuration: expected a table")
        other = {"system-configuration", "workload-configuration", "stat-configuration"}
        for key in rows.keys() - _BESIDE - other:
            raise OfframpError(f"{key}: no such field beside topology-configuration")
        rows = {key.replace("_", "-"): value for key, value in inner.items()}
    fields: dict[str, Any] = {}
    for key, value in rows.items():
        word = _SYNONYMS.get(key, key)
        if word not in _USED | _UNUSED:
            raise OfframpError(f"{key}: no such field of a network")
        if word in fields:
            raise OfframpError(f"{key}: {word} for a second time")
        fields[word] = value
    return fields


def _shape(fields: Mapping[str, Any]) -> tuple[list[str], list[int]]:
    """Kinds and sizes of the dimensions."""
    name = fields.get("topology-name", "Hierarchical")
    if not isinstance(name, str):
        raise OfframpError(f"topology-name: {name!r}: expected a name")
    sizes = _list(fields, "units-count")
    if not 1 <= len(sizes) <= _MOST_DIMENSIONS or any(isinstance(n, bool) or not isinstance(n, int) for n in sizes):
        raise OfframpError(f"units-count: {sizes!r:.60}: expected the NPUs of each dimension")
    torus = re.fullmatch(r"(?i)torus(?:([1-9])D)?", name)
    if torus is not None:
        sizes = _torus(fields, int(torus[1] or 2), sizes)
        return ["ring"] * len(sizes), sizes
    names = _list(fields, "topologies-per-dim") if name.lower() == "hierarchical" else _blocks(name)
    kinds = [building_block(k, str(each)) for k, each in enumerate(names, 1)]
    counted = fields.get("dimensions-count", len(kinds))
    if not len(kinds) == len(sizes) == counted:
        raise OfframpError(f"dimensions-count: {counted}, but {len(kinds)} topologies and {len(sizes)} counts of NPUs")
    return kinds, sizes


def _blocks(name: str) -> list[str]:
    whole = name.lower().replace("_", "")
    return [name] if whole in _SPELLINGS or whole in KINDS else name.split("_")


def _torus(fields: Mapping[str, Any], rings: int, sizes: list[int]) -> list[int]:
    """Rings of a torus that an early form may have as one dimension: of a shape that it says, or of equal sides."""
    if len(sizes) == rings:
        return sizes
    shapes = fields.get("topology-shape-configs")
    if isinstance(shapes, list) and len(shapes) == 1 and isinstance(shapes[0], list) and len(shapes[0]) == rings:
        sides = shapes[0]
        if all(isinstance(n, int) and not isinstance(n, bool) for n in sides) and math.prod(sides) == sizes[0]:
            return list(sides)
    if len(sizes) == 1 and 1 <= sizes[0] <= 10**9:
        side = round(sizes[0] ** (1 / rings))
        if side**rings == sizes[0]:
            return [side] * rings
    raise OfframpError(f"units-count: {sizes!r:.60}: expected the sides of a torus of {rings} dimensions")


def _list(fields: Mapping[str, Any], key: str) -> list[Any]:
    if key not in fields:
        raise OfframpError(f"{key} is missing")
    value = fields[key]
    return value if isinstance(value, list) else [value]


def _number(fields: Mapping[str, Any], key: str, k: int, default: float | None = None) -> float:
    if key not in fields and default is not None:
        return default
    values = _list(fields, key)
    if len(values) <= k and not (len(values) == 1 and "torus" in str(fields.get("topology-name")).lower()):
        raise OfframpError(f"{key}: {len(values)} items: expected one for each dimension")
    value = values[min(k, len(values) - 1)]
    if not is_number(value) or not 0 <= value <= 1e15:
        raise OfframpError(f"{key}: {value!r:.40}: expected a number of at least 0")
    return float(value)


def _dimension(fields: Mapping[str, Any], k: int, kind: str, size: int) -> ClusterDimension:
    usual = {"ring": 2 if size > 2 else 1, "fully-connected": max(1, size - 1)}.get(kind, 1)
    links = _number(fields, "links-count", k, usual)
    at_once = max(1, size - 1) if kind == "fully-connected" else 1  # messages that a step sends beside each other
    if kind == "ring" and links > 1:
        links -= links % 2  # as many one way round as the other
    elif kind == "fully-connected":
        if links < at_once:
            raise OfframpError(f"dim{k + 1}: {links:g} links: expected one to each of {at_once} others")
        links -= links % at_once
    bandwidth, latency, nic, router = (
        _number(fields, key, k, None if key.startswith("link") else 0.0) for key in _NUMBERS
    )
    bps = links * bandwidth * GB * 8
    delay = 2 * latency + router if kind == "switch" else latency
    delay += 2 * nic
    scale = _number(fields, "hbm-scale", k, 0.0)
    if scale:
        memory = _number(fields, "hbm-bandwidth", k)
        bps = min(bps, at_once * memory * 8e9 / scale)
        delay = max(delay, scale * _number(fields, "hbm-latency", k))
    return checked(k + 1, kind, size, bps, delay)
