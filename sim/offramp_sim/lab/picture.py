# SPDX-License-Identifier: Apache-2.0
"""A cluster as a picture: hosts below, switches above them by distance from the hosts."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Final

from offramp.cluster import Cluster, ClusterHost
from offramp.report.units import si
from offramp_base.errors import OfframpError
from offramp_sim.figures import save

_MOST: Final = 400
_COLOURS: Final = {"host": "#dbe9f6", "v1model": "#fde8c8", "tna": "#fde8c8", "sonic": "#e8e1f3", "plain": "#eeeeee"}


def draw(cluster: Cluster, path: Path) -> None:
    """Write the picture as SVG, PNG or PDF by the file's name.

    Raises:
        OfframpError: too many nodes for a picture, no matplotlib, or the file cannot be written.
    """
    if len(cluster.by_name) > _MOST:
        raise OfframpError(f"{cluster.name}: {len(cluster.by_name)} nodes: a picture has at most {_MOST}")
    from matplotlib.figure import Figure

    places = layout(cluster)
    widest = max(sum(1 for x, y in places.values() if y == level) for level in range(_levels(places)))
    figure = Figure(figsize=(max(5.0, 1.25 * widest), 1.2 + 1.5 * _levels(places)), layout="constrained")
    axes = figure.add_subplot()
    for link in cluster.links:
        (x0, y0), (x1, y1) = places[link.a.node], places[link.b.node]
        axes.plot([x0, x1], [y0, y1], color="#777777", linewidth=1.2, zorder=1)
    rates = {link.rate_bps for link in cluster.links}
    for link in cluster.links if len(rates) > 1 and len(cluster.links) <= 64 else ():
        (x0, y0), (x1, y1) = places[link.a.node], places[link.b.node]
        axes.annotate(
            si(link.rate_bps, "bit/s"), ((x0 + x1) / 2, (y0 + y1) / 2), ha="center", va="center", fontsize=6.5,
            bbox={"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none"},
        )  # fmt: skip
    for name, place in places.items():
        node = cluster.by_name[name]
        if isinstance(node, ClusterHost):
            inside, colour = [*(a.name for a in node.agents), *(c.name for c in node.cards)], _COLOURS["host"]
        else:
            inside, colour = [node.target], _COLOURS[node.target]
        axes.annotate(
            "\n".join([name, *inside]), place, ha="center", va="center", fontsize=8, zorder=3,
            bbox={"boxstyle": "round,pad=0.35", "fc": colour, "ec": "#444444"},
        )  # fmt: skip
    one = f", every link {si(rates.pop(), 'bit/s')}" if len(rates) == 1 else ""
    axes.set_title(f"{cluster.name}{one}", loc="left", fontsize=10)
    axes.margins(x=0.12, y=0.25)
    axes.axis("off")
    save(figure, path, dpi=150)


def layout(cluster: Cluster) -> dict[str, tuple[float, float]]:
    """Position of each node: a level for each number of links from the nearest host."""
    far = {host.name: 0 for host in cluster.hosts}
    waiting = deque(far)
    while waiting:
        name = waiting.popleft()
        for link in cluster.links_of[name]:
            if link.far(name).node not in far:
                far[link.far(name).node] = far[name] + 1
                waiting.append(link.far(name).node)
    levels: dict[int, list[str]] = {}
    for name in cluster.by_name:
        levels.setdefault(far.get(name, 1), []).append(name)
    widest = max(map(len, levels.values()))
    places: dict[str, tuple[float, float]] = {}
    for level, names in sorted(levels.items()):
        if level:  # above the middle of what is below it
            below = {
                name: [
                    places[o][0]
                    for o in (link.far(name).node for link in cluster.links_of[name])
                    if o in places and places[o][1] < level
                ]
                for name in names
            }
            names.sort(key=lambda name: sum(below[name]) / len(below[name]) if below[name] else 0.0)
        for k, name in enumerate(names):
            places[name] = ((k + 0.5) * widest / len(names), float(level))
    return places


def _levels(places: dict[str, tuple[float, float]]) -> int:
    return int(max(y for _, y in places.values())) + 1
