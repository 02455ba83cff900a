# SPDX-License-Identifier: Apache-2.0
"""Parameters and ports of a module, read from its source, and modules around it that have other names for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from offramp.fpga.sources import modules
from offramp_base.ending.files import write_text
from offramp_base.errors import OfframpError

_HEADER: Final = re.compile(r"^module \w+ #\((.*?)\n\) \((.*?)\n\);", re.DOTALL | re.MULTILINE)
_PARAMETER: Final = re.compile(r"parameter\s+(?:\[[^\]]*\]\s*)?(\w+)\s*=\s*([^,/\n]+)")
_PORT: Final = re.compile(r"(input|output)\s+(?:wire|reg)\s*(\[[^\]]*\])?\s*(\w+)")
_COMMENT: Final = re.compile(r"//[^\n]*")
CONTROL: Final = "s_axi_control"
"""What Vitis calls the AXI-Lite port of a kernel (UG1393, Kernel Interface Requirements)."""


class Port(NamedTuple):
    """``width`` as it is written, in parameters of the module; empty for one bit."""

    direction: str
    width: str
    name: str


class Interface(NamedTuple):
    """Parameters with their values, and ports."""

    parameters: dict[str, str]
    ports: tuple[Port, ...]

    def prefixed(self, port: Port, prefix: str) -> str:
        """The port's width, each parameter's name behind ``prefix``."""
        return re.sub(rf"\b({'|'.join(self.parameters)})\b", rf"{prefix}\1", port.width)


def interface_of(name: str, values: Mapping[str, int]) -> Interface:
    """Of a module under ``fpga/rtl`` whose parameters are ``values`` or what it says itself.

    Raises:
        OfframpError: there is no such module, or it has no parameters.
    """
    known = modules()
    found = _HEADER.search(_COMMENT.sub("", known[name].read_text(encoding="utf-8"))) if name in known else None
    if found is None:
        raise OfframpError(f"FPGA module {name}: expected one with parameters, of {', '.join(known)}")
    given = dict(_PARAMETER.findall(found[1])) | {key: str(value) for key, value in values.items()}
    return Interface(given, tuple(Port(*port) for port in _PORT.findall(found[2])))


def write_kernel(name: str, values: Mapping[str, int], folder: Path) -> Path:
    """Write ``NAME_kernel.sv``: the engine with clock, reset (low) and registers named as Vitis wants them.

    Raises:
        OfframpError: as :func:`interface_of`.
    """
    inner = interface_of(name, values)
    ports, wires = [], []
    for port in inner.ports:
        outer = {"clk": "ap_clk", "rst": "ap_rst_n"}.get(port.name, port.name.replace("s_axil_", f"{CONTROL}_"))
        ports.append(" ".join(filter(None, (port.direction, "wire", port.width, outer))))
        wires.append(f".{port.name}({'rst' if port.name == 'rst' else outer})")
    path = folder / f"{name}_kernel.sv"
    lines = [
        f"module {name}_kernel #(",
        ",\n".join(f"  parameter {key} = {value}" for key, value in inner.parameters.items()),
        ") (",
        ",\n".join(f"  {port}" for port in ports),
        ");",
        "  reg rst;",
        "  always @(posedge ap_clk) rst <= !ap_rst_n;",
        f"  {name} #({', '.join(f'.{key}({key})' for key in inner.parameters)}) engine (",
        ",\n".join(f"    {wire}" for wire in wires),
        "  );",
        "endmodule",
        "",
    ]
    write_text(path, "\n".join(lines))
    return path
