"""Bitstreams and boards: the ECP5 demonstrator for real, vendors' projects complete, nothing written unasked."""

import pytest
from typer.testing import CliRunner

from offramp.cli.app import app
from offramp.errors import OfframpError
from offramp.fpga.boards import board_of, build
from offramp.fpga.tools import wasm_tool

pytestmark = pytest.mark.rtl


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_ulx3s_bitstream_meets_its_clock(tmp_path):
    made = build(board_of("ulx3s"), tmp_path)
    assert made.timing.fmax_mhz >= 25
    assert 0 < made.timing.used["TRELLIS_COMB"] < 0.5 * made.timing.available["TRELLIS_COMB"]
    content = made.files[0].read_bytes()
    assert len(content) > 100_000
    assert b"LFE5U-85F" in content[:200]


@pytest.mark.parametrize("name", ["pynq-z2", "u50"])
def test_a_vendors_project_has_all_its_sources(name, tmp_path, monkeypatch):
    pytest.importorskip("peakrdl_etana")
    monkeypatch.setenv("PATH", "/nowhere")
    made = build(board_of(name), tmp_path)
    assert made.project_only
    assert all(path.is_file() for path in made.files)
    names = {path.name for path in made.files}
    assert {"project.tcl", "kvs_lookup.sv", "kvs_lookup_regs.sv", "reduce.sv", "fp32_add.sv"} <= names


def test_flash_says_what_it_would_do_and_asks(tmp_path):
    bitstream = tmp_path / "ulx3s.bit"
    bitstream.write_bytes(b"bits")
    dry = CliRunner().invoke(app, ["fpga", "flash", str(bitstream), "--dry-run"])
    assert dry.exit_code == 0
    assert dry.output.strip() == f"openFPGALoader --board ulx3s --write-flash --verify {bitstream}"
    asked = CliRunner().invoke(app, ["fpga", "flash", str(bitstream)], input="n\n")
    assert isinstance(asked.exception, OfframpError)
    assert "nothing was written" in str(asked.exception)
    missing = CliRunner().invoke(app, ["fpga", "flash", str(bitstream), "--yes"], env={"PATH": "/nowhere"})
    assert "openFPGALoader: not found" in str(missing.exception)


def test_bad_boards_and_bitstreams_are_named(tmp_path):
    with pytest.raises(OfframpError, match="board de10: expected one of ulx3s, pynq-z2, u50"):
        board_of("de10")
    found = CliRunner().invoke(app, ["fpga", "flash", str(tmp_path / "none.bit"), "--board", "u50"])
    assert "offramp fpga build --board u50 makes one" in str(found.exception)
    with pytest.raises(OfframpError, match="needs the package no-such-tool"):
        wasm_tool("no_such_tool", "run")
