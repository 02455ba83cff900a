# SPDX-License-Identifier: Apache-2.0
"""Builds in the cache serve every Python environment of the machine, also after the one that made them is gone."""

import os
import subprocess

import pytest

from offramp.fpga.sources import include_option
from offramp_sim.rtl.build import Design, _verilator, build, libraries, tools
from offramp_sim.rtl.runtime import OBJECTS, verilator_runtime

pytestmark = pytest.mark.rtl
FIFO = Design("fifo")


@pytest.mark.slow
def test_a_build_does_not_remember_its_environment(fast):
    program = build(FIFO, fast) / "fifo"
    dynamic = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
    assert "libcocotbvpi_verilator" in dynamic
    assert "path" not in dynamic.lower()
    needed = subprocess.run(["ldd", program], capture_output=True, text=True, env=os.environ | libraries(), check=True)
    assert "not found" not in needed.stdout


def test_the_next_build_would_not_either(fast, tmp_path):
    """By the commands that make would run now: the build above may be an old one."""
    verilate, make = _verilator(FIFO, tmp_path)
    with tools(fast):
        subprocess.run([*verilate, include_option(), *FIFO.sources()[0]], cwd=tmp_path, capture_output=True, check=True)
        shown = subprocess.run([*make, "--dry-run"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "-lcocotbvpi_verilator" in shown
    assert "rpath" not in shown
    # Others get the runtime's objects, and the design's object has another size there.
    for name in OBJECTS:
        (command,) = (line for line in shown.splitlines() if f" -o {name} " in line)
        assert "Vtop" not in command


def test_a_build_leaves_what_the_next_need_not_compile(tmp_path):
    kept, first, second = tmp_path / "kept", tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    with verilator_runtime(kept, first):
        assert not list(first.iterdir())
        for name in (*OBJECTS[:2], "Vtop.o"):
            (first / name).write_text(f"{name} as the first compiled it")
    with verilator_runtime(kept, second):
        assert {path.name for path in second.iterdir()} == set(OBJECTS[:2])
        (second / OBJECTS[2]).write_text("compiled by the second")
    with pytest.raises(RuntimeError, match="does not build"), verilator_runtime(kept, first):
        raise RuntimeError("does not build")
    assert sorted(path.name for path in kept.iterdir()) == sorted(OBJECTS[:3])
    assert (kept / OBJECTS[0]).read_text() == f"{OBJECTS[0]} as the first compiled it"
