# SPDX-License-Identifier: Apache-2.0
"""Parameters and ports of a module, read from its source with the macros of ``rtl/include`` in place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from offramp.fpga.sources import headers, modules
from offramp_base.errors import OfframpError

_HEADER: Final = re.compile(r"^module \w+ #\((.*?)\n\) \((.*?)\n\);", re.DOTALL | re.MULTILINE)
_PARAMETER: Final = re.compile(r"parameter\s+(?:\[[^\]]*\]\s*)?(\w+)\s*=\s*([^,/\n]+)")
_PORT: Final = re.compile(r"(input|output)\s+(?:wire|reg)\s*(\[[^\]]*\])?\s*(\w+)")
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_MACRO: Final = re.compile(r"^`define (\w+)(?:\((.*?)\))?((?:.*\\\n)*.*)$", re.MULTILINE)


class ModulePort(NamedTuple):
    """``width`` as it is written, in parameters of the module; empty for one bit."""

    direction: str
    width: str
    name: str

    def declaration(self) -> str:
        """The port as a module's own."""
        return " ".join(filter(None, (self.direction, "wire", self.width, self.name)))


class Interface(NamedTuple):
    """Parameters with their values, and ports."""

    parameters: dict[str, str]
    ports: tuple[ModulePort, ...]

    def prefixed(self, port: ModulePort, prefix: str) -> str:
        """The port's width, each parameter's name behind ``prefix``."""
        return re.sub(rf"\b({'|'.join(self.parameters)})\b", rf"{prefix}\1", port.width)

    def heading(self, name: str, ports: Sequence[str]) -> list[str]:
        """The beginning of a module of this name with the same parameters and with other ports."""
        parameters = [f"  parameter {key} = {value}" for key, value in self.parameters.items()]
        licence = "// SPDX-License-Identifier: Apache-2.0"
        return [licence, f"module {name} #(", ",\n".join(parameters), ") (", _lines(ports), ");"]

    def instance(self, module: str, name: str, wire: Callable[[ModulePort], str]) -> list[str]:
        """Lines that instantiate the module, with each port connected to the signal that ``wire`` names."""
        settings = ", ".join(f".{key}({key})" for key in self.parameters)
        joined = [f"  .{port.name}({wire(port)})" for port in self.ports]
        return [f"  {module} #({settings}) {name} (", _lines(joined), "  );"]


def _lines(items: Sequence[str]) -> str:
    return ",\n".join(f"  {item}" for item in items)


def interface_of(name: str, values: Mapping[str, int]) -> Interface:
    """The interface of a module under ``fpga/rtl``, with parameters from ``values`` or their defaults in the module.

    Raises:
        OfframpError: there is no such module, or it has no parameters.
    """
    known = modules()
    if name not in known:
        raise OfframpError(f"FPGA module {name}: expected one with parameters, of {', '.join(known)}")
    return read_interface(known[name], values)


def read_interface(path: Path, values: Mapping[str, int]) -> Interface:
    """The interface of the module in a file of its name.

    Raises:
        OfframpError: it has no parameters.
    """
    header = _HEADER.search(expanded(path))
    if header is None:
        raise OfframpError(f"FPGA module {path.stem}: expected one with parameters")
    parameters = dict(_PARAMETER.findall(header[1])) | {key: str(value) for key, value in values.items()}
    return Interface(parameters, tuple(ModulePort(*port) for port in _PORT.findall(header[2])))


def expanded(path: Path) -> str:
    """The text of a source with the headers' macros in place, without comments."""
    text = _COMMENT.sub("", path.read_text(encoding="utf-8"))
    for header in headers().values():
        macros = _MACRO.findall(_COMMENT.sub("", header.read_text(encoding="utf-8")))
        for name, names, body in reversed(macros):  # one may use those before it
            use = rf"`{name}\b" + (r"\((.*?)\)" if names else "")
            text = re.sub(use, partial(_replaced, names.split(", "), body.replace("\\\n", "\n")), text)
    return text


def _replaced(names: Sequence[str], body: str, use: re.Match[str]) -> str:
    """A macro's body with the values that its use has for its arguments."""
    values = use[1].split(", ") if use.groups() else ()
    for name, value in zip(names, values, strict=False):
        body = re.sub(rf"(?:``)?\b{name}(?:``|\b)", value, body)
    return body
