# SPDX-License-Identifier: Apache-2.0
"""IP-XACT descriptions of modules: buses, memory maps, registers, ports and files.

IEEE 1685-2009, which Vivado's IP catalogue reads, and IEEE 1685-2014. Bus types are those of Vivado's own catalogue.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent, register_namespace

from offramp.fpga.ports import Interface, ModulePort
from offramp.fpga.registers import CardRegister
from offramp_base.errors import OfframpError

VENDOR: Final = "offramp"
LIBRARY: Final = "engines"
VERSION: Final = "1.0"
WORD_BITS: Final = 32
_ADDRESS_BITS: Final = 64
_FILE_TYPES: Final = {".sv": "systemVerilogSource", ".svh": "systemVerilogSource", ".v": "verilogSource"}
_ACCESS: Final = {"r": "read-only", "w": "write-only", "rw": "read-write"}


class Standard(NamedTuple):
    """An edition of IEEE 1685: prefix and name of its namespace, and whether attributes are in it, too."""

    prefix: str
    namespace: str
    qualified: bool


STANDARDS: Final = {
    "2009": Standard("spirit", "http://www.spiritconsortium.org/XMLSchema/SPIRIT/1685-2009", True),
    "2014": Standard("ipxact", "http://www.accellera.org/XMLSchema/IPXACT/1685-2014", False),
}


class Bus(NamedTuple):
    """An interface of a module: its kind in Vivado's catalogue, and the logical name of each of its ports."""

    name: str
    kind: str
    master: bool
    ports: Mapping[str, str]
    parameters: Mapping[str, str] = {}


class PackagedModule(NamedTuple):
    """A module to be described.

    Attributes:
        name: name of the module and of the component.
        interface: its parameters and ports.
        registers: registers behind its AXI-Lite port.
        memories: the memory port whose base address a register holds, by the register's name.
        files: its sources, relative to the description, the top module's last.
    """

    name: str
    interface: Interface
    registers: Sequence[CardRegister]
    memories: Mapping[str, str]
    files: Sequence[str]


def port_bits(port: ModulePort, parameters: Mapping[str, str]) -> int:
    """How many bits a port has.

    Raises:
        OfframpError: its width is no sum or product of numbers and parameters.
    """
    if not port.width:
        return 1
    high, low = (_number(each, parameters) for each in port.width.strip("[]").split(":"))
    return high - low + 1


def _number(text: str, parameters: Mapping[str, str]) -> int:
    def value(node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int() as number):
                return number
            case ast.Name(id=name) if name in parameters:
                return _number(parameters[name], parameters)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return value(left) + value(right)
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return value(left) - value(right)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return value(left) * value(right)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return value(left) // value(right)
        raise OfframpError(f"width {text}: expected a sum or product of numbers and parameters")

    try:
        return value(ast.parse(text.strip(), mode="eval").body)
    except SyntaxError:
        raise OfframpError(f"width {text}: expected a sum or product of numbers and parameters") from None


def buses(interface: Interface) -> list[Bus]:
    """The AXI ports of a module, then its clock and reset.

    Raises:
        OfframpError: a port belongs to no bus.
    """
    signals: dict[str, dict[str, str]] = {}
    single: dict[str, str] = {}
    for port in interface.ports:
        name, _, signal = port.name.rpartition("_")
        if re.match(r"[ms]_axi", name):
            signals.setdefault(name, {})[signal.upper()] = port.name
        elif "clk" in port.name or "reset" in port.name or "rst" in port.name:
            single["reset" if "clk" not in port.name else "clock"] = port.name
        else:
            raise OfframpError(f"port {port.name}: belongs to no AXI bus, and is neither clock nor reset")
    interfaces = [
        Bus(name, "axis" if "TDATA" in ports else "aximm", name.startswith("m"), ports)
        for name, ports in signals.items()
    ]
    clocked = {"ASSOCIATED_BUSIF": ":".join(signals), "ASSOCIATED_RESET": single["reset"]}
    interfaces.append(Bus(single["clock"], "clock", False, {"CLK": single["clock"]}, clocked))
    return [*interfaces, Bus(single["reset"], "reset", False, {"RST": single["reset"]}, {"POLARITY": "ACTIVE_LOW"})]


def write_component(component: PackagedModule, edition: str, path: Path) -> Path:
    """Write the description of a module by an edition of the standard (:data:`STANDARDS`); returns its file.

    Raises:
        OfframpError: as :func:`buses` and :func:`port_bits`.
    """
    writer = _Writer(STANDARDS[edition])
    for prefix, namespace in (*(each[:2] for each in STANDARDS.values()), ("xilinx", _XILINX)):
        register_namespace(prefix, namespace)
    root = writer.component(component)
    indent(root)
    ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
    return path


_XILINX: Final = "http://www.xilinx.com"
_VIEW: Final = "rtl"


class _Writer:
    """Elements of one edition. The editions differ in where buses, views, widths and resets stand."""

    def __init__(self, standard: Standard) -> None:
        self._standard = standard
        self._new = not standard.qualified

    def _add(self, parent: Element, tag: str, text: object = "", **attributes: object) -> Element:
        namespace = f"{{{self._standard.namespace}}}"
        prefix = namespace if self._standard.qualified else ""
        element = SubElement(
            parent, f"{namespace}{tag}", {f"{prefix}{key}": str(value) for key, value in attributes.items()}
        )
        element.text = str(text) or None
        return element

    def _identity(self, name: str) -> dict[str, str]:
        return {"vendor": VENDOR, "library": LIBRARY, "name": name, "version": VERSION}

    def component(self, component: PackagedModule) -> Element:
        root = Element(f"{{{self._standard.namespace}}}component")
        for name, text in self._identity(component.name).items():
            self._add(root, name, text)
        interfaces = buses(component.interface)
        widths = {port.name: port_bits(port, component.interface.parameters) for port in component.interface.ports}
        parent = self._add(root, "busInterfaces")
        for bus in interfaces:
            self._bus(parent, bus, widths)
        spaces = [bus for bus in interfaces if bus.kind == "aximm" and bus.master]
        if spaces:
            parent = self._add(root, "addressSpaces")
            for bus in spaces:
                self._space(parent, bus, widths)
        for bus in interfaces:
            if bus.kind == "aximm" and not bus.master:
                self._map(self._add(root, "memoryMaps"), bus, component, widths)
        self._model(root, component, widths)
        files = self._add(self._add(root, "fileSets"), "fileSet")
        self._add(files, "name", _VIEW)
        for file in component.files:
            self._file(files, file)
        self._add(root, "description", f"{component.name} of Offramp")
        if not self._new:
            self._vivado(root, component.name)
        return root

    def _bus(self, parent: Element, bus: Bus, widths: Mapping[str, int]) -> None:
        element = self._add(parent, "busInterface")
        self._add(element, "name", bus.name)
        library = "signal" if bus.kind in ("clock", "reset") else "interface"
        identity = {"vendor": "xilinx.com", "library": library, "version": "1.0"}
        self._add(element, "busType", name=bus.kind, **identity)
        abstraction = {"name": f"{bus.kind}_rtl", **identity}
        if self._new:
            within = self._add(self._add(element, "abstractionTypes"), "abstractionType")
            self._add(within, "abstractionRef", **abstraction)
            self._ports(within, bus, widths)
            self._side(element, bus)
        else:
            self._add(element, "abstractionType", **abstraction)
            self._side(element, bus)
            self._ports(element, bus, widths)
        if bus.parameters:
            parameters = self._add(element, "parameters")
            for name, value in bus.parameters.items():
                self._parameter(parameters, name, value, f"{bus.name}_{name}")

    def _parameter(self, parent: Element, name: str, value: str, key: str) -> None:
        attributes = {"parameterId": re.sub(r"\W", "_", key), "type": "string"} if self._new else {}
        element = self._add(parent, "parameter", **attributes)
        self._add(element, "name", name)
        self._add(element, "value", value)

    def _side(self, parent: Element, bus: Bus) -> None:
        side = self._add(parent, "master" if bus.master else "slave")
        if bus.kind == "aximm":
            reference = "addressSpaceRef" if bus.master else "memoryMapRef"
            self._add(side, reference, **{reference: bus.name})

    def _ports(self, parent: Element, bus: Bus, widths: Mapping[str, int]) -> None:
        maps = self._add(parent, "portMaps")
        for logical, physical in bus.ports.items():
            each = self._add(maps, "portMap")
            self._add(self._add(each, "logicalPort"), "name", logical)
            self._add(self._add(each, "physicalPort"), "name", physical)
            assert physical in widths

    def _space(self, parent: Element, bus: Bus, widths: Mapping[str, int]) -> None:
        space = self._add(parent, "addressSpace")
        self._add(space, "name", bus.name)
        self._add(space, "range", f"2 ** {_ADDRESS_BITS}" if self._new else "16E")
        self._add(space, "width", widths[bus.ports["RDATA"]])

    def _map(self, parent: Element, bus: Bus, component: PackagedModule, widths: Mapping[str, int]) -> None:
        element = self._add(parent, "memoryMap")
        self._add(element, "name", bus.name)
        block = self._add(element, "addressBlock")
        self._add(block, "name", "reg0")
        self._add(block, "baseAddress", 0)
        self._add(block, "range", 1 << widths[bus.ports["ARADDR"]])
        self._add(block, "width", WORD_BITS)
        self._add(block, "usage", "register")
        self._add(block, "access", "read-write")
        for register in component.registers:
            self._register(block, register, component.memories.get(register.name, ""))
        self._add(element, "addressUnitBits", 8)

    def _register(self, parent: Element, register: CardRegister, memory: str) -> None:
        element = self._add(parent, "register")
        self._add(element, "name", register.name)
        if register.text:
            self._add(element, "description", register.text)
        self._add(element, "addressOffset", f"0x{register.offset:X}" if not self._new else f"'h{register.offset:X}")
        self._add(element, "size", register_bits(register))
        kinds = {field.access for field in register.fields}
        self._add(element, "access", _ACCESS["rw" if len(kinds) > 1 else next(iter(kinds))])
        for field in register.fields:
            each = self._add(element, "field")
            self._add(each, "name", field.name)
            if field.text:
                self._add(each, "description", field.text)
            self._add(each, "bitOffset", field.low)
            self._add(each, "bitWidth", field.width)
            self._add(each, "access", _ACCESS[field.access])
        if memory:
            parameters = self._add(element, "parameters")
            self._parameter(parameters, "ASSOCIATED_BUSIF", memory, f"{register.name}_BUSIF")

    def _model(self, root: Element, component: PackagedModule, widths: Mapping[str, int]) -> None:
        model = self._add(root, "model")
        view = self._add(self._add(model, "views"), "view")
        self._add(view, "name", _VIEW)
        self._add(view, "envIdentifier", ":vivado.xilinx.com:synthesis")
        where: Any = view
        if self._new:
            self._add(view, "componentInstantiationRef", _VIEW)
            where = self._add(self._add(model, "instantiations"), "componentInstantiation")
            self._add(where, "name", _VIEW)
        verilog = component.files[-1].endswith(".v")
        self._add(where, "language", "verilog" if verilog else "systemVerilog")
        self._add(where, "moduleName" if self._new else "modelName", component.name)
        self._add(self._add(where, "fileSetRef"), "localName", _VIEW)
        ports = self._add(model, "ports")
        for port in component.interface.ports:
            each = self._add(ports, "port")
            self._add(each, "name", port.name)
            wire = self._add(each, "wire")
            self._add(wire, "direction", {"input": "in", "output": "out"}[port.direction])
            if port.width:
                vector = self._add(self._add(wire, "vectors") if self._new else wire, "vector")
                self._add(vector, "left", widths[port.name] - 1)
                self._add(vector, "right", 0)

    def _file(self, parent: Element, file: str) -> None:
        element = self._add(parent, "file")
        self._add(element, "name", file)
        self._add(element, "fileType", _FILE_TYPES[Path(file).suffix])
        if file.endswith(".svh"):
            self._add(element, "isIncludeFile", "true")

    def _vivado(self, root: Element, name: str) -> None:
        extensions = SubElement(self._add(root, "vendorExtensions"), f"{{{_XILINX}}}coreExtensions")
        families = SubElement(extensions, f"{{{_XILINX}}}supportedFamilies")
        for family in ("virtexuplusHBM", "virtexuplus", "zynq", "zynquplus"):
            element = SubElement(families, f"{{{_XILINX}}}family", {f"{{{_XILINX}}}lifeCycle": "Production"})
            element.text = family
        taxonomy = SubElement(SubElement(extensions, f"{{{_XILINX}}}taxonomies"), f"{{{_XILINX}}}taxonomy")
        taxonomy.text = "/KernelIP" if name.endswith("_kernel") else "/UserIP"
        SubElement(extensions, f"{{{_XILINX}}}displayName").text = name
        SubElement(extensions, f"{{{_XILINX}}}coreRevision").text = "1"


def register_bits(register: CardRegister) -> int:
    """How many bits a register takes: whole words."""
    high = max(field.low + field.width for field in register.fields)
    return -(-high // WORD_BITS) * WORD_BITS


def identity(name: str) -> str:
    """Vendor, library, name and version of a component, as Vivado writes them."""
    return f"{VENDOR}:{LIBRARY}:{name}:{VERSION}"


def sources(files: Iterable[Path]) -> list[str]:
    """Names of sources beside a description, in the folder ``src``, headers first."""
    return [f"src/{path.name}" for path in sorted(files, key=lambda path: path.suffix != ".svh")]
