# SPDX-License-Identifier: Apache-2.0
"""Mapped netlists of yosys's ``write_json`` without their hierarchy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

CONSTANT: Final = -1
"""The net of a pin that is tied to a constant or to nothing."""


class NetlistCell(NamedTuple):
    """A primitive: its type, its place in the hierarchy, and the net of each bit of each pin."""

    kind: str
    name: str
    pins: Mapping[str, list[int]]


class Netlist(NamedTuple):
    """Primitives, how many nets they are tied to, and the nets of the ports."""

    cells: list[NetlistCell]
    nets: int
    ports: list[int]


def flatten(netlist: Mapping[str, Any], top: str) -> Netlist:
    """Every primitive under ``top``; nets that ports of modules join are one net."""
    joined = _JoinedNets()
    ports = {port: [joined.new() for _ in each["bits"]] for port, each in netlist["modules"][top]["ports"].items()}
    flat = list(_cells(netlist["modules"], top, "", ports, joined))
    # Names of nets that were joined later are looked up once everything is known.
    cells = [
        NetlistCell(kind, name, {pin: joined.all(bits) for pin, bits in pins.items()}) for kind, name, pins in flat
    ]
    return Netlist(cells, len(joined.parent), joined.all([bit for bits in ports.values() for bit in bits]))


class _JoinedNets:
    """Nets by number, and which of them are the same."""

    def __init__(self) -> None:
        self.parent: list[int] = []

    def new(self) -> int:
        self.parent.append(len(self.parent))
        return self.parent[-1]

    def find(self, net: int) -> int:
        while self.parent[net] != net:
            self.parent[net] = self.parent[self.parent[net]]
            net = self.parent[net]
        return net

    def join(self, one: int, other: int) -> None:
        self.parent[self.find(other)] = self.find(one)

    def all(self, bits: list[int]) -> list[int]:
        return [self.find(bit) if bit != CONSTANT else bit for bit in bits]


def _cells(
    modules: Mapping[str, Any], name: str, prefix: str, outside: Mapping[str, list[int]], joined: _JoinedNets
) -> Iterator[NetlistCell]:
    module = modules[name]
    known: dict[int, int] = {}

    def net(bit: int | str) -> int:
        if not isinstance(bit, int):
            return CONSTANT
        if bit not in known:
            known[bit] = joined.new()
        return known[bit]

    for port, bits in outside.items():
        for there, here in zip(bits, module["ports"][port]["bits"], strict=False):
            if not isinstance(here, int):
                continue  # an output that is constant
            if here not in known:
                known[here] = there
            elif CONSTANT not in (there, known[here]):
                joined.join(known[here], there)
    for label, cell in module["cells"].items():
        pins = {pin: [net(bit) for bit in bits] for pin, bits in cell["connections"].items()}
        kind = cell["type"]
        if kind not in modules or _primitive(modules[kind]):
            yield NetlistCell(kind, prefix + label, pins)
        else:
            yield from _cells(modules, kind, f"{prefix}{label}.", pins, joined)


def _primitive(module: Mapping[str, Any]) -> bool:
    """Whether a module is a cell of the chip, whose description the netlist contains too."""
    return bool({"blackbox", "whitebox"} & module.get("attributes", {}).keys())
