# SPDX-License-Identifier: Apache-2.0
"""Hosts and switches among machines that all run Linux: by their names and by what hangs on them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

_WORDS: Final = re.compile(r"[a-z]+")
_SWITCH: Final = re.compile(
    "(border|super)?(leaf|spine)|bl|tor|rack|agg|aggregation|core|dist|distribution|access|acc|edge|fabric|"
    "switch|switches|[acdemfrs]?sw|s|c?(router|routers|rtr)|r|gw|gateway|wan|isp|exit|border|p|pe|ce|rr|bgp|"
    "frr|bird|vyos|ovs|cumulus|sonic|srl|srlinux|ceos|eos"
)
_HOST: Final = re.compile("h|hosts?|servers?|srv|svr|clients?|pc|vm|vpc|workers?|gpu|compute|endpoint")


def role_word(name: str) -> str | None:
    """``switch`` or ``host`` where a name says it: ``leaf1``, ``rack2-gpu3``; the last such word of a name counts."""
    for word in reversed(_WORDS.findall(name.lower().partition(".")[0])):
        if _SWITCH.fullmatch(word):
            return "switch"
        if _HOST.fullmatch(word):
            return "host"
    return None


def switches_among(neighbours: Mapping[str, Collection[str]], hints: Mapping[str, str | None]) -> set[str]:
    """The nodes that forward for others.

    Args:
        neighbours: other ends of each node's links.
        hints: ``switch`` or ``host`` where the files say it, and None elsewhere.

    A node of unknown role with at most one neighbour is a host, and one with several is a switch if a host hangs on
    it. What is left has links to switches alone: such nodes are hosts with several links, unless others need them.
    """
    roles: dict[str, str | None] = {name: hints.get(name) for name in neighbours}
    for name, others in neighbours.items():
        if roles[name] is None and len(others) <= 1:
            roles[name] = "host"
    hanging = {other for name, role in roles.items() if role == "host" for other in neighbours[name]}
    switches = {name for name, role in roles.items() if role == "switch" or (role is None and name in hanging)}
    rest = {name for name, role in roles.items() if role is None} - switches
    return switches if not rest or _join(neighbours, switches) else switches | rest


def _join(neighbours: Mapping[str, Collection[str]], switches: Collection[str]) -> bool:
    """Whether the first host reaches all others over switches."""
    first = next((name for name in neighbours if name not in switches), next(iter(neighbours)))
    seen, waiting = {first}, [first]
    while waiting:
        name = waiting.pop()
        if name == first or name in switches:
            waiting += [other for other in neighbours[name] if other not in seen]
            seen.update(neighbours[name])
    return seen | set(switches) >= set(neighbours)
