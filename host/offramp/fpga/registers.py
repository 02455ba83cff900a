# SPDX-License-Identifier: Apache-2.0
"""Register maps in SystemRDL, and what is generated from them: SystemVerilog, a C header, Python, documentation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from offramp.fpga.sources import register_maps
from offramp_base.errors import OfframpError
from offramp_base.extras import needs

ADDRESS_BITS: Final = 8
"""Address bits of every engine's AXI-Lite port: 256 bytes of registers."""


class RegisterField(NamedTuple):
    """Bits of a register; ``low`` is the lowest."""

    name: str
    low: int
    width: int
    access: str
    text: str


class CardRegister(NamedTuple):
    """A register, at a byte offset from the engine's first."""

    name: str
    offset: int
    text: str
    fields: tuple[RegisterField, ...]


class RegisterMap(NamedTuple):
    """Registers of an engine, and the version that its ``VERSION`` register reads as."""

    name: str
    text: str
    version: int
    registers: tuple[CardRegister, ...]


def compiled(name: str, properties: Sequence[Any] = ()) -> Any:
    """SystemRDL's own node of the map ``name``.

    Args:
        name: such as ``reduce_regs``.
        properties: those that a generator adds to the language.

    Raises:
        OfframpError: there is none, it has errors, or the compiler is not installed.
    """
    try:
        from systemrdl import RDLCompileError, RDLCompiler  # type: ignore[attr-defined,unused-ignore]
    except ImportError:
        raise OfframpError(f"reading register maps {needs('systemrdl')}") from None
    maps = register_maps()
    if name not in maps:
        raise OfframpError(f"register map {name}: expected one of {', '.join(maps)}")
    compiler = RDLCompiler()
    for one in properties:
        compiler.register_udp(one)
    try:
        compiler.compile_file(str(maps[name]), incl_search_paths=[str(maps[name].parent)])
        return compiler.elaborate(top_def_name=name).top
    except RDLCompileError as error:
        raise OfframpError(f"{maps[name].name}: {error}") from None


def register_map(name: str) -> RegisterMap:
    """The map ``name`` (``reduce_regs``) as plain data.

    Raises:
        OfframpError: as :func:`compiled`, or it has no register VERSION.
    """
    top = compiled(name)
    registers = tuple(_register(node) for node in top.registers())
    version = next((node for node in top.registers() if node.inst_name == "VERSION"), None)
    if version is None:
        raise OfframpError(f"register map {name}: no register VERSION")
    reset = next(iter(version.fields())).get_property("reset")
    return RegisterMap(name, top.get_property("desc") or "", int(reset), registers)


def _register(node: Any) -> CardRegister:
    fields = tuple(
        RegisterField(
            field.inst_name, field.low, field.width, field.get_property("sw").name, field.get_property("desc") or ""
        )
        for field in node.fields()
    )
    return CardRegister(node.inst_name, node.address_offset, node.get_property("desc") or "", fields)


def write_verilog(name: str, folder: Path) -> Path:
    """Generate the register block ``name`` with an AXI-Lite port; returns its file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.sv"
    path.write_text(_verilog(name), encoding="utf-8")
    return path


@cache
def _verilog(name: str) -> str:
    """The register block's text: a design has several, and all designs are linted and built in one process."""
    try:
        from peakrdl_etana.cpuif.axi4lite import AXI4Lite_Cpuif_flattened
        from peakrdl_etana.exporter import RegblockExporter
        from peakrdl_etana.udps import ALL_UDPS
    except ImportError:
        raise OfframpError(f"writing register blocks {needs('peakrdl_etana')}") from None
    top = compiled(name, ALL_UDPS)
    with TemporaryDirectory() as folder:
        RegblockExporter().export(top, folder, cpuif_cls=AXI4Lite_Cpuif_flattened, address_width=ADDRESS_BITS)
        return (Path(folder) / f"{name}.sv").read_text(encoding="utf-8")


def write_header(name: str, folder: Path) -> Path:
    """Generate the C header of the map ``name``; returns its file."""
    try:
        from peakrdl_cheader.exporter import CHeaderExporter
    except ImportError:
        raise OfframpError(f"writing C headers {needs('peakrdl_cheader')}") from None
    path = folder / f"{name}.h"
    CHeaderExporter().export(compiled(name), str(path))
    return path


def python_text() -> str:
    """Offsets and versions of all maps as a Python module that needs nothing, as the drivers on a board import it."""
    lines = [
        "# SPDX-License-Identifier: Apache-2.0",
        '"""Register maps; generated from fpga/regs by ``offramp fpga regs``, which the tests repeat."""',
        "",
    ]
    for name in register_maps():
        register_set = register_map(name)
        lines += [f"{name.upper()} = {{"]
        lines += [f'    "{register.name}": 0x{register.offset:02X},' for register in register_set.registers]
        lines += ["}", f"{name.upper()}_VERSION = 0x{register_set.version:08X}", ""]
    return "\n".join(lines)


def markdown_text() -> str:
    """All maps as a page of documentation."""
    lines = ["# Registers of the FPGA engines", "", "Generated from `fpga/regs` by `offramp fpga regs`."]
    for name in register_maps():
        register_set = register_map(name)
        lines += ["", f"## {name}", "", f"{register_set.text} Version 0x{register_set.version:08X}.", ""]
        lines += ["| Offset | Register | Bits | Field | Access | |", "|---|---|---|---|---|---|"]
        for register in register_set.registers:
            for field in register.fields:
                high = field.low + field.width - 1
                text = field.text or register.text
                lines.append(
                    f"| 0x{register.offset:02X} | {register.name} | {high}:{field.low} | {field.name} | "
                    f"{field.access} | {text} |"
                )
    return "\n".join(lines) + "\n"
