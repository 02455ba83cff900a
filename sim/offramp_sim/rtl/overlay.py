# SPDX-License-Identifier: Apache-2.0
"""The engines of an overlay side by side, as one module; the board supplies what is between them and memory."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from offramp.fpga.kernels import write_kernel
from offramp.fpga.ports import Interface, interface_of, read_interface
from offramp_base.errors import OfframpError

PARAMETERS: Final = {
    "kvs_lookup": {"WIDTH": 128, "FLIGHT": 16},
    "reduce": {"WIDTH": 128, "DEPTH": 256},
    "ebs_lookup": {"WIDTH": 128, "FLIGHT": 8},
    "p2p_dma": {"WIDTH": 256, "BURST": 8, "DEPTH": 32, "QUEUE": 8},
    "path_router": {"WIDTH": 64, "DEPTH": 64, "PACKET": 16},
    "quantpack": {"WIDTH": 256, "DEPTH": 64},
}
"""Parameters of each engine in an overlay."""

USUAL: Final = ("kvs_lookup", "reduce", "ebs_lookup")


def engines_of(text: str) -> tuple[str, ...]:
    """Engines whose names are separated by commas or ``+``; the usual ones if the text is empty.

    Raises:
        OfframpError: there is no such engine, or one is named twice.
    """
    chosen = tuple(filter(None, re.split(r"[,+]", text))) or USUAL
    for name in chosen:
        if name not in PARAMETERS:
            raise OfframpError(f"engine {name}: expected {', '.join(PARAMETERS)}")
    if len(set(chosen)) < len(chosen):
        raise OfframpError(f"engines {text}: one of them twice")
    return chosen


def write_overlay(engines: Sequence[str], folder: Path) -> Path:
    """Write ``engines.sv`` with all ports of all engines, prefixed by the engine's name; they share clock and reset."""
    return _beside({name: (name, interface_of(name, PARAMETERS[name])) for name in engines}, folder)


def write_kernels(engines: Sequence[str], folder: Path) -> list[Path]:
    """Write the engines' kernels, followed by the sources of the engines."""
    kernels = {name: write_kernel(name, PARAMETERS[name], folder) for name in engines}
    parts = {name: (path.stem, read_interface(path, {})) for name, path in kernels.items()}
    return [_beside(parts, folder), *kernels.values()]


_SHARED: Final = {"clk": "clk", "rst": "rst", "ap_clk": "clk", "ap_rst_n": "!rst"}


def _beside(parts: Mapping[str, tuple[str, Interface]], folder: Path) -> Path:
    parameters, ports, instances = [], ["input wire clk", "input wire rst"], []
    for name, (module, inner) in parts.items():
        parameters += [f"parameter {name}_{key} = {value}" for key, value in inner.parameters.items()]
        wires = []
        for port in inner.ports:
            if port.name in _SHARED:
                wires.append(f".{port.name}({_SHARED[port.name]})")
                continue
            ports.append(f"{port.direction} wire {inner.prefixed(port, f'{name}_')} {name}_{port.name}")
            wires.append(f".{port.name}({name}_{port.name})")
        settings = ", ".join(f".{key}({name}_{key})" for key in inner.parameters)
        instances.append(f"{module} #({settings}) {name}_i ({', '.join(wires)});")
    path = folder / "engines.sv"
    head = f"module engines #(\n{_lines(parameters)}\n) (\n{_lines(ports)}\n);"
    path.write_text("\n".join([head, *instances, "endmodule\n"]), encoding="utf-8")
    return path


def _lines(items: Sequence[str]) -> str:
    return ",\n".join(f"  {item}" for item in items)
