# SPDX-License-Identifier: Apache-2.0
"""Places of a fabric's nodes in a drawing: hosts in a row, by racks; switches above them by distance; cards below."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from offramp.report.outcome import DrawnFabric, FabricMachine

WIDEST: Final = 112
"""Most pixels from one node to the next."""
_NARROWEST: Final = 72
_LETTER, _AROUND = 8, 32
"""Pixels of a letter, and around a name."""
LEVEL: Final = 104
"""Pixels from one row to the next."""
MARGIN: Final = 12
_GAP: Final = 0.4
"""Columns between two racks."""


@dataclass(frozen=True)
class FabricLayout:
    """Places in pixels.

    Attributes:
        places: centre of each node.
        width, height: width and height of the drawing.
        column: distance from one node to the next, as narrow as the longest name allows.
        racks: names of the members of each rack, its switch included, if one has the rack's name.
    """

    places: Mapping[str, tuple[float, float]]
    width: float
    height: float
    column: float
    racks: Mapping[str, tuple[str, ...]]


def layout_of(fabric: DrawnFabric) -> FabricLayout:
    """The places of all nodes."""
    neighbours = _neighbours(fabric)
    levels = _levels(fabric, neighbours)
    columns: dict[str, float] = {}
    _place_hosts(fabric, neighbours, columns)
    for level in sorted(set(levels.values())):
        if level != 0:
            _place_level([each.name for each in fabric.nodes if levels[each.name] == level], neighbours, columns)
    longest = max((len(each.name) for each in fabric.nodes), default=0)
    column = min(WIDEST, max(_NARROWEST, longest * _LETTER + _AROUND))
    top, left = max(levels.values(), default=0), min(columns.values(), default=0.0)
    places = {
        name: (MARGIN + (place - left + 0.5) * column, MARGIN + (top - levels[name]) * LEVEL + 22)
        for name, place in columns.items()
    }
    racks: dict[str, list[str]] = defaultdict(list)
    for each in fabric.nodes:
        if each.rack:
            racks[each.rack].append(each.name)
    for rack, members in racks.items():
        if rack in columns and rack not in members:
            members.append(rack)
    width = max((x for x, _ in places.values()), default=0) + column / 2 + MARGIN
    height = max((y for _, y in places.values()), default=0) + 22 + MARGIN
    return FabricLayout(places, width, height, column, {rack: tuple(members) for rack, members in racks.items()})


def _neighbours(fabric: DrawnFabric) -> dict[str, list[str]]:
    known: dict[str, list[str]] = {each.name: [] for each in fabric.nodes}
    for link in fabric.links:
        a, b = link.ends
        known[a].append(b)
        known[b].append(a)
    return known


def _levels(fabric: DrawnFabric, neighbours: Mapping[str, list[str]]) -> dict[str, int]:
    """0 for hosts, -1 for cards and smartNICs, and for a switch its distance from the nearest host."""
    roles = {each.name: each.role for each in fabric.nodes}
    levels = {name: 0 if role == "host" else -1 for name, role in roles.items() if role != "switch"}
    waiting = deque(levels)
    while waiting:
        name = waiting.popleft()
        for other in neighbours[name]:
            if other not in levels:
                levels[other] = max(0, levels[name]) + 1
                waiting.append(other)
    return {name: levels.get(name, 1) for name in roles}


def _place_hosts(fabric: DrawnFabric, neighbours: Mapping[str, list[str]], columns: dict[str, float]) -> None:
    roles = {each.name: each.role for each in fabric.nodes}
    hosts: dict[str, list[FabricMachine]] = defaultdict(list)
    for each in fabric.nodes:
        if each.role == "host":
            hosts[each.rack].append(each)
    reached = 0.0
    for members in hosts.values():
        for host in members:
            width = max(1, sum(roles[other] in ("card", "nic") for other in neighbours[host.name]))
            columns[host.name] = reached + (width - 1) / 2
            reached += width
        reached += _GAP


def _place_level(names: list[str], neighbours: Mapping[str, list[str]], columns: dict[str, float]) -> None:
    """Place a row: each node over or under the middle of its placed neighbours, a column apart from the others."""
    middle = sum(columns.values()) / len(columns) if columns else 0.0
    wanted = {}
    for name in names:
        placed = [columns[other] for other in neighbours[name] if other in columns]
        wanted[name] = sum(placed) / len(placed) if placed else middle
    groups: list[tuple[float, list[str]]] = []  # centre and members, in order, which never overlap
    for name in sorted(names, key=lambda name: wanted[name]):
        centre, members = wanted[name], [name]
        while groups and groups[-1][0] + (len(groups[-1][1]) + len(members)) / 2 > centre + 1e-9:
            before, others = groups.pop()
            centre = (before * len(others) + centre * len(members)) / (len(others) + len(members))
            members = others + members
        groups.append((centre, members))
    for centre, members in groups:
        for k, name in enumerate(members):
            columns[name] = centre + k - (len(members) - 1) / 2
