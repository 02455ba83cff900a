# SPDX-License-Identifier: Apache-2.0
"""The engines of an overlay for PYNQ: as Verilog modules for a block design, and what Vivado is told of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from offramp.fpga.kernels import memory_ports, ways
from offramp.fpga.ports import Interface, interface_of
from offramp_base.ending.files import write_text

DMAS: Final = {
    "kvs_lookup": ("kvs_dma",),
    "reduce": ("reduce_dma",),
    "ebs_lookup": ("ebs_dma",),
    "p2p_dma": ("copy_dma",),
    "quantpack": ("quantise_dma", "dequantise_dma"),
}
"""The names by which drivers know the DMA engine of each pair of streams (``offramp_pynq.cores``)."""


def write_engines(engines: Mapping[str, Mapping[str, int]], folder: Path) -> list[Path]:
    """Write ``engines.tcl``, a line for each engine, and the modules that it names.

    Raises:
        OfframpError: as :func:`interface_of`.
    """
    interfaces = {name: interface_of(name, values) for name, values in engines.items()}
    lines = [
        f"    {name} {inner.parameters['WIDTH']} {_streams(name, inner)} {_words(memory_ports(inner))}"
        for name, inner in interfaces.items()
    ]
    script = folder / "engines.tcl"
    head = "# Engines, bits of a beat, DMA engines with the streams that they feed and drain, and ports to memory."
    write_text(script, "\n".join([head, "set engines {", *lines, "}", ""]))
    return [script, *(_write_core(name, inner, folder) for name, inner in interfaces.items())]


def _words(items: list[str]) -> str:
    return f"{{{' '.join(items)}}}"


def _streams(name: str, engine: Interface) -> str:
    pairs = zip(DMAS[name], ways(engine), strict=True)
    return _words([_words([dma, *pair]) for dma, pair in pairs])


def _write_core(name: str, engine: Interface, folder: Path) -> Path:
    """An engine with clock and reset (low) as block designs have them, in Verilog, which is all that they take."""
    renamed = {"clk": "aclk", "rst": "!aresetn"}
    outside = [port for port in engine.ports if port.name not in renamed]
    ports = ["input wire aclk", "input wire aresetn", *(port.declaration() for port in outside)]
    inside = engine.instance(name, "engine", lambda port: renamed.get(port.name, port.name))
    lines = [*engine.heading(f"{name}_core", ports), *inside, "endmodule", ""]
    path = folder / f"{name}_core.v"
    write_text(path, "\n".join(lines))
    return path
