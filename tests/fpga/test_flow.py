# SPDX-License-Identifier: Apache-2.0
"""The flow around the engines: register maps, generated files, synthesis reports, lint."""

import json
import re
import shutil
from pathlib import Path

import pytest
from offramp_pynq import registers as drivers
from typer.testing import CliRunner

from offramp.fpga import pairing, registers, sources, synth
from offramp.fpga.depth import Depth
from offramp_base.errors import OfframpError
from offramp_cli.app import app

pytestmark = pytest.mark.rtl
pytest.importorskip("systemrdl")


@pytest.mark.parametrize("name", sources.register_maps())
def test_every_map_begins_with_magic_and_a_version_of_its_own(name):
    register_set = registers.register_map(name)
    offsets = {entry.name: entry.offset for entry in register_set.registers}
    assert (offsets["MAGIC"], offsets["VERSION"]) == (0, 4)
    assert offsets.get("CONTROL", 8) == 8
    versions = [registers.register_map(other).version for other in sources.register_maps()]
    assert versions.count(register_set.version) == 1


@pytest.mark.parametrize("name", sources.register_maps())
def test_header_verilog_and_python_say_the_same(name, tmp_path):
    register_set = registers.register_map(name)
    header = registers.write_header(name, tmp_path).read_text()
    assert re.search(rf"typedef struct.*{name}", header, re.DOTALL)
    for register in register_set.registers:
        assert f'"{register.name}": 0x{register.offset:02X},' in registers.python_text()
        assert re.search(rf"\b{register.name}\b", header)
    assert "generated" in Path(drivers.__file__).read_text().splitlines()[1]
    assert Path(drivers.__file__).read_text() == registers.python_text()
    assert f"module {name} (" in registers.write_verilog(name, tmp_path).read_text()


def test_an_unknown_map_and_an_unknown_module_are_named():
    with pytest.raises(OfframpError, match="register map none_regs: expected one of"):
        registers.register_map("none_regs")
    with pytest.raises(OfframpError, match="FPGA module none: expected one of"):
        sources.closure("none")


def test_a_synthesis_report_without_cells_is_an_error(tmp_path):
    report = tmp_path / "stat.json"
    with pytest.raises(OfframpError, match="no report of a synthesis"):
        synth.read_report(report, 0)
    report.write_text("")
    with pytest.raises(OfframpError, match="no report of a synthesis"):
        synth.read_report(report, 0)
    report.write_text(json.dumps({"design": {"num_cells_by_type": {"BUFG": 1}}}))
    with pytest.raises(OfframpError, match="has no cells"):
        synth.read_report(report, 0)
    report.write_text(json.dumps({"design": {"num_cells_by_type": {"$mul": 1, "LUT6": 3}}}))
    with pytest.raises(OfframpError, match=r"1 cells \$mul were not mapped"):
        synth.read_report(report, 0)


def test_cells_are_weighed_as_the_chip_counts_them(tmp_path):
    report = tmp_path / "stat.json"
    cells = {"LUT6": 10, "RAM32M16": 2, "SRL16E": 1, "FDRE": 7, "RAMB18E2": 3, "RAMB36E2": 1, "URAM288": 2, "CARRY4": 9}
    report.write_text(json.dumps({"design": {"num_cells_by_type": cells}}))
    outcome = synth.read_report(report, 6)
    assert outcome.counts == {"functions": 10, "LUT": 6 + 17, "FF": 7, "BRAM": 2.5, "URAM": 2, "DSP": 0}
    assert outcome.share["URAM"] == pytest.approx(100 * 2 / 640)


def test_small_functions_share_a_site():
    assert pairing.pack([]) == 0
    assert pairing.pack([frozenset({0, 2 * n + 1, 2 * n + 2}) for n in range(8)]) == 4  # a mux of two, eight bits
    assert pairing.pack([frozenset(range(6)), frozenset(range(6))]) == 2
    assert pairing.pack([frozenset({1, 2}), frozenset({3, 4, 5})]) == 1
    assert pairing.pack([frozenset({1, 2, 3}), frozenset({4, 5, 6})]) == 2
    lut = {"type": "LUT2", "connections": {"I0": [1], "I1": ["0"], "O": [9]}}
    leaf = {"cells": {"a": lut, "b": lut | {"connections": {"I0": [2], "I1": [3], "O": [8]}}}}
    top = {"cells": {"x": {"type": "leaf"}, "y": {"type": "leaf"}, "z": {"type": "FDRE", "connections": {}}}}
    assert pairing.sites({"modules": {"leaf": leaf, "top": top, "FDRE": {"cells": {}}}}, "top") == 2


def test_a_build_that_was_killed_leaves_nothing(tmp_path, monkeypatch, simulator):
    from offramp_sim.rtl.build import Design, build

    monkeypatch.setenv("OFFRAMP_RTL_CACHE", str(tmp_path))
    folder = build(Design("skid_buffer"), simulator)
    (folder / ".complete").unlink()
    (folder / "half.o").touch()
    assert build(Design("skid_buffer"), simulator) == folder
    assert (folder / ".complete").exists()
    assert not (folder / "half.o").exists()


@pytest.mark.skipif(not shutil.which("yosys"), reason="needs yosys")
def test_yosys_maps_the_fifo(tmp_path, monkeypatch):
    """In a folder relative to the caller's; yosys runs in that folder."""
    monkeypatch.chdir(tmp_path)
    resources = synth.ultrascale("fifo", {"WIDTH": 64, "DEPTH": 32}, Path("out")).resources
    assert 12 <= resources.counts["FF"] <= 20  # two pointers of six bits
    assert 16 < resources.counts["LUT"] < 120


@pytest.mark.skipif(not shutil.which("yosys"), reason="needs yosys")
def test_lint_reads_every_module_and_finds_planted_faults(tmp_path, monkeypatch):
    from offramp_sim.rtl import lint
    from offramp_sim.rtl.build import missing

    if lacking := missing("verilator") or missing("icarus"):
        pytest.skip(f"needs {lacking}")
    faults = [fault for module in lint.roots() for fault in lint.faults(module)]
    assert not faults, "\n".join(faults)
    planted = tmp_path / "planted.sv"
    planted.write_text("module planted (input wire a, output reg y);\n  always @* if (a) y = 1'b1;\nendmodule\n")
    real = sources.modules()
    monkeypatch.setattr(sources, "modules", lambda: real | {"planted": planted})
    assert any("LATCH" in fault for fault in lint.faults("planted"))
    planted.write_text("module planted (input wire a, output wire y);\n  assign y = b;\nendmodule\n")
    tools = {fault.split(": ")[1] for fault in lint.faults("planted")}
    assert {"verilator", "icarus"} <= tools


def test_lint_names_the_readers_that_are_not_installed(monkeypatch):
    from offramp_sim.rtl import lint

    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(OfframpError, match=r"^fpga lint: needs iverilog, yosys: apt-get install iverilog yosys$"):
        lint.faults("kvs_lookup")


def test_a_python_without_its_shared_library_is_named(monkeypatch):
    """As on a fresh Debian: cocotb would end each bench with a traceback."""
    find_libpython = pytest.importorskip("find_libpython")
    from offramp_sim.rtl.build import Design, build

    monkeypatch.delenv("LIBPYTHON_LOC", raising=False)
    monkeypatch.setattr(find_libpython, "find_libpython", lambda: None)
    with pytest.raises(OfframpError, match=r"needs .*Python's shared library \(apt-get install libpython3\.\d+\)$"):
        build(Design("skid_buffer", {"WIDTH": 8}), "icarus")


def test_names_of_engines_are_whole_at_80_columns(monkeypatch):
    counts = dict.fromkeys(("LUT", "FF", "BRAM", "URAM"), 1)
    synthesis = synth.Synthesis(synth.Resources(counts, counts), Depth(7, 31, (), ()))
    monkeypatch.setattr(synth, "ultrascale", lambda *_, **__: synthesis)
    done = CliRunner().invoke(app, ["fpga", "synth", "path_router", "--no-fmax"], env={"COLUMNS": "80"})
    assert done.exit_code == 0
    assert "\npath_router\n" in done.output
    assert "…" not in done.output
