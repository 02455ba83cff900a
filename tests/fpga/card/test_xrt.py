# SPDX-License-Identifier: Apache-2.0
"""The host program of an Alveo card, compiled against a stand-in of XRT's headers, and kernels of the RTL."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from offramp_pynq.cores import registers_at

from offramp.fpga.kernels import arguments
from offramp.fpga.ports import interface_of
from offramp.fpga.registers import write_header
from offramp.fpga.sources import fpga_root
from offramp_sim.rtl.board import SimulatedBoard
from offramp_sim.rtl.build import missing

pytestmark = [pytest.mark.rtl, pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")]
ENGINES = ("kvs_lookup", "reduce")
STAND_IN = Path(__file__).parents[2] / "support" / "xrt"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of ``fpga/boards/u50``."""
    pytest.importorskip("peakrdl_cheader")
    folder = tmp_path_factory.mktemp("check")
    for engine in ENGINES:
        write_header(f"{engine}_regs", folder)
    source, binary = fpga_root() / "boards" / "u50" / "check.cpp", folder / "check"
    warnings = ["-Wall", "-Wextra", "-Werror", "-Wconversion"]
    command = ["g++", "-std=c++17", *warnings, f"-I{STAND_IN}", f"-I{folder}", "-o", str(binary), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return binary


def described(engines: tuple[str, ...], path: Path) -> Path:
    """A file that the stand-in of the headers takes for an xclbin."""
    lines = [
        f"{engine}_kernel {registers_at(engine)} {place} {one.offset} {one.bits} {int(bool(one.port))}"
        for engine in engines
        for place, one in enumerate(arguments(interface_of(engine, {})))
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def run(program: Path, board: SimulatedBoard, xclbin: Path) -> tuple[int, str, str]:
    environment = os.environ | {"OFFRAMP_XRT_BUS": str(board.socket), "OFFRAMP_XRT_DRAM": str(board.dram)}
    command = [str(program), str(xclbin)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "listening\n"
            board.start()
            said, errors = process.communicate(timeout=120)
        finally:
            process.kill()
    return process.returncode, said, errors


def test_the_host_program_looks_up_and_sums_through_kernels_of_the_rtl(program: Path, tmp_path: Path) -> None:
    if lacking := missing("icarus"):
        pytest.skip(f"needs {lacking}")
    board = SimulatedBoard("icarus", ENGINES, kernels=True)
    try:
        code, said, errors = run(program, board, described(ENGINES, tmp_path / "engines.xclbin"))
        assert (code, errors) == (0, ""), board.log()
        lookups, sums = said.splitlines()
        assert lookups.startswith("kvs_lookup: 2 look-ups, ")
        assert sums.startswith("reduce: a sum of 2 vectors, ")
        assert all(40 < int(line.split()[-2]) < 400 for line in (lookups, sums))  # memory answers after 40 cycles
    finally:
        board.close()


def test_without_the_kernel_or_the_card_the_host_program_says_so(program: Path, tmp_path: Path) -> None:
    bare = {name: value for name, value in os.environ.items() if not name.startswith("OFFRAMP_XRT")}
    done = subprocess.run(
        [str(program), str(described(("reduce",), tmp_path / "engines.xclbin"))],
        capture_output=True,
        text=True,
        check=False,
        env=bare,
        timeout=30,
    )
    assert (done.returncode, done.stderr) == (1, "check: no such device\n")
    assert subprocess.run([str(program)], capture_output=True, check=False, timeout=30).returncode == 2
