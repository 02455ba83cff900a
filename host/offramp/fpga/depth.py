# SPDX-License-Identifier: Apache-2.0
"""Depth of the logic between registers: LUT levels and bits of carry on the longest paths of a mapped netlist.

A path begins and ends at a flip-flop, a block RAM, an UltraRAM, a DSP or a port of the module. On it a LUT is a level,
and so are a read of LUT RAM and of a shift register; the muxes behind LUTs of the same slice (MUXF7 to MUXF9) are none.
A carry chain counts its bits, and one level where it is entered. Wires are not in it: this is what synthesis can say.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from offramp.fpga.netlist import CONSTANT, NetlistCell, flatten
from offramp_base.errors import OfframpError

MOST_LEVELS: Final = 8
MOST_CARRY: Final = 32
"""Bits of carry between registers."""


class Depth(NamedTuple):
    """The longest paths of a module.

    Attributes:
        levels: levels on the path with the most.
        carry: bits on the path with the most.
        deepest: the cells of the first of these paths, from its begin.
        longest_carry: those of the second.
    """

    levels: int
    carry: int
    deepest: tuple[str, ...]
    longest_carry: tuple[str, ...]

    @property
    def within(self) -> bool:
        """Whether both paths are within the limits for engines."""
        return self.levels <= MOST_LEVELS and self.carry <= MOST_CARRY


class _Arc(NamedTuple):
    """A way through a cell: from a net to a net, with what it adds."""

    begin: int
    end: int
    levels: int
    carry: int


def depth(netlist: Mapping[str, Any], top: str) -> Depth:
    """The longest paths of ``top`` in a netlist as of yosys's ``write_json``.

    Raises:
        OfframpError: it has a cell that is not known, or a combinational loop.
    """
    flat = flatten(netlist, top)
    nets = flat.nets
    inside: list[int] = []  # nets within carry cells

    def new() -> int:
        inside.append(nets + len(inside))
        return inside[-1]

    arcs: list[_Arc] = []
    through = array("l")
    for number, cell in enumerate(flat.cells):
        for arc in _arcs(cell, new):
            if CONSTANT not in (arc.begin, arc.end):
                arcs.append(arc)
                through.append(number)
    order = _topological(arcs, nets + len(inside), lambda arc: flat.cells[through[arc]].name)
    # What has no load ends no path: a carry chain goes on to the end of its last cell.
    uses = Counter(flat.ports)
    for cell in flat.cells:
        uses.update(bit for bits in cell.pins.values() for bit in bits)
    ends = [net for net, number in uses.items() if number > 1 and net != CONSTANT]
    paths = []
    for measure in (lambda arc: arc.levels, lambda arc: arc.carry):
        length, came = _longest(arcs, order, nets + len(inside), measure)
        end = max(ends, key=length.__getitem__, default=None)
        paths.append((0, ()) if end is None else (length[end], _names(end, came, arcs, through, flat.cells)))
    (levels, deepest), (carry, longest) = paths
    return Depth(levels, carry, deepest, longest)


def _topological(arcs: list[_Arc], nets: int, name: Callable[[int], str]) -> list[int]:
    """The arcs in an order in which each comes after those that end where it begins."""
    leaving: list[list[int]] = [[] for _ in range(nets)]
    waiting = array("l", bytes(array("l").itemsize * nets))
    for number, arc in enumerate(arcs):
        leaving[arc.begin].append(number)
        waiting[arc.end] += 1
    ready = [net for net in range(nets) if not waiting[net]]
    order = []
    while ready:
        for number in leaving[ready.pop()]:
            order.append(number)
            end = arcs[number].end
            waiting[end] -= 1
            if not waiting[end]:
                ready.append(end)
    if len(order) < len(arcs):
        raise OfframpError(f"a combinational loop through {name(_in_loop(arcs, waiting))}")
    return order


def _in_loop(arcs: list[_Arc], waiting: array[int]) -> int:
    """An arc of a loop: going back from one that waits, along those that wait, comes round."""
    before = {arc.end: number for number, arc in enumerate(arcs) if waiting[arc.begin] and waiting[arc.end]}
    seen: set[int] = set()
    net = next(iter(before))
    while net not in seen:
        seen.add(net)
        net = arcs[before[net]].begin
    return before[net]


def _longest(
    arcs: list[_Arc], order: list[int], nets: int, measure: Callable[[_Arc], int]
) -> tuple[list[int], list[int]]:
    """The longest path to each net, and the arc by which it comes there."""
    length, came = [0] * nets, [-1] * nets
    for number in order:
        arc = arcs[number]
        reached = length[arc.begin] + measure(arc)
        if reached > length[arc.end] or came[arc.end] < 0:
            length[arc.end], came[arc.end] = reached, number
    return length, came


def _names(
    end: int, came: list[int], arcs: list[_Arc], through: array[int], cells: list[NetlistCell]
) -> tuple[str, ...]:
    names: list[str] = []
    while came[end] >= 0:
        cell = cells[through[came[end]]]
        text = f"{cell.kind} {cell.name}"
        if not names or names[-1] != text:
            names.append(text)
        end = arcs[came[end]].begin
    return tuple(reversed(names))


def _arcs(cell: NetlistCell, new: Callable[[], int]) -> Iterator[_Arc]:
    for pattern, arcs in _KINDS:
        if pattern.fullmatch(cell.kind):
            yield from arcs(cell, new)
            return
    raise OfframpError(f"{cell.name}: a cell of type {cell.kind}, whose paths are not known")


def _lut(cell: NetlistCell, _: Callable[[], int]) -> Iterator[_Arc]:
    (out,) = cell.pins["O"]
    yield from (_Arc(bits[0], out, 1, 0) for pin, bits in cell.pins.items() if pin != "O")


def _mux(cell: NetlistCell, _: Callable[[], int]) -> Iterator[_Arc]:
    (out,) = cell.pins["O"]
    yield from (_Arc(bits[0], out, 0, 0) for pin, bits in cell.pins.items() if pin != "O")


def _carry(cell: NetlistCell, new: Callable[[], int]) -> Iterator[_Arc]:
    pins = cell.pins
    carried = [new()] + [new() if bit == CONSTANT else bit for bit in pins.get("CO", [CONSTANT] * len(pins["S"]))]
    for pin in ("CI", "CI_TOP", "CYINIT"):
        for place, bit in enumerate(pins.get(pin, [])):
            # CI comes from another carry, by which the chain was entered.
            yield _Arc(bit, carried[4 if pin == "CI_TOP" else place], int(pin != "CI"), 0)
    for place, (propagate, data) in enumerate(zip(pins["S"], pins["DI"], strict=True)):
        yield _Arc(carried[place], carried[place + 1], 0, 1)
        for bit in (propagate, data):
            yield _Arc(bit, carried[place + 1], 1, 1)
        for out in pins.get("O", [])[place : place + 1]:
            yield _Arc(carried[place], out, 0, 0)
            yield _Arc(propagate, out, 1, 0)


def _shift(cell: NetlistCell, _: Callable[[], int]) -> Iterator[_Arc]:
    address = [bit for pin, bits in cell.pins.items() if re.fullmatch(r"A\d?", pin) for bit in bits]
    yield from (_Arc(bit, out, 1, 0) for out in cell.pins["Q"] for bit in address)


def _lut_ram(cell: NetlistCell, _: Callable[[], int]) -> Iterator[_Arc]:
    """Reads: ADDRx to DOx, DPRA to DPO, A to SPO."""
    for pin, outs in cell.pins.items():
        if data_pin := re.fullmatch(r"DO([A-H])(\[\d+\])?", pin):
            read = rf"ADDR{data_pin[1]}"
        elif pin in ("DPO", "SPO"):
            read = r"DPRA\d?" if pin == "DPO" else r"A\d?"
        else:
            continue
        address = [bit for other, bits in cell.pins.items() if re.fullmatch(read, other) for bit in bits]
        yield from (_Arc(bit, out, 1, 0) for out in outs for bit in address)


def _register(_cell: NetlistCell, _: Callable[[], int]) -> Iterator[_Arc]:
    """Paths end here and begin anew."""
    return iter(())


_KINDS: Final = (
    (re.compile(r"LUT[1-6]|INV"), _lut),
    (re.compile(r"MUXF[789]|BUFG|BUF"), _mux),
    (re.compile(r"CARRY[48]"), _carry),
    (re.compile(r"SRL16E|SRLC32E"), _shift),
    (re.compile(r"RAM\d+X1D(_1)?|RAM\d+X1S|RAM\d+M\d*"), _lut_ram),
    (re.compile(r"FD[RSCP]E(_1)?|LD[CP]E|RAMB(18|36)E2|URAM288(_BASE)?|DSP48E2|GND|VCC"), _register),
)
"""Primitives of UltraScale+, and the ways through each."""
