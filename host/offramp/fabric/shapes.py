# SPDX-License-Identifier: Apache-2.0
"""Clusters of a usual shape in one word, such as ``leaf-spine:4x2x8``."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Final

from offramp.cluster.model import (
    MOST_HOSTS,
    MOST_PORTS,
    MOST_SWITCHES,
    Cable,
    CableEnd,
    Cluster,
    ClusterHost,
    ClusterSwitch,
)
from offramp_base.errors import OfframpError

_MOST_PRODUCT: Final = 1 << 24
"""Most of all numbers of a shape multiplied: beyond it no cluster has as few hosts and links as a file may name."""
_MOST_MESH: Final = 510
"""Hosts of a mesh, each of which has a NIC for each other."""
SHAPES: Final = {
    "star": "HOSTS",
    "leaf-spine": "LEAVESxSPINESxHOSTS, HOSTS under each leaf",
    "fat-tree": "PODSxLEAVESxHOSTSxSPINESxCORES, CORES above each of a pod's SPINES",
    "rails": "HOSTSxRAILSxSPINES, a NIC of each host at each rail's switch",
    "mesh": "HOSTS, each joined to each other",
}
"""Shapes, and what the numbers of each mean."""
Pair = tuple[str, str]
Joined = tuple[list[str], list[Pair], list[Pair]]


def make_cluster(
    shape: str,
    *,
    rate_bps: int = 100 * 10**9,
    uplink_bps: int | None = None,
    delay_ns: float = 1000.0,
    gpus: int = 0,
    inside_bps: int | None = None,
    routing: str = "destination",
) -> Cluster:
    """A cluster whose hosts are called ``h0``, ``h1`` and so on.

    Args:
        shape: one of :data:`SHAPES`, a colon, and its numbers joined by ``x``.
        rate_bps: rate of the hosts' links.
        uplink_bps: rate of the links between switches; as the hosts' by default.
        delay_ns: propagation of every link.
        gpus: GPUs of each host; 0: it runs one rank.
        inside_bps: rate of a GPU to the others of its host; None: that takes no time.
        routing: how switches choose among equal paths (:data:`offramp.cluster.model.ROUTINGS`).

    Raises:
        OfframpError: a shape that does not exist, or numbers that it does not take.
    """
    kind, numbers = _parsed(shape)
    makers: dict[str, Callable[..., Joined]] = {
        "star": _star,
        "leaf-spine": _leaf_spine,
        "fat-tree": _fat_tree,
        "rails": _rails,
        "mesh": _mesh,
    }
    switches, down, across = makers[kind](*numbers)
    known = set(switches)
    names = dict.fromkeys(end for pair in down for end in pair if end not in known)
    hosts = tuple(
        ClusterHost(name=name, gpus=gpus, inside_bps=inside_bps) for name in sorted(names, key=lambda n: int(n[1:]))
    )
    for count, most, what in ((len(hosts), MOST_HOSTS, "hosts"), (len(switches), MOST_SWITCHES, "switches")):
        if count > most:
            raise OfframpError(f"shape {shape[:60]}: {count} {what}: expected at most {most}")
    rates = [rate_bps] * len(down) + [uplink_bps or rate_bps] * len(across)
    used = dict.fromkeys([*names, *switches], 0)

    def end(node: str) -> CableEnd:
        used[node] += 1
        return CableEnd(node, f"eth{used[node] - 1}" if node in names else used[node])

    links = tuple(Cable(end(a), end(b), rate, delay_ns) for (a, b), rate in zip([*down, *across], rates, strict=True))
    wide = max((used[name] for name in switches), default=0)
    if wide > MOST_PORTS:
        raise OfframpError(f"shape {shape[:60]}: a switch of {wide} ports: expected at most {MOST_PORTS}")
    marked = tuple(ClusterSwitch(name=name, target="plain", ports=max(1, used[name])) for name in switches)
    return Cluster(name=shape.replace(":", "-"), hosts=hosts, switches=marked, links=links, routing=routing)


def _parsed(shape: str) -> tuple[str, list[int]]:
    """The kind of a shape, and its numbers."""
    kind, _, text = shape.partition(":")
    numbers = [int(word) if word.isascii() and word.isdecimal() else 0 for word in text.split("x")]
    if kind not in SHAPES or len(numbers) != SHAPES[kind].split(",")[0].count("x") + 1 or min(numbers) < 1:
        expected = ", ".join(f"{name}:{words.split(',')[0]}" for name, words in SHAPES.items())
        raise OfframpError(f"shape {shape[:60]}: expected one of {expected}")
    if max(numbers) > MOST_HOSTS:
        raise OfframpError(f"shape {shape[:60]}: expected at most {MOST_HOSTS} of each")
    if math.prod(numbers) > _MOST_PRODUCT:
        raise OfframpError(f"shape {shape[:60]}: larger than a cluster may be: at most {MOST_HOSTS} hosts")
    return kind, numbers


def _star(hosts: int) -> Joined:
    return ["s0"], [(f"h{i}", "s0") for i in range(hosts)], []


def _leaf_spine(leaves: int, spines: int, hosts: int) -> Joined:
    down = [(f"h{leaf * hosts + i}", f"leaf{leaf}") for leaf in range(leaves) for i in range(hosts)]
    across = [(f"leaf{leaf}", f"spine{spine}") for leaf, spine in product(range(leaves), range(spines))]
    return [f"leaf{i}" for i in range(leaves)] + [f"spine{i}" for i in range(spines)], down, across


def _fat_tree(pods: int, leaves: int, hosts: int, spines: int, cores: int) -> Joined:
    down = [(f"h{leaf * hosts + i}", f"leaf{leaf}") for leaf in range(pods * leaves) for i in range(hosts)]
    across = [
        (f"leaf{pod * leaves + leaf}", f"spine{pod * spines + spine}")
        for pod, leaf, spine in product(range(pods), range(leaves), range(spines))
    ]
    across += [
        (f"spine{pod * spines + spine}", f"core{spine * cores + core}")
        for pod, spine, core in product(range(pods), range(spines), range(cores))
    ]
    counts = {"leaf": pods * leaves, "spine": pods * spines, "core": spines * cores}
    return [f"{name}{i}" for name, count in counts.items() for i in range(count)], down, across


def _rails(hosts: int, rails: int, spines: int) -> Joined:
    down = [(f"h{host}", f"rail{rail}") for host, rail in product(range(hosts), range(rails))]
    across = [(f"rail{rail}", f"spine{spine}") for rail, spine in product(range(rails), range(spines))]
    return [f"rail{i}" for i in range(rails)] + [f"spine{i}" for i in range(spines)], down, across


def _mesh(hosts: int) -> Joined:
    if hosts > _MOST_MESH:
        raise OfframpError(f"shape mesh:{hosts}: expected at most {_MOST_MESH} hosts")
    return [], [(f"h{i}", f"h{j}") for i in range(hosts) for j in range(i + 1, hosts)], []
