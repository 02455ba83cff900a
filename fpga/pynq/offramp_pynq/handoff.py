# SPDX-License-Identifier: Apache-2.0
"""Vivado's hardware handoff (.hwh) of an overlay, as far as PYNQ reads it: cores, parameters, addresses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element, ElementTree, SubElement

from offramp_pynq.cores import PAGE

_AXI = "xilinx.com:interface:aximm:1.0"
_MASTER = "M_AXI_GP0"
_CLOCK = ("PCW_FPGA_FCLK{}_ENABLE", "PCW_FCLK{}_PERIPHERAL_CLKSRC")
_CLOCK += ("PCW_FCLK{}_PERIPHERAL_DIVISOR0", "PCW_FCLK{}_PERIPHERAL_DIVISOR1")
_PROCESSOR = {name.format(clock): "1" for name in _CLOCK for clock in range(4)}


class Core(NamedTuple):
    """A cell of the block design with registers."""

    kind: str
    """Vendor, library, name and version."""
    registers: str
    """Its interface for them."""
    address: int
    parameters: Mapping[str, str]
    offsets: Mapping[str, int] = {}
    """Its registers that are known, by name."""


def write_handoff(cores: Mapping[str, Core], path: Path) -> Path:
    """Write the .hwh file of a Zynq-7000 with these cores."""
    root = Element("EDKSYSTEM")
    SubElement(root, "SYSTEMINFO", NAME="engines")
    SubElement(root, "EXTERNALPORTS")
    modules = SubElement(root, "MODULES")
    processor = Core("xilinx.com:ip:processing_system7:5.5", _MASTER, 0, _PROCESSOR)
    space = SubElement(_module(modules, "ps", processor, "MASTER"), "MEMORYMAP")
    for name, core in cores.items():
        _module(modules, name, core, "SLAVE")
        bounds = {"BASEVALUE": f"{core.address:#010x}", "HIGHVALUE": f"{core.address + PAGE - 1:#010x}"}
        ways = {"MASTERBUSINTERFACE": _MASTER, "SLAVEBUSINTERFACE": core.registers}
        SubElement(space, "MEMRANGE", INSTANCE=name, ADDRESSBLOCK="reg0", MEMTYPE="REGISTER", **bounds, **ways)
    ElementTree(root).write(path, encoding="unicode", xml_declaration=True)
    return path


def _module(modules: Element, name: str, core: Core, side: str) -> Element:
    kind = {"MODTYPE": core.kind.split(":")[2], "VLNV": core.kind}
    module = SubElement(modules, "MODULE", INSTANCE=name, FULLNAME=f"/{name}", **kind)
    parameters = SubElement(module, "PARAMETERS")
    for key, value in core.parameters.items():
        SubElement(parameters, "PARAMETER", NAME=key, VALUE=value)
    if core.offsets:
        blocks = SubElement(module, "ADDRESSBLOCKS")
        whole = {"NAME": "reg0", "RANGE": str(PAGE), "ACCESS": "read-write", "USAGE": "register"}
        block = SubElement(blocks, "ADDRESSBLOCK", INTERFACE=core.registers, **whole)
        registers = SubElement(block, "REGISTERS")
        for key, offset in core.offsets.items():
            _register(registers, key, offset)
    SubElement(SubElement(module, "BUSINTERFACES"), "BUSINTERFACE", NAME=core.registers, TYPE=side, VLNV=_AXI)
    return module


def _register(parent: Element, name: str, offset: int) -> None:
    register = SubElement(parent, "REGISTER", NAME=name)
    facts = {"DESCRIPTION": name, "ADDRESS_OFFSET": f"{offset:#x}", "SIZE": "32", "ACCESS": "read-write"}
    for key, value in (facts | {"IS_ENABLED": "true"}).items():
        SubElement(register, "PROPERTY", NAME=key, VALUE=value)
