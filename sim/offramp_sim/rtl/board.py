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

from offramp.fpga.sources import fpga_root
from offramp_base.ending.left import temporary_folder
from offramp_sim.rtl.build import Design, build
from offramp_sim.rtl.overlay import USUAL, write_overlay

DRAM_BYTES: Final = 16 << 20
_RUN: Final = """
import json, sys
from pathlib import Path
from offramp_sim.rtl.bench import run_bench
from offramp_sim.rtl.build import Design
chosen = json.loads(sys.argv[1])
design = Design("engines", extra=(Path(chosen["overlay"]),))
run_bench(design, chosen["simulator"], Path(chosen["bench"]), Path(chosen["work"]), settings=chosen["settings"])
"""


class Board:
    """Runs from its making until :meth:`close`.

    Attributes:
        socket: path on which the first who listens is connected to the bus.
        dram: file with the board's memory.
    """

    def __init__(self, simulator: str = "verilator", engines: Sequence[str] = USUAL) -> None:
        """Build the simulation if the cache lacks it. :meth:`start` it when somebody listens on ``socket``.

        Raises:
            OfframpError: the simulator is missing, or the RTL does not build.
        """
        self._simulator, self._engines = simulator, tuple(engines)
        self._folder = temporary_folder()
        work = Path(self._folder.name)
        try:
            build(Design("engines", extra=(write_overlay(self._engines, work),)), simulator)
        except BaseException:
            self._folder.cleanup()
            raise
        self.socket, self.dram = work / "bus", work / "dram"
        with self.dram.open("wb") as file:
            file.truncate(DRAM_BYTES)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Power on."""
        work = Path(self._folder.name)
        chosen = {
            "overlay": str(work / "engines.sv"),
            "simulator": self._simulator,
            "bench": str(Path(__file__).with_name("board_bench.py")),
            "work": self._folder.name,
            "settings": {"socket": str(self.socket), "dram": str(self.dram), "engines": self._engines},
        }
        with (work / "board.log").open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _RUN, json.dumps(chosen)],
                stdout=log,
                stderr=log,
                env=os.environ | {"PYTHONPATH": os.pathsep.join([*sys.path, str(fpga_root() / "pynq")])},
            )

    def alive(self) -> bool:
        """Whether it runs."""
        return self._process is not None and self._process.poll() is None

    def log(self) -> str:
        """The last lines of what the simulator said."""
        path = Path(self._folder.name) / "simulation.log"
        return "\n".join(path.read_text(errors="replace").splitlines()[-20:]) if path.exists() else ""

    def close(self) -> None:
        """Power off; twice does no harm."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        self._folder.cleanup()
