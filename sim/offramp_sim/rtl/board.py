# SPDX-License-Identifier: Apache-2.0
"""A board with the overlay in simulation, as a process of its own with a bus on a Unix socket and DRAM in a file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from offramp.fpga.kernels import arguments
from offramp.fpga.ports import interface_of
from offramp.fpga.sources import fpga_root
from offramp_base.ending.children import stop_group
from offramp_base.ending.left import temporary_folder
from offramp_sim.rtl.build import Design, build
from offramp_sim.rtl.overlay import USUAL, write_kernels, write_overlay

DRAM_BYTES: Final = 16 << 20
END_S: Final = 10.0
"""Seconds that a simulator may take to end."""
_RUN: Final = """
import json, sys
from pathlib import Path
from offramp_sim.rtl.bench import run_bench
from offramp_sim.rtl.build import Design
chosen = json.loads(sys.argv[1])
design = Design("engines", extra=tuple(map(Path, chosen["sources"])))
run_bench(design, chosen["simulator"], Path(chosen["bench"]), Path(chosen["work"]), settings=chosen["settings"])
"""


class SimulatedBoard:
    """A simulated board, which exists until :meth:`close`.

    Attributes:
        socket: path of a Unix socket; the board connects its bus to the listener there.
        dram: file with the board's memory.
        xclbin: description of the board's kernels for XRT's stand-in, if it has kernels.
    """

    def __init__(self, simulator: str = "verilator", engines: Sequence[str] = USUAL, *, kernels: bool = False) -> None:
        """Build the simulation if the cache lacks it; call :meth:`start` once a process listens on ``socket``.

        Args:
            simulator: ``icarus`` or ``verilator``.
            engines: engines of the board.
            kernels: whether the engines are behind XRT's shells, as on an Alveo card, in place of DMA engines.

        Raises:
            OfframpError: the simulator is missing, or the RTL does not build.
        """
        self._simulator, self._engines, self._kernels = simulator, tuple(engines), kernels
        self._folder = temporary_folder()
        work = Path(self._folder.name)
        try:
            write = write_kernels if kernels else _write_alone
            self._sources = write(self._engines, work)
            build(Design("engines", extra=tuple(self._sources)), simulator)
        except BaseException:
            self._folder.cleanup()
            raise
        self.socket, self.dram, self.xclbin = work / "bus", work / "dram", work / "engines.xclbin"
        if kernels:
            self.xclbin.write_text(_metadata(self._engines), encoding="utf-8")
        with self.dram.open("wb") as file:
            file.truncate(DRAM_BYTES)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Power the board on."""
        work = Path(self._folder.name)
        chosen = {
            "sources": [str(path) for path in self._sources],
            "simulator": self._simulator,
            "bench": str(Path(__file__).with_name("board_bench.py")),
            "work": self._folder.name,
            "settings": {
                "socket": str(self.socket),
                "dram": str(self.dram),
                "engines": self._engines,
                "kernels": self._kernels,
            },
        }
        with (work / "board.log").open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _RUN, json.dumps(chosen)],
                stdout=log,
                stderr=log,
                env=os.environ | {"PYTHONPATH": os.pathsep.join([*sys.path, str(fpga_root() / "pynq")])},
                process_group=0,  # the simulator, which is a child of this child, ends with it
            )

    def alive(self) -> bool:
        """Whether the simulation is running."""
        return self._process is not None and self._process.poll() is None

    def log(self) -> str:
        """The last lines of the simulator's output."""
        path = Path(self._folder.name) / "simulation.log"
        return "\n".join(path.read_text(errors="replace").splitlines()[-20:]) if path.exists() else ""

    def close(self) -> None:
        """Power off; further calls do nothing."""
        if self._process is not None:
            stop_group(self._process, END_S)
            self._process = None
        self._folder.cleanup()


def _write_alone(engines: Sequence[str], folder: Path) -> list[Path]:
    return [write_overlay(engines, folder)]


def _metadata(engines: Sequence[str]) -> str:
    """Arguments of each kernel as in Vitis's metadata, as JSON."""
    kernels = {f"{name}_kernel": [one._asdict() for one in arguments(interface_of(name, {}))] for name in engines}
    return json.dumps({"kernels": kernels})
