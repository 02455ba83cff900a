# SPDX-License-Identifier: Apache-2.0
"""htsim's fat trees (``NAME.topo``): ``Nodes``, ``Tiers``, ``Podsize``, then a section for each tier of switches.

A tier says the speed and latency of its links down, its ports down and up, how many cables join it to each switch
below, and the latency of its switches. The switches are counted as htsim does it, and a file that does not come out
even is refused. Half a switch's latency is added to each of its links, so that every path up and down has the delay
that it has there. Queues are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from offramp.cluster.formats import Defaults
from offramp.cluster.formats.build import build, speed
from offramp.cluster.model import MOST_HOSTS, Cluster
from offramp_base.errors import OfframpError
from offramp_base.numerals import whole_number

_HEADER: Final = ("nodes", "tiers", "podsize")
_NEEDED: Final = ("downlink_speed_gbps", "radix_down", "downlink_latency_ns")
_USUAL: Final = {
    "radix_up": 0,
    "bundle": 1,
    "oversubscribed": 1,
    "switch_latency_ns": 0,
    "queue_up": 0,
    "queue_down": 0,
}
_NAMES: Final = ("host", "tor", "agg", "core")
_MOST: Final = 10**9


@dataclass(frozen=True, slots=True)
class _FatTreeFile:
    """The numbers of a file: of the header, and of each tier."""

    nodes: int
    podsize: int
    tiers: tuple[dict[str, int], ...]


def read(files: list[tuple[str, str]], defaults: Defaults) -> Cluster:
    """Hosts, switches and links of a fat tree.

    Raises:
        OfframpError: names the file, and the line or the numbers that do not fit.
    """
    (path, text), *more = files
    if more:
        raise OfframpError(f"{more[0][0]}: expected one topology")
    try:
        parts = _parts(_parse(text), defaults)
    except OfframpError as error:
        raise OfframpError(f"{path}: {error}") from None
    return build(path, Path(path).stem, parts, defaults, "Nodes, Tiers and Podsize")


def _parse(text: str) -> _FatTreeFile:
    header: dict[str, int] = {}
    tiers: dict[int, dict[str, int]] = {}
    fields = header
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        key, value = words[0].lower(), whole_number(words[1]) if len(words) == 2 else None
        if value is None or value > _MOST:
            raise OfframpError(f"line {number}: {words[0]:.40}: expected a name and a whole number")
        if key == "tier":
            if not 0 <= value <= 2 or value in tiers:
                raise OfframpError(f"line {number}: Tier {value}: expected 0, 1 and 2, each once")
            fields = tiers[value] = {}
        elif key not in (_HEADER if fields is header else (*_NEEDED, *_USUAL)):
            raise OfframpError(f"line {number}: {words[0]:.40}: no such field")
        elif key in fields:
            raise OfframpError(f"line {number}: {words[0]} for a second time")
        else:
            fields[key] = value
    for key in _HEADER:
        if not header.get(key):
            raise OfframpError(f"expected {key.capitalize()} before the first Tier")
    if header["tiers"] not in (2, 3) or sorted(tiers)[: header["tiers"]] != list(range(header["tiers"])):
        raise OfframpError(f"Tiers {header['tiers']}: expected 2 or 3, and a section for each")
    for n in range(header["tiers"]):
        for key in (*_NEEDED, *(("radix_up",) if n + 1 < header["tiers"] else ())):
            if not tiers[n].get(key):
                raise OfframpError(f"Tier {n}: expected {key}")
    rows = tuple({**_USUAL, **tiers[n]} for n in range(header["tiers"]))
    return _FatTreeFile(header["nodes"], header["podsize"], rows)


def _parts(tree: _FatTreeFile, defaults: Defaults) -> dict[str, list[dict[str, Any]]]:
    if tree.nodes > MOST_HOSTS:
        raise OfframpError(f"{tree.nodes} nodes: a cluster has {MOST_HOSTS} hosts at most")
    tor, agg = tree.tiers[:2]
    pods = _whole(tree.nodes, tree.podsize, "Nodes", "Podsize")
    tors = _whole(tree.podsize, tor["radix_down"], "Podsize", "Radix_Down of Tier 0") * pods
    up = _uplinks(tree.nodes, tor, agg, 0)
    aggs = _whole(up, pods * agg["radix_down"], "links up from Tier 0", "pods x Radix_Down of Tier 1")
    _fits(aggs * agg["bundle"], tor["radix_up"], 0)
    counts = [tree.nodes, tors, aggs * pods]
    if len(tree.tiers) == 3:
        core = tree.tiers[2]
        top = _whole(_uplinks(up, agg, core, 1), core["radix_down"], "links up from Tier 1", "Radix_Down of Tier 2")
        _whole(top, aggs, "switches of Tier 2", "switches of Tier 1 in a pod")
        _fits(top * core["bundle"] // aggs, agg["radix_up"], 1)
        counts.append(top)
    ends = [(k, 0, k // tor["radix_down"]) for k in range(tree.nodes)]
    per_pod = tors // pods
    joined = range(aggs * pods) if len(tree.tiers) == 2 else None
    for t in range(tors):
        for a in joined or range(t // per_pod * aggs, (t // per_pod + 1) * aggs):
            ends += [(t, 1, a)] * agg["bundle"]
    if len(tree.tiers) == 3:
        core = tree.tiers[2]
        for a in range(aggs * pods):
            for k in range(agg["radix_up"] // core["bundle"]):
                ends += [(a, 2, a % aggs + aggs * k)] * core["bundle"]
    links = []
    for below, n, above in ends:
        tier = tree.tiers[n]
        through = tier["switch_latency_ns"] + (tree.tiers[n - 1]["switch_latency_ns"] if n else 0)
        row = speed(defaults, tier["downlink_speed_gbps"] * 10**9, tier["downlink_latency_ns"] + through / 2)
        links.append({"ends": [f"{_NAMES[n]}{below}", f"{_NAMES[n + 1]}{above}"], **row})
    hosts, *switches = ([f"{name}{k}" for k in range(count)] for name, count in zip(_NAMES, counts, strict=False))
    return {
        "hosts": [{"name": name} for name in hosts],
        "switches": [{"name": name, "target": "plain"} for names in switches for name in names],
        "links": links,
    }


def _uplinks(below: int, lower: dict[str, int], upper: dict[str, int], n: int) -> int:
    """Links from a tier to the next one: as many as carry what is below, divided by its oversubscription."""
    rate = below * lower["downlink_speed_gbps"]
    carried = upper["downlink_speed_gbps"] * max(1, lower["oversubscribed"])
    return _whole(rate, carried, f"Gbit/s below Tier {n}", f"Gbit/s of a link up x Oversubscribed of Tier {n}")


def _whole(count: int, by: int, what: str, unit: str) -> int:
    if not by or count % by or not count:
        raise OfframpError(f"{what} {count}: expected a multiple of {by}, {unit}")
    return count // by


def _fits(count: int, radix: int, n: int) -> None:
    if count != radix:
        raise OfframpError(f"Tier {n}: Radix_Up {radix}: expected {count}, as the tiers above need it")
