# SPDX-License-Identifier: Apache-2.0
"""An FPGA card in simulation: the board's RTL in one process, PYNQ with its drivers in another.

``python -m offramp_sim.rtl.card SOCKET`` runs until the host at the Unix socket leaves. PYNQ conflicts with other
packages, so it has its own environment, which is made at first use (``OFFRAMP_PYNQ`` names a Python that has it).
With ``--shell xrt`` the engines are kernels, and the drivers speak to a stand-in of XRT's ``pyxrt``.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from offramp.fpga.sources import fpga_root
from offramp_base.errors import OfframpError
from offramp_base.tools import default_folder, ensure
from offramp_sim.rtl.board import SimulatedBoard
from offramp_sim.rtl.build import missing
from offramp_sim.rtl.overlay import engines_of

PYNQ: Final = "pynq>=4"
STAND_IN: Final = Path(__file__).with_name("xrt")
"""Folder in which a Python finds ``pyxrt`` of a simulated card."""


def command(host: Path, options: Sequence[str]) -> list[str]:
    """Command that starts a card for the host that listens on this Unix socket."""
    return [sys.executable, "-m", "offramp_sim.rtl.card", str(host), *options]


def pynq_python() -> Path:
    """A Python that has PYNQ, made if needed.

    Raises:
        OfframpError: it cannot be installed.
    """
    chosen = os.environ.get("OFFRAMP_PYNQ")
    return Path(chosen) if chosen else ensure(default_folder("pynq"), PYNQ)


def run(host: str, simulator: str, engines: Sequence[str], shell: str) -> int:
    """Serve ``host`` until it leaves; returns the exit status of the process that ended first.

    Raises:
        OfframpError: the simulator or PYNQ is missing.
    """
    if lacking := missing(simulator):
        raise OfframpError(f"simulating RTL with {simulator} needs {lacking}")
    python = pynq_python() if shell == "pynq" else Path(sys.executable)
    board = SimulatedBoard(simulator, engines, kernels=shell == "xrt")
    start = [str(python), "-W", "ignore", "-m", "offramp_pynq.agent", "--connect", host]
    environment = os.environ | {"PYTHONPATH": str(fpga_root() / "pynq")}
    if shell == "pynq":
        start += ["--bus", str(board.socket), "--dram", str(board.dram), "--engines", ",".join(engines)]
    else:
        start += ["--xclbin", str(board.xclbin)]
        environment |= {"OFFRAMP_XRT_BUS": str(board.socket), "OFFRAMP_XRT_DRAM": str(board.dram)}
        environment["PYTHONPATH"] += f"{os.pathsep}{STAND_IN}"
    parent = os.getppid()
    try:
        with subprocess.Popen(start, stdout=subprocess.PIPE, text=True, env=environment) as agent:
            assert agent.stdout is not None
            try:
                if agent.stdout.readline().strip() != "listening":
                    raise OfframpError("the agent of the simulated card does not start")
                board.start()
                while agent.poll() is None and board.alive() and os.getppid() == parent:
                    time.sleep(0.1)
            finally:
                agent.terminate()
        return agent.returncode if agent.returncode and agent.returncode > 0 else 0
    finally:
        board.close()


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("host", help="Unix socket on which the host listens")
    parser.add_argument("--simulator", default="icarus", choices=("icarus", "verilator"))
    parser.add_argument("--engines", default="", help="separated by commas or +; the usual ones by default")
    parser.add_argument("--shell", default="pynq", choices=("pynq", "xrt"), help="what is around the engines")
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the processes below are ended
    try:
        return run(chosen.host, chosen.simulator, engines_of(chosen.engines), chosen.shell)
    except OfframpError as error:
        sys.stderr.write(f"{error}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main())
