# SPDX-License-Identifier: Apache-2.0
"""Benches with cocotb's own runner and cocotbext-axi (``examples/rtl``), as somebody with only the wheel writes them.

Slow: an environment of its own, of packages from pip's index.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from installed_wheel import build_wheel, install
from offramp.fpga.sources import register_maps
from offramp_sim.rtl.build import missing

pytestmark = pytest.mark.rtl
FOLDER = Path(__file__).parents[2] / "examples" / "rtl"
ENGINES = ("reduce", "ebs_lookup", "kvs_lookup", "p2p_dma", "path_router", "quantpack")


def run(engine: str, simulator: str, out: Path, program: Path = FOLDER / "run.py", python: str = sys.executable) -> str:
    """What the bench says, in an environment that is not activated: no ``python`` is on its path."""
    if lacking := missing(simulator):
        pytest.skip(f"{simulator} needs {lacking}")
    programs = out / "programs"
    programs.mkdir()
    for folder in map(Path, os.environ["PATH"].split(os.pathsep)):
        for path in folder.iterdir() if folder.is_dir() and folder != Path(sys.executable).parent else ():
            if path.name != "python" and not (programs / path.name).is_symlink():
                (programs / path.name).symlink_to(path)
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH" or python == sys.executable}
    variables |= {"OUT": str(out), "PATH": str(programs)}
    done = subprocess.run(
        [python, str(program), engine, simulator],
        cwd=out, env=variables, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    """A Python of somebody who installed the wheel from the index, with a copy of the example and no checkout."""
    folder = tmp_path_factory.mktemp("stranger")
    python = install(build_wheel(folder), folder, "fpga") / "python"
    return str(python), Path(shutil.copytree(FOLDER, folder / "bench")) / "run.py"


def test_every_engine_has_a_bench():
    engines = {name.removesuffix("_regs") for name in register_maps()} - {"allreduce", "switchgnn"}  # in no stream
    assert engines == set(ENGINES)
    text = (FOLDER / "bench_engines.py").read_text("utf-8")
    assert all(f"async def {engine}(dut)" in text for engine in ENGINES)


def test_the_bench_passes(tmp_path):
    said = run("path_router", "icarus", tmp_path)
    assert said.rstrip().endswith("path_router: passed with icarus"), said[-2000:]


@pytest.mark.slow
@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
@pytest.mark.parametrize("engine", ENGINES)
def test_the_bench_passes_where_the_wheel_is_installed(engine, simulator, tmp_path, stranger):
    python, program = stranger
    said = run(engine, simulator, tmp_path, program, python)
    assert said.rstrip().endswith(f"{engine}: passed with {simulator}"), said[-2000:]


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
