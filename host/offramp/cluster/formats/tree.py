# SPDX-License-Identifier: Apache-2.0
"""Switches above hosts and above each other, of which a file says who is below whom but no rates.

A link up carries what is below its switch, shared among the switch's links up, unless the file or the user says less.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from offramp.cluster.formats import Defaults
from offramp.cluster.formats.build import speed
from offramp.cluster.names import some
from offramp_base.errors import OfframpError
from offramp_base.settings.units import BITS_PER_SECOND

BLOCKS: Final = "blocks"
"""Name of the switch above Slurm's blocks."""


@dataclass
class TreeSwitch:
    """A switch of a tree.

    Attributes:
        where: its place in a file, for messages.
        hosts, switches: what is directly below it.
        rate_bps: rate of each link to these; None if the file does not say it.
    """

    where: str
    hosts: list[str] = field(default_factory=list)
    switches: list[str] = field(default_factory=list)
    rate_bps: int | None = None


def put_above(branches: dict[str, TreeSwitch], name: str, switches: list[str]) -> None:
    """Add a switch above several others; one alone needs none."""
    if len(switches) > 1:
        while name in branches:
            name += "-above"
        branches[name] = TreeSwitch(branches[switches[0]].where, [], switches)


def tree(branches: Mapping[str, TreeSwitch], defaults: Defaults) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of the switches and of all links.

    Raises:
        OfframpError: switches that are above themselves.
    """
    parents = Counter(below for branch in branches.values() for below in branch.switches)
    carried: Counter[str] = Counter()
    links: list[dict[str, Any]] = []
    up: Counter[str] = Counter()
    for name in _upwards(branches):
        branch = branches[name]
        for host in branch.hosts:
            links.append({"ends": [host, name], **speed(defaults, branch.rate_bps)})
            carried[name] += int(links[-1]["rate"])
        for below in branch.switches:
            share = max(1, int(carried[below] / defaults.oversubscription / parents[below]))
            rate = share if branch.rate_bps is None else branch.rate_bps
            links.append({"ends": [below, name], **speed(defaults, rate)})
            carried[name] += rate
            up[below] += rate
    for name, rate in up.items():
        if rate < carried[name] / defaults.oversubscription * (1 - 1e-6) - parents[name]:
            shown = BITS_PER_SECOND.shown
            ratio = carried[name] / rate
            defaults.note(f"{name}: {shown(rate)} up for {shown(carried[name])} below, {ratio:.3g}:1, as the files say")
    return [{"name": name, "target": "plain"} for name in branches], links


def _upwards(branches: Mapping[str, TreeSwitch]) -> list[str]:
    """The switches, each after all that are below it."""
    waiting = {name: sum(1 for below in branch.switches if below in branches) for name, branch in branches.items()}
    above: dict[str, list[str]] = {name: [] for name in branches}
    for name, branch in branches.items():
        for below in branch.switches:
            above[below].append(name)
    order = [name for name, count in waiting.items() if not count]
    for name in order:  # grows while it is read
        for each in above[name]:
            waiting[each] -= 1
            if not waiting[each]:
                order.append(each)
    circle = [name for name in branches if waiting[name]]
    if circle:
        where = branches[circle[0]].where
        raise OfframpError(f"{where}: {some(circle)}: a circle: expected switches above others, none above itself")
    return order
