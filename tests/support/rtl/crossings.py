# SPDX-License-Identifier: Apache-2.0
"""Clock crossings of a board's design, derived from its netlist, and the constraints that follow from the list.

``python tests/support/rtl/crossings.py`` writes the constraint files anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from offramp.fpga.boards import BOARDS, Board, board_sources
from offramp.fpga.sources import closure, fpga_root, include_option, modules
from offramp.fpga.tools import run_tool

CMAC: Final = Path(__file__).parents[2] / "fpga" / "cmac" / "cmac_usplus_0.sv"
"""The ports of AMD's CMAC."""
SYNCHRONOUS: Final = frozenset({"ap_rst_n"})
"""Ports that come in step with the clock of what reads them: the platform's reset."""
ASYNCHRONOUS: Final = "pins"
"""The clock of ports that have none."""
ONE_CLOCK: Final = ("udp_engines", "chip_engines")
"""Modules with one clock, which need no look inside."""
_BOXES: Final[Mapping[str, tuple[str, str]]] = {
    **dict.fromkeys(ONE_CLOCK, ("clk", "")),
    "cmac_usplus_0": ("gt_txusrclk2", "gt_txusrclk2"),
    "IDDRX1F": ("SCLK", ""),
    "ODDRX1F": ("SCLK", ""),
}
"""Clock of a black box's outputs, and the output that is that clock itself."""
_REGISTERS: Final = ("$dff", "$dffe", "$sdff", "$sdffe", "$sdffce", "$adff", "$adffe", "$dlatch")


class Origin(NamedTuple):
    """What a value depends on: a register or a memory of a clock; a memory by its path."""

    clock: str
    memory: str = ""
    port: str = ""


class Crossing(NamedTuple):
    """A value that goes from one clock to another.

    ``place`` is the path of the synchroniser that takes it, of the memory of an ``async_fifo`` that holds it, or of a
    register that nothing protects, which is a fault.
    """

    source: str
    target: str
    kind: str
    place: str


def read(board: Board, folder: Path) -> dict[str, Any]:
    """A board's flat netlist of registers and memories."""
    top, boxes = board.tops[0], "read_verilog -lib +/ecp5/cells_bb.v; "
    extra: tuple[Path, ...] = ()
    if board.cage:
        top, boxes = board.cage, f"read_verilog -lib -sv {CMAC}; "
        settings = folder / "ethernet_settings_pkg.sv"
        settings.write_text(
            "package ethernet_settings_pkg; localparam [31:0] ADDRESS = 1, CLOCK = 100000000; endpackage\n"
        )
        extra = (settings, fpga_root() / "boards" / board.name / "ethernet" / f"{top}.sv")
    elif board.ecp5:
        extra = board_sources(board)
    files, _ = closure(top, extra)
    boxed = next(modules()[name] for name in ONE_CLOCK if modules()[name] in files)
    constants = [path for path in files if path.stem.endswith("_pkg")]
    sources = [path for path in files if path not in (boxed, *constants)]
    boxes += f"read_verilog -sv {' '.join(map(str, constants))}; read_verilog -lib -sv {include_option()} {boxed}; "
    values = "".join(f"chparam -set {name} {value} {top}; " for name, value in board.parameters.items())
    path = folder / "netlist.json"
    script = (
        f"{boxes}read_verilog -defer -sv {include_option()} {' '.join(map(str, sources))}; {values}"
        f"hierarchy -check -top {top}; proc; flatten; opt_clean; memory_collect; opt_clean; write_json {path}"
    )
    run_tool(["yosys", "-q", "-p", script], folder, "yosys.log")
    netlist = json.loads(path.read_text("utf-8"))["modules"]
    return next(module for module in netlist.values() if module["attributes"].get("top"))


class _Design:
    """A flat netlist: who drives each bit, and the names of nets."""

    def __init__(self, module: Mapping[str, Any]) -> None:
        self.cells = module["cells"]
        self.drivers: dict[int, tuple[str, str]] = {}
        self.names: dict[int, str] = {}
        for name, net in module["netnames"].items():
            for bit in net["bits"]:
                if isinstance(bit, int) and (bit not in self.names or len(name) < len(self.names[bit])):
                    self.names[bit] = name
        for name, cell in self.cells.items():
            for port, bits in cell["connections"].items():
                if cell["port_directions"][port] == "output":
                    self.drivers.update((bit, (name, port)) for bit in bits if isinstance(bit, int))
        self.ports = {
            bit: name for name, port in module["ports"].items() if port["direction"] == "input" for bit in port["bits"]
        }
        self._origins: dict[int, frozenset[Origin]] = {}

    def clock(self, bit: int) -> str:
        return self.names[bit]

    def origins(self, bits: Iterable[int | str]) -> frozenset[Origin]:
        """Registers, memories and ports that the bits come from by logic alone."""
        return frozenset().union(*(self._of(bit) for bit in bits if isinstance(bit, int)))

    def _of(self, first: int) -> frozenset[Origin]:
        """What one bit comes from, without recursion, since chains of carries are long."""
        waiting = [first]
        while waiting:
            bit = waiting[-1]
            if bit in self._origins:
                waiting.pop()
                continue
            own, inputs = self._step(bit)
            if missing := [each for each in inputs if each not in self._origins]:
                waiting += missing
                continue
            self._origins[bit] = own.union(*(self._origins[each] for each in inputs))
            waiting.pop()
        return self._origins[first]

    def _step(self, bit: int) -> tuple[frozenset[Origin], list[int]]:
        """Where a bit begins, and the bits that it is a function of."""
        if bit in self.ports:
            return frozenset({Origin(ASYNCHRONOUS, port=self.ports[bit])}), []
        if bit not in self.drivers:
            return frozenset(), []
        name, _ = self.drivers[bit]
        cell = self.cells[name]
        kind, pins = cell["type"].rpartition("\\")[2], cell["connections"]
        if kind in _REGISTERS:
            return frozenset({Origin(self.clock(pins["CLK"][0]))}), []
        if kind.startswith("$mem"):
            writes = {self.clock(each) for each in pins["WR_CLK"] if isinstance(each, int)}
            return frozenset(Origin(each, _path(name)) for each in writes), self._addresses(cell, bit)
        if kind in _BOXES:
            port, itself = _BOXES[kind]
            if bit in pins.get(itself, ()):
                return frozenset(), []
            return frozenset({Origin(self.clock(pins[port][0]))}), []
        inputs = [
            each
            for port, bits in pins.items()
            if cell["port_directions"][port] == "input"
            for each in bits
            if isinstance(each, int)
        ]
        return frozenset(), list(dict.fromkeys(inputs))

    def _addresses(self, cell: Mapping[str, Any], bit: int) -> list[int]:
        """The address of the read port that gives a bit."""
        pins, sizes = cell["connections"], cell["parameters"]
        width, depth = (int(str(sizes[name]), 2) for name in ("WIDTH", "ABITS"))
        port = pins["RD_DATA"].index(bit) // width
        return [each for each in pins["RD_ADDR"][port * depth :][:depth] if isinstance(each, int)]

    def sinks(self) -> Iterator[tuple[str, str, list[int | str], bool]]:
        """Every register and memory: its name, its clock, the bits it takes, and whether it is a synchroniser's."""
        for name, cell in self.cells.items():
            pins = cell["connections"]
            if cell["type"] in _REGISTERS:
                taken = [bit for port in ("D", "EN", "SRST", "ARST") for bit in pins.get(port, ())]
                first = "synchroniser.sv:" in cell["attributes"].get("src", "")
                yield name, self.clock(pins["CLK"][0]), taken, first
            elif cell["type"].startswith("$mem") and isinstance(pins["WR_CLK"][0], int):
                taken = [bit for port in ("WR_DATA", "WR_ADDR", "WR_EN") for bit in pins[port]]
                yield name, self.clock(pins["WR_CLK"][0]), taken, False
            elif cell["type"].rpartition("\\")[2] in ONE_CLOCK:
                inputs = [port for port in pins if cell["port_directions"][port] == "input" and port != "clk"]
                taken = [bit for port in inputs for bit in pins[port]]
                yield name, self.clock(pins["clk"][0]), taken, False


def crossings(module: Mapping[str, Any]) -> list[Crossing]:
    """All crossings of a flat netlist, in order of their places."""
    design = _Design(module)
    clocks = {clock for _, clock, _, _ in design.sinks()}
    listed = set()
    for name, clock, taken, synchronises in design.sinks():
        scope = _path(name).rpartition(".")[0]
        for origin in design.origins(taken):
            if origin.clock == clock or origin.port in SYNCHRONOUS | clocks:
                continue
            direct = all(not isinstance(bit, int) or _registered(design, bit) for bit in taken)
            if synchronises and direct:
                listed.add(Crossing(origin.clock, clock, "synchroniser", scope))
            elif origin.memory and origin.memory.rpartition(".")[0]:
                listed.add(Crossing(origin.clock, clock, "memory", origin.memory))
            else:
                listed.add(Crossing(origin.clock, clock, "nothing", _path(name)))
    return sorted(listed, key=lambda each: (each.place, each))


def _path(name: str) -> str:
    """A cell's path in the hierarchy, from the name that yosys gave it when it was flattened."""
    return name.removeprefix("$flatten").replace("\\", "")


def _registered(design: _Design, bit: int) -> bool:
    """Whether a bit comes straight from a register, a primitive or a pin: logic before a synchroniser may glitch."""
    if bit in design.ports:
        return True
    kind = design.cells[design.drivers[bit][0]]["type"] if bit in design.drivers else ""
    return kind in _REGISTERS or kind in _BOXES


def board_crossings(board: Board) -> list[Crossing]:
    """The crossings of a board's design."""
    with TemporaryDirectory() as folder:
        return crossings(read(board, Path(folder)))


class _Clock(NamedTuple):
    """A clock of a board: its period, and how XDC finds it and SDC makes it."""

    period_ns: float
    xdc: str = ""
    sdc: str = ""


_CLOCKS: Final[Mapping[str, Mapping[str, _Clock]]] = {
    "u50": {
        "ap_clk": _Clock(4.0, "[get_clocks -of_objects [get_ports ap_clk]]"),
        "usr_clk": _Clock(
            3.0, "[get_clocks -of_objects [get_pins -hierarchical -filter {NAME =~ *cmac/gt_txusrclk2}]]"
        ),
        "clk_gt_freerun": _Clock(10.0, "[get_clocks -of_objects [get_ports clk_gt_freerun]]"),
    },
    "ecpix-5": {
        "clk": _Clock(
            40.0, sdc="create_generated_clock -name clk -source [get_ports clk_100mhz] -divide_by 4 [get_nets clk]"
        ),
        "rgmii_rxc": _Clock(8.0, sdc="create_clock -name rgmii_rxc -period 8.0 [get_ports rgmii_rxc]"),
    },
    "ulx3s": {"demo.clk": _Clock(40.0, sdc="create_clock -name demo.clk -period 40.0 [get_ports clk_25mhz]")},
}
_CARD: Final = {
    name: _Clock(period, sdc=f"create_clock -name {name} -period {period} [get_ports {name}]")
    for name, period in (("clk", 40.0), ("rgmii_rxc", 8.0))
}
_HEADER: Final = """# SPDX-License-Identifier: Apache-2.0
# Written by tests/support/rtl/crossings.py from the design's netlist: change it there.
# What crosses is a Gray code, of which one bit changes at a time, or a beat that has long been in its place: a cycle of
# the faster clock keeps the bits of a code within one change of it.
"""


def _bound(board: Board, each: Crossing) -> float:
    """The delay that a crossing may have, ns; 0 from pins, which keep to no clock."""
    clocks = _CLOCKS.get(board.name, _CARD)
    return min(clocks[clock].period_ns for clock in (each.source, each.target) if clock != ASYNCHRONOUS)


def xdc(board: Board, listed: Iterable[Crossing]) -> str:
    """Constraints for Vivado, behind those that make the clocks."""
    clocks = _CLOCKS[board.name]
    lines = [f"set {name} {clocks[name].xdc}" for name in sorted({clock for each in listed for clock in each[:2]})]
    for each in listed:
        place = each.place.replace(".", "/")
        cells = f"{place}/first_reg*" if each.kind == "synchroniser" else f"{place}_reg*"
        cells = f"[get_cells -hierarchical -filter {{NAME =~ *{cells}}}]"
        ends = f"-from ${each.source} -to {cells}"
        if each.kind == "memory":
            ends = f"-from {cells} -to ${each.target}"
        lines.append(f"set_max_delay -datapath_only {ends} {_bound(board, each)}")
    return _HEADER + "\n".join(lines) + "\n"


def sdc(board: Board, listed: Iterable[Crossing]) -> str:
    """Constraints in SDC, the clocks included."""
    lines = [clock.sdc for clock in _CLOCKS.get(board.name, _CARD).values()]
    for each in listed:
        source = f"[get_clocks {each.source}]"
        if each.source == ASYNCHRONOUS:
            lines.append(f"set_false_path -to [get_cells {{{each.place}.first*}}]")
        elif each.kind == "synchroniser":
            lines.append(f"set_max_delay {_bound(board, each)} -from {source} -to [get_cells {{{each.place}.first*}}]")
        else:
            target = f"[get_clocks {each.target}]"
            lines.append(f"set_max_delay {_bound(board, each)} -from [get_cells {{{each.place}*}}] -to {target}")
    return _HEADER + "\n".join(lines) + "\n"


def lpf(board: Board, listed: Iterable[Crossing]) -> str:
    """Preferences for Diamond; nextpnr has none for paths between clocks."""
    lines = []
    for each in listed:
        if each.source == ASYNCHRONOUS:
            lines.append(f'BLOCK PATH TO CELL "{each.place}.first*";')
            continue
        end = f'TO CELL "{each.place}.first*"' if each.kind == "synchroniser" else f'FROM CELL "{each.place}*"'
        lines.append(f"MAXDELAY {end} {_bound(board, each)} NS;")
    return _HEADER + "\n".join(lines) + "\n"


def constraints(board: Board, listed: Iterable[Crossing]) -> dict[Path, str]:
    """The files of a board's constraints, with their text."""
    listed, home = list(listed), fpga_root() / "boards" / board.name
    if board.cage:
        return {home / "ethernet" / "crossings.xdc": xdc(board, listed)}
    return {home / "crossings.lpf": lpf(board, listed), home / "crossings.sdc": sdc(board, listed)}


if __name__ == "__main__":
    for board in BOARDS.values():
        if board.ecp5 or board.cage:
            for path, text in constraints(board, board_crossings(board)).items():
                path.write_text(text, encoding="utf-8")
