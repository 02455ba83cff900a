# SPDX-License-Identifier: Apache-2.0
"""Bitstreams and boards: the ECP5 demonstrator for real, vendors' projects complete, nothing written unasked."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from offramp_pynq import cores
from typer.testing import CliRunner

from offramp.fpga import boards, overlay, sources
from offramp.fpga.boards import BOARDS, board_sources, build, check_bitstream
from offramp.fpga.card_parameters import RULES
from offramp.fpga.kernels import arguments, memory_ports, ways, write_kernel
from offramp.fpga.ports import expanded, interface_of, read_interface
from offramp.fpga.tools import run_tool, wasm_tool
from offramp_base.errors import OfframpError
from offramp_cli.app import app
from offramp_sim.rtl.build import Design, missing
from offramp_sim.rtl.build import build as compile_rtl

pytestmark = pytest.mark.rtl


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_ulx3s_bitstream_meets_its_clock(tmp_path):
    built = build(BOARDS["ulx3s"], tmp_path)
    assert built.timing.fmax_mhz >= 25
    assert 0 < built.timing.used["TRELLIS_COMB"] < 0.5 * built.timing.available["TRELLIS_COMB"]
    content = built.files[0].read_bytes()
    assert len(content) > 100_000
    assert b"LFE5U-85F" in content[:200]


@pytest.mark.skipif(not shutil.which("yosys"), reason="needs yosys")
def test_yosys_finds_the_sources_of_a_board_built_in_a_relative_folder(tmp_path, monkeypatch):
    """The default of ``offramp fpga build``. Yosys runs in that folder, and only reads here."""

    class ReadError(Exception):
        pass

    def read(command, folder, log):
        script, synthesis, rest = command[-1].partition("synth_ecp5 ")
        assert rest == "-top ulx3s -json ulx3s.json"
        assert synthesis
        run_tool([*command[:-1], script], folder, log)
        raise ReadError

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(boards, "run_tool", read)
    with pytest.raises(ReadError):
        build(BOARDS["ulx3s"], Path("out/fpga/ulx3s"))


@pytest.mark.parametrize("name", ["pynq-z2", "u50"])
def test_a_vendors_project_has_all_its_sources(name, tmp_path, monkeypatch):
    pytest.importorskip("peakrdl_etana")
    monkeypatch.setenv("PATH", "/nowhere")
    built = build(BOARDS[name], tmp_path)
    assert built.project_only
    assert all(path.is_file() for path in built.files)
    names = {path.name for path in built.files}
    assert {"project.tcl", "kvs_lookup.sv", "kvs_lookup_regs.sv", "reduce.sv", "fp32_add.sv", "axi.svh"} <= names


VIVADO = """
set said [open said.log w]
proc unknown {args} { puts $::said $args; return [lindex $args end] }
proc get_property {name args} { return [dict get {PROGRESS 100% SLACK 0.1 STATUS done} $name] }
proc get_bd_intf_nets {args} { return {} }
proc get_bd_intf_pins {args} { return [lindex $args end] }
rename file tcl_file
proc file {verb args} { if {$verb ne "copy"} { return [tcl_file $verb {*}$args] } }
source project.tcl
close $said
"""


@pytest.mark.skipif(not shutil.which("tclsh"), reason="needs tclsh")
@pytest.mark.parametrize("name", ["pynq-z2", "u50", "u50/ethernet"])
def test_a_vendors_script_runs_to_its_end_where_every_command_of_vivados_succeeds(name, tmp_path, monkeypatch):
    """Tcl's own part: quotes, lists, loops. What Vivado makes of its commands is not seen here."""
    pytest.importorskip("peakrdl_etana")
    with monkeypatch.context() as patch:
        patch.setenv("PATH", "/nowhere")
        build(BOARDS[name.partition("/")[0]], tmp_path)
    tmp_path = tmp_path.joinpath(*name.split("/")[1:])
    for path in ("engines.sv", "project/engines.gen/sources_1/bd/engines/hw_handoff/engines.hwh"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    (tmp_path / "vivado.tcl").write_text(VIVADO)
    done = subprocess.run(
        ["tclsh", "vivado.tcl"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=30
    )
    assert done.returncode == 0, done.stderr
    said = (tmp_path / "said.log").read_text()
    if name == "u50":
        assert said.count("package_xo") == len(BOARDS[name].kernels) == 5
        registers = {(name, words[0]) for name in BOARDS[name].kernels for words in arguments(interface_of(name, {}))}
        assert said.count("ipx::add_register ") == len(registers) + 4 * 5
        assert said.count("ASSOCIATED_BUSIF") == 2 * 5 + 2 + 3 + 3
        return
    if name == "u50/ethernet":
        check_the_cage(said)
        return
    check_the_overlay(BOARDS[name], said)


def check_the_cage(said):
    """One kernel without control, a CMAC, and the two interfaces whose pins are the cage's."""
    assert re.findall(r"^package_xo .* -kernel_name (\w+) .* -ctrl_protocol (\w+)$", said, re.MULTILINE) == [
        ("ethernet_card", "ap_ctrl_none")
    ]
    assert said.count("create_ip -name cmac_usplus ") == 1
    assert "CONFIG.GT_REF_CLK_FREQ 161.1328125" in said
    buses = re.findall(
        r"^ipx::add_bus_interface (\w+) .*\n.*\nset_property abstraction_type_vlnv (\S+) ", said, re.MULTILINE
    )
    assert buses == [
        ("gt_refclk", "xilinx.com:interface:diff_clock_rtl:1.0"),
        ("gt_port", "xilinx.com:interface:gt_rtl:1.0"),
    ]


def check_the_overlay(board, said):
    """Every interface of every cell is joined to one other, and cells have the names that drivers look for."""
    cells_made = re.findall(r"^create_bd_cell -type (?:module -reference|ip -vlnv) (\S+) (\w+)$", said, re.MULTILINE)
    cells = {cell: kind for kind, cell in cells_made if cell != "ps"}
    assert cells == {name: f"{name}_core" for name in board.overlay} | {
        dma: "xilinx.com:ip:axi_dma" for name in board.overlay for dma in cores.DMAS[name]
    }
    joined = re.findall(r"Master /(\S+) Slave /(\S+) ", said) + re.findall(
        r"^connect_bd_intf_net (\S+) (\S+)$", said, re.MULTILINE
    )
    ends = [end for pair in joined for end in pair if not end.startswith("ps/")]
    assert len(ends) == len(set(ends))
    wanted = {f"{name}/{port}" for name in board.overlay for port in interfaces(interface_of(name, {}))}
    dma = ("S_AXI_LITE", "M_AXI_MM2S", "M_AXI_S2MM", "M_AXIS_MM2S", "S_AXIS_S2MM")
    assert set(ends) == wanted | {f"{cell}/{port}" for cell in cells.keys() - board.overlay.keys() for port in dma}
    ports = {slave for _, slave in joined if slave.startswith("ps/")}
    assert ports == {f"ps/S_AXI_HP{place}" for place in range(4)}


def interfaces(engine):
    """Its buses, by what stands before the names of their signals."""
    return {port.name.rpartition("_")[0] for port in engine.ports} - {""}


@pytest.mark.parametrize("name", sorted(overlay.DMAS))
def test_drivers_and_overlays_know_the_same_streams_and_memories(name):
    engine = interface_of(name, {})
    pairs = dict(zip(overlay.DMAS[name], map(tuple, ways(engine)), strict=True))
    assert pairs == cores.DMAS[name]
    assert tuple(memory_ports(engine)) == cores.MEMORY_PORTS.get(name, ())


@pytest.mark.skipif(not shutil.which("yosys"), reason="needs yosys")
@pytest.mark.parametrize("name", [*sorted(overlay.DMAS), "path_router", "kernel_shell", "udp_card", "udp_card_cmac"])
def test_ports_are_those_that_yosys_reads(name, tmp_path):
    """Our reader of macros against a preprocessor that is not ours."""
    source, read = sources.modules()[name], tmp_path / "read.json"
    script = f"read_verilog -sv -lib {sources.include_option()} {source}; write_json {read}"
    subprocess.run(["yosys", "-q", "-p", script], check=True, capture_output=True, timeout=60)
    expected = {
        port: (entry["direction"], len(entry["bits"]))
        for port, entry in json.loads(read.read_text())["modules"][name]["ports"].items()
    }
    engine = interface_of(name, {})
    assert {port.name: (port.direction, bits(port.width, engine.parameters)) for port in engine.ports} == expected


def bits(width, parameters):
    """Bits of a port whose width is written with parameters."""
    for parameter, value in parameters.items():
        width = re.sub(rf"\b{parameter}\b", value, width)
    highest = re.fullmatch(r"\[([\d+*/ -]+):0\]|", width)[1]
    return eval(highest.replace("/", "//")) + 1 if highest else 1


@pytest.mark.parametrize("name", BOARDS["pynq-z2"].overlay)
def test_a_block_design_takes_the_engines_as_verilog(name, tmp_path):
    """UG994: a module reference is to Verilog; what is inside of it may be SystemVerilog."""
    if lacking := missing("icarus"):
        pytest.skip(f"needs {lacking}")
    script, core = overlay.write_engines({name: BOARDS["pynq-z2"].overlay[name]}, tmp_path)
    width = BOARDS["pynq-z2"].overlay[name]["WIDTH"]
    assert f"    {name} {width} {{{{" in script.read_text()
    compile_rtl(Design(core.stem, extra=(core,)), "icarus")
    if shutil.which("yosys"):
        subprocess.run(["yosys", "-q", "-p", f"read_verilog {core}"], check=True, capture_output=True, timeout=60)


@pytest.mark.parametrize("engine", BOARDS["u50"].kernels)
def test_a_kernel_elaborates_and_has_the_ports_that_vitis_wants(engine, tmp_path):
    """UG1393, Kernel Interface Requirements: ap_clk, ap_rst_n (low), s_axi_control, all other ports in interfaces."""
    if lacking := missing("icarus"):
        pytest.skip(f"needs {lacking}")
    kernel = write_kernel(engine, BOARDS["u50"].kernels[engine], tmp_path)
    compile_rtl(Design(kernel.stem, extra=(kernel,)), "icarus")
    names = re.findall(r"(?:in|out)put wire .*?(\w+),?$", kernel.read_text(), re.MULTILINE)
    assert {"ap_clk", "ap_rst_n", "s_axi_control_awaddr"} <= set(names)
    ports = {one.port for one in arguments(interface_of(engine, {})) if one.port}
    assert {name.rpartition("_")[0] for name in names[2:]} == {"s_axi_control", *ports}


def test_every_port_of_every_kernel_is_joined_to_memory(tmp_path, monkeypatch):
    pytest.importorskip("peakrdl_etana")
    monkeypatch.setenv("PATH", "/nowhere")
    built = build(BOARDS["u50"], tmp_path)
    assert {"Makefile", "link.cfg", "kernels.tcl", "check.cpp", "reduce_regs.h"} <= {path.name for path in built.files}
    lines = (tmp_path / "link.cfg").read_text().splitlines()
    for engine in BOARDS["u50"].kernels:
        assert f"nk={engine}_kernel:1:{engine}" in lines
        ports = re.findall(
            r"input wire (?:\[.*?\] )?(m_axi_\w+)_rvalid", (tmp_path / f"{engine}_kernel.sv").read_text()
        )
        joined = {line.partition(":")[0] for line in lines if line.startswith(f"sp={engine}.")}
        assert joined == {f"sp={engine}.{port}" for port in ports}


CMAC = Path(__file__).with_name("cmac") / "cmac_usplus_0.sv"


@pytest.fixture
def project_of_the_u50(tmp_path, monkeypatch):
    pytest.importorskip("peakrdl_etana")
    with monkeypatch.context() as patch:
        patch.setenv("PATH", "/nowhere")
        built = build(BOARDS["u50"], tmp_path)
    assert tmp_path / "ethernet" / "udp_card_cmac.sv" in built.files
    return tmp_path


def makes(folder, *words):
    done = subprocess.run(["make", *words], cwd=folder, capture_output=True, text=True, check=False, timeout=30)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.skipif(not shutil.which("make"), reason="needs make")
def test_the_cage_is_an_option_of_the_u50(project_of_the_u50):
    assert not BOARDS["u50"].cage.endswith("_kernel")  # which XRT's drivers take for an engine
    _, plain = makes(project_of_the_u50, "-n")
    assert "--kernel_frequency 250" in plain
    assert "ethernet" not in plain
    _, asked = makes(project_of_the_u50, "-n", "ETHERNET=1")
    link = asked[asked.index("v++ --link") :]
    assert "--config link.cfg --config ethernet/link.cfg --kernel_frequency 250" in link
    assert link.count(".xo") == len(BOARDS["u50"].kernels) + 1
    code, said = makes(project_of_the_u50, "-n", "ETHERNET=1", "TARGET=hw_emu")
    assert code
    assert "the transceivers are in no simulation" in said


@pytest.mark.skipif(not shutil.which("make"), reason="needs make")
@pytest.mark.parametrize(
    ("words", "address", "mhz"), [([], 0xC0A80132, 250), (["ADDRESS=10.1.2.3", "MHZ=120"], 0x0A010203, 120)]
)
def test_the_kernel_behind_the_cage_elaborates_beside_a_stand_in_of_the_cmac(
    words, address, mhz, project_of_the_u50, monkeypatch
):
    """The stand-in has the ports that the kernel joins, as PG203 lists them for these options; AMD's core has more."""
    if lacking := missing("icarus"):
        pytest.skip(f"needs {lacking}")
    folder = project_of_the_u50 / "ethernet"
    code, said = makes(project_of_the_u50, "ETHERNET=1", *words, "ethernet/ethernet_settings_pkg.sv")
    assert code == 0, said
    kernel = (folder / "ethernet_card.sv").read_text()
    (folder / "shown.sv").write_text(
        'module shown;\n  initial $display("%08x %0d", ethernet_settings_pkg::ADDRESS, ethernet_settings_pkg::CLOCK);\n'
        "  ethernet_card kernel ();\nendmodule\n"
    )
    sources = sorted(folder.glob("*.sv"), key=lambda path: not path.stem.endswith("_pkg"))
    command = ["iverilog", "-g2012", "-o", "shown.vvp", "-s", "shown", *map(str, sources), str(CMAC)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    shown = subprocess.run(
        ["vvp", "-n", "shown.vvp"], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    assert f"{address:08x} {mhz * 1_000_000}" in shown.stdout
    ports = set(re.findall(r"^ +(?:in|out)put +wire +(?:\[.*?\] )?(\w+)", kernel, re.MULTILINE))
    joined = set(re.findall(r"^connect=.*\bethernet/(\w+)", (folder / "link.cfg").read_text(), re.MULTILINE))
    assert joined == {re.sub(r"(_g[rt]x)?_[pn]$", "", port) for port in ports} - {"ap_clk", "ap_rst"}


def test_streams_that_are_no_requests_make_no_kernel(tmp_path):
    with pytest.raises(OfframpError, match="path_router: its streams are not requests and answers"):
        write_kernel("path_router", {}, tmp_path)


@pytest.mark.parametrize(
    ("board", "said"),
    [
        ("pynq-z2", ["python3 -c 'import pynq; overlay = pynq.Overlay(", "python3 -m offramp_pynq.check {}"]),
        ("u50", ["xbutil program --user {}", "xbutil examine --report dynamic-regions"]),
    ],
)
def test_flash_of_the_other_boards_is_a_program_and_a_check(board, said, tmp_path):
    bitstream = tmp_path / "engines.bin"
    bitstream.write_bytes(b"bits")
    dry = CliRunner().invoke(app, ["fpga", "flash", str(bitstream), "--board", board, "--dry-run"])
    assert dry.exit_code == 0
    lines = dry.output.strip().splitlines()
    assert len(lines) == len(said)
    assert all(line.startswith(start.format(bitstream)) for line, start in zip(lines, said, strict=True))


def ecp5_file(part):
    return b"\xff\x00Part: " + part.encode() + b"\x00\xff\xff\xff\xbd\xb3" + bytes(100)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no bitstream; offramp fpga build --board ecpix-5 makes one"),
        (b"abc", "3 bytes, no bitstream of an ECP5"),
        (b"\xff\x00Part: LFE5UM5G-85F-8CABGA554\x00", "31 bytes, no bitstream of an ECP5"),
        (b"\x00\x09\x0f\xf0\x0f\xf0" + bytes(1000), "1006 bytes, no bitstream of an ECP5"),
        (ecp5_file("LFE5U-25F-6CABGA256"), "for LFE5U-25F-6CABGA256, ecpix-5 has an LFE5UM5G-85F"),
        (b"\xff\x00\xff\xff\xbd\xb3" + bytes(100), "for no part, ecpix-5 has an LFE5UM5G-85F"),
    ],
)
def test_what_is_no_bitstream_for_the_board_is_not_written(content, said, tmp_path):
    bitstream = tmp_path / "some.bit"
    bitstream.write_bytes(content)
    result = CliRunner().invoke(app, ["fpga", "flash", str(bitstream), "--board", "ecpix-5", "--yes"])
    assert str(result.exception) == f"{bitstream}: {said}"
    assert "openFPGALoader" not in result.output


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("name", "seed"), [("ecpix-5", 1), ("colorlight-5a-75b", 2), ("colorlight-i5", 2)])
def test_the_bitstream_of_a_board_on_ethernet_meets_every_clock(name, seed, tmp_path):
    board = BOARDS[name]
    built = build(board, tmp_path, seed)
    assert {clock.wanted_mhz for clock in built.timing.clocks} >= {25, 125}
    assert all(clock.reached_mhz >= clock.wanted_mhz for clock in built.timing.clocks)
    check_bitstream(board, built.files[0])


def test_addresses_are_for_boards_on_ethernet(tmp_path):
    said = {"ulx3s": "ulx3s: has no IP address", "ecpix-5": "--address 300.1: expected an IPv4 address"}
    for board, text in said.items():
        address = "300.1" if board == "ecpix-5" else "10.0.0.1"
        words = ["fpga", "build", "--board", board, "--address", address, "--out", str(tmp_path)]
        assert str(CliRunner().invoke(app, words).exception) == text


@pytest.mark.parametrize(
    ("board", "parameter", "said"),
    [
        ("ecpix-5", "AGGREGATOR=16", f"parameter AGGREGATOR: expected one of {', '.join(RULES)}"),
        ("ecpix-5", "RX_DELAY=80", f"parameter RX_DELAY: expected one of {', '.join(RULES)}"),
        ("ulx3s", "PAGES=1", "parameter PAGES: expected none: its top has no engines to choose"),
        ("u50", "PAGES=1", "parameter PAGES: expected none: its top has no engines to choose"),
        ("ecpix-5", "PAGES=3", "parameter PAGES=3: expected 0, or a power of two, 1 to 256"),
        ("ecpix-5", "AGGREGATORS=8", "parameter AGGREGATORS=8: expected 0, or a power of two, 16 to 65536"),
        ("ecpix-5", "QUANTPACK_DEPTH=8192", "parameter QUANTPACK_DEPTH=8192: expected 0, or a power of two, 2 to 4096"),
        ("ecpix-5", "FLOAT32S=2", "parameter FLOAT32S=2: expected 0 or 1"),
        ("ecpix-5", "VERTICES=0", "parameter VERTICES=0: expected a power of two, 16 to 65536"),
        ("ecpix-5", "EDGES=64", "parameter EDGES: does nothing without AGGREGATORS"),
        ("ecpix-5", "EBS_LINES=1024", "PAGES=2, EBS_LINES=1024: at least 220 block RAMs, its chip has 208"),
        ("colorlight-i5", "PAGES=1", "PAGES=1: at least 76 block RAMs, its chip has 56"),
    ],
)
def test_engines_that_a_board_cannot_have_are_refused_before_synthesis(board, parameter, said, tmp_path):
    out = tmp_path / "out"
    words = ["fpga", "build", "--board", board, "--parameter", parameter, "--out", str(out)]
    assert str(CliRunner().invoke(app, words).exception) == f"{board}: {said}"
    assert not out.exists()


@pytest.mark.parametrize("text", ["PAGES", "PAGES=", "PAGES=two", "PAGES=-1", "=1", "PAGES=1.0"])
def test_parameters_are_names_with_numbers(text):
    result = CliRunner().invoke(app, ["fpga", "build", "--board", "ecpix-5", "--parameter", text])
    assert str(result.exception) == f"--parameter {text}: expected NAME=NUMBER, such as AGGREGATORS=1024"


@pytest.mark.parametrize("name", [name for name, board in BOARDS.items() if board.ethernet])
def test_the_top_of_a_board_on_ethernet_has_every_parameter_of_the_card_and_passes_it_on(name, tmp_path, monkeypatch):
    """By what yosys is told, and by each module's text: what yosys makes of it is seen by whoever builds."""
    given = {"PAGES": 0, "FLOAT32S": 0}

    class ReadError(Exception):
        pass

    def read(command, folder, log):
        script = command[-1]
        assert "-set PAGES 0" in script
        assert "-set FLOAT32S 0" in script
        raise ReadError

    monkeypatch.setattr(boards, "run_tool", read)
    with pytest.raises(ReadError):
        build(BOARDS[name], tmp_path, parameters=given)
    card = interface_of("udp_card", {}).parameters
    assert RULES.keys() <= card.keys()
    for path in board_sources(BOARDS[name]):
        if path.stem.startswith("ddr"):
            continue
        own = read_interface(path, {}).parameters
        assert RULES.keys() <= own.keys()
        assert set(re.findall(r"\.([A-Z0-9_]+) *\(\1\)", expanded(path))) >= RULES.keys()


def test_flash_says_what_it_would_do_and_asks(tmp_path):
    bitstream = tmp_path / "ulx3s.bit"
    bitstream.write_bytes(ecp5_file("LFE5U-85F-6CABGA381"))
    dry = CliRunner().invoke(app, ["fpga", "flash", str(bitstream), "--dry-run"])
    assert dry.exit_code == 0
    assert dry.output.strip() == f"openFPGALoader --board ulx3s --write-flash --verify {bitstream}"
    asked = CliRunner().invoke(app, ["fpga", "flash", str(bitstream)], input="n\n")
    assert isinstance(asked.exception, OfframpError)
    assert "nothing was written" in str(asked.exception)
    missing = CliRunner().invoke(app, ["fpga", "flash", str(bitstream), "--yes"], env={"PATH": "/nowhere"})
    assert "openFPGALoader: not found" in str(missing.exception)


def test_bad_boards_and_bitstreams_are_named(tmp_path):
    refused = CliRunner().invoke(app, ["fpga", "build", "--board", "de10"])
    assert (
        str(refused.exception)
        == "--board de10: expected one of ulx3s, colorlight-5a-75b, colorlight-i5, ecpix-5, pynq-z2, u50"
    )
    result = CliRunner().invoke(app, ["fpga", "flash", str(tmp_path / "none.bit"), "--board", "u50"])
    assert "offramp fpga build --board u50 makes one" in str(result.exception)
    with pytest.raises(OfframpError, match="needs the package no_such_tool"):
        wasm_tool("no_such_tool", "run")
