# SPDX-License-Identifier: Apache-2.0
"""Engines as packages for Vivado's IP catalogue and Vitis: sources, IP-XACT descriptions, kernel descriptions."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent, tostring
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from offramp.fpga.ipxact import PackagedModule, buses, identity, port_bits, sources, write_component
from offramp.fpga.kernels import CONTROL, SHELL, Argument, arguments
from offramp.fpga.ports import Interface, interface_of, read_interface
from offramp.fpga.registers import CardRegister, RegisterField, register_map
from offramp.fpga.sources import closure

_CONTROL_REGISTERS: Final = {"CTRL": 0x00, "GIER": 0x04, "IP_IER": 0x08, "IP_ISR": 0x0C}
"""XRT's own (UG1393, ap_ctrl_hs)."""
_DESCRIPTIONS: Final = {"2009": "component.xml", "2014": "component-2014.xml"}
_SCALAR: Final = "0"
_POINTER: Final = "1"


def write_packages(kernels: Mapping[str, Mapping[str, int]], cores: Iterable[str], folder: Path) -> list[Path]:
    """Write a folder ``ip/MODULE`` for each kernel and core: ``component.xml``, sources, of kernels ``kernel.xml``.

    ``component.xml`` is IEEE 1685-2009, which Vivado reads; ``component-2014.xml`` says the same by IEEE 1685-2014.
    ``ip/MODULE.xo`` is a kernel's folder as v++ takes it.

    Args:
        kernels: engines behind a shell, with their parameters; ``NAME_kernel.sv`` lies in the folder.
        cores: engines of an overlay, likewise ``NAME_core.v``.
        folder: where these and all sources lie.

    Raises:
        OfframpError: a module has ports that belong to no bus.
    """
    written = []
    for name, values in kernels.items():
        top = folder / f"{name}_kernel.sv"
        inner, outer = interface_of(name, values), read_interface(top, {})
        words = [_word(each, offset, 32) for each, offset in _CONTROL_REGISTERS.items()]
        words += [_word(each.name, each.offset, each.bits) for each in arguments(inner)]
        memories = {each.name: each.port for each in arguments(inner) if each.port}
        written += _write(top, outer, words, memories, _sources((name, SHELL), folder))
        written.append(_write_kernel(top.stem, outer, arguments(inner), folder / "ip" / top.stem / "kernel.xml"))
        written.append(_write_object(folder / "ip" / top.stem))
    for name in cores:
        top = folder / f"{name}_core.v"
        registers = register_map(f"{name}_regs").registers
        written += _write(top, read_interface(top, {}), registers, {}, _sources((name,), folder))
    return written


def _sources(tops: Iterable[str], folder: Path) -> list[Path]:
    closures = [closure(top) for top in tops]
    blocks = {f"{block}.sv" for _, names in closures for block in names}
    return [
        folder / name for name in dict.fromkeys([path.name for paths, _ in closures for path in paths] + sorted(blocks))
    ]


def _word(name: str, offset: int, bits: int) -> CardRegister:
    return CardRegister(name, offset, "", (RegisterField(name, 0, bits, "rw", ""),))


def _write(
    top: Path,
    interface: Interface,
    registers: Sequence[CardRegister],
    memories: Mapping[str, str],
    files: Sequence[Path],
) -> list[Path]:
    home = top.parent / "ip" / top.stem
    (home / "src").mkdir(parents=True, exist_ok=True)
    own = [*files, top]
    copies = [Path(shutil.copyfile(path, home / "src" / path.name)) for path in own]
    component = PackagedModule(top.stem, interface, registers, memories, sources(own))
    return copies + [write_component(component, edition, home / name) for edition, name in _DESCRIPTIONS.items()]


def _write_kernel(name: str, interface: Interface, words: Sequence[Argument], path: Path) -> Path:
    """Write what XRT and v++ know of a kernel (UG1393, RTL Kernel XML File)."""
    root = Element("root", versionMajor="1", versionMinor="6")
    kernel = SubElement(
        root, "kernel",
        name=name, language="ip_c", vlnv=identity(name), hwControlProtocol="ap_ctrl_hs", interrupt="false",
        attributes="", preferredWorkGroupSizeMultiple="0", workGroupSize="1",
    )  # fmt: skip
    ports = SubElement(kernel, "ports")
    widths = {port.name: port_bits(port, interface.parameters) for port in interface.ports}
    for bus in buses(interface):
        if bus.kind != "aximm":
            continue
        control = bus.name == CONTROL
        reach = 1 << widths[bus.ports["ARADDR"]]
        SubElement(
            ports, "port",
            name=bus.name, mode="slave" if control else "master", range=f"{reach if control else reach - 1:#x}",
            dataWidth=str(widths[bus.ports["RDATA"]]), portType="addressable", base="0x0",
        )  # fmt: skip
    args = SubElement(kernel, "args")
    for number, word in enumerate(words):
        size = f"{word.bits // 8:#x}"
        SubElement(
            args, "arg",
            name=word.name, addressQualifier=_POINTER if word.port else _SCALAR, id=str(number),
            port=word.port or CONTROL, size=size, offset=f"{word.offset:#x}", hostOffset="0x0", hostSize=size,
            type="int*" if word.port else "uint",
        )  # fmt: skip
    indent(root)
    ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
    return path


def _write_object(package: Path) -> Path:
    """Archive a kernel's folder: ``xo.xml`` says where its IP-XACT package and its ``kernel.xml`` lie.

    A command of Vivado's writes them; the format is in none of its manuals. What is here is what other programs read.
    """
    name = package.name
    home = f"ip_repo/{re.sub(r'[:.]', '_', identity(name))}"
    root = Element("root", versionMajor="1", versionMinor="0")
    kernel = SubElement(SubElement(root, "Kernels"), "Kernel", Name=name, Dir=name, IP=home, Type="rtl")
    flows = SubElement(kernel, "SupportedFlows")
    for flow in ("hw_emu", "hw"):  # sw_emu needs a C model
        SubElement(flows, "SupportedFlow").text = flow
    indent(root)
    members = {"xo.xml": tostring(root, encoding="utf-8", xml_declaration=True)}
    members[f"{name}/kernel.xml"] = (package / "kernel.xml").read_bytes()
    files = [package / "component.xml", *sorted((package / "src").iterdir())]
    members |= {f"{home}/{path.relative_to(package)}": path.read_bytes() for path in files}
    with ZipFile(package.with_suffix(".xo"), "w", ZIP_DEFLATED) as archive:
        for member, content in members.items():
            archive.writestr(ZipInfo(member), content, ZIP_DEFLATED)  # without a time: the same from the same sources
    return package.with_suffix(".xo")
