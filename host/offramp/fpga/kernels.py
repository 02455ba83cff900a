# SPDX-License-Identifier: Apache-2.0
"""Engines as kernels that XRT runs: ``kernel_shell`` around each, and what Vitis is told of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from offramp.fpga.ports import Interface, ModulePort, interface_of
from offramp_base.ending.files import write_text
from offramp_base.errors import OfframpError

SHELL: Final = "kernel_shell"
PACKETS: Final = "m_axi_packets"
"""The shell's own memory port, for packets and answers."""
CONTROL: Final = "s_axi_control"
"""Vitis's name for the AXI-Lite port of a kernel (UG1393, Kernel Interface Requirements)."""
HBM: Final = "HBM[0:31]"
REGIONS: Final = {"quantpack": "SLR1"}
"""Kernels that are not beside the U50's memory, whose region is SLR0: those with one port and the most logic."""


class Argument(NamedTuple):
    """A kernel's argument: its offset among the kernel's registers, and its memory port."""

    name: str
    offset: int
    bits: int
    port: str = ""


class StreamPair(NamedTuple):
    """The names of an engine's stream pair: a packet goes into ``to``, the answer comes out of ``back``."""

    to: str
    back: str


def memory_ports(engine: Interface) -> list[str]:
    """The prefixes of its AXI4 ports, in the order in which they stand."""
    addresses = [port.name for port in engine.ports if port.name.startswith("m_axi_")]
    return [name.removesuffix("_araddr") for name in addresses if name.endswith("_araddr")]


def ways(engine: Interface) -> list[StreamPair]:
    """Pairs of an engine's streams: the first input with the first output, and so on."""
    streams = [port.name.removesuffix("_tdata") for port in engine.ports if port.name.endswith("_tdata")]
    into, out = ([name for name in streams if name.startswith(side)] for side in ("s_axis", "m_axis"))
    return [StreamPair(*pair) for pair in zip(into, out, strict=True)]


def arguments(engine: Interface) -> list[Argument]:
    """The kernel's arguments: ``kernel_control`` knows the first six, the others join the engine's ports to memory."""
    words = [Argument(name, 0x10 + 8 * place, 32) for place, name in enumerate(("operation", "place", "value", "room"))]
    packets = [Argument("to", 0x30, 64, PACKETS), Argument("back", 0x38, 64, PACKETS)]
    tables = [Argument(port, 0x40 + 8 * place, 64, port) for place, port in enumerate(memory_ports(engine))]
    return [*words, *packets, *tables]


def write_kernel(name: str, values: Mapping[str, int], folder: Path) -> Path:
    """Write ``NAME_kernel.sv``: the engine behind a shell, with clock, reset (low) and ports named as Vitis wants them.

    Raises:
        OfframpError: as :func:`interface_of`.
    """
    engine = interface_of(name, values)
    if "WIDTH" not in engine.parameters or any(port.name.endswith("_tdest") for port in engine.ports):
        raise OfframpError(f"FPGA module {name}: its streams are not requests and answers, so it is not a kernel")
    shell = interface_of(SHELL, {"WIDTH": int(engine.parameters["WIDTH"])})
    outside = [port for port in (*shell.ports, *engine.ports) if port.name.startswith((CONTROL, "m_axi_"))]
    ports = ["input wire ap_clk", "input wire ap_rst_n", *(port.declaration() for port in outside)]
    inside = [port for port in shell.ports if port not in outside and port.name not in ("clk", "rst")]
    lines = [
        *engine.heading(f"{name}_kernel", ports),
        "  reg rst;",
        "  always @(posedge ap_clk) rst <= !ap_rst_n;",
        *(f"  wire {port.width} shell_{port.name};" for port in inside),
        *_from_ways(engine, inside),
        *shell.instance(SHELL, "shell", lambda port: _shell_wire(port, inside)),
        *engine.instance(name, "engine", lambda port: _engine_wire(port, ways(engine))),
        "endmodule",
        "",
    ]
    path = folder / f"{name}_kernel.sv"
    write_text(path, "\n".join(lines))
    return path


def _from_ways(engine: Interface, inside: list[ModulePort]) -> list[str]:
    """Wires for the signals of each of the engine's stream pairs, and multiplexers that select the shell's."""
    count = len(ways(engine))
    lines = []
    for port in inside:
        if port.name == "m_axis_tready" or (port.name.startswith("s_axis_") and port.direction == "input"):
            each = [f"way_{place}_{port.name}" for place in range(count)]
            lines += [f"  wire {port.width} {wire};" for wire in each]
            chosen = each[-1]
            for place, wire in reversed(list(enumerate(each[:-1]))):
                chosen = f"shell_way == {place} ? {wire} : {chosen}"
            lines.append(f"  assign shell_{port.name} = {chosen};")
    return lines


def _shell_wire(port: ModulePort, inside: list[ModulePort]) -> str:
    return {"clk": "ap_clk", "rst": "rst"}.get(port.name, f"shell_{port.name}" if port in inside else port.name)


_REGISTERS: Final = {
    "awaddr": "shell_m_axil_addr",
    "araddr": "shell_m_axil_addr",
    "awprot": "3'b0",
    "arprot": "3'b0",
    "wstrb": "4'hF",
    "bready": "1'b1",
    "rready": "1'b1",
    "bresp": "",
    "rresp": "",
}
"""Connections of an engine's register port by signal; signals not named here go to the shell's of the same name."""


def _engine_wire(port: ModulePort, pairs: list[StreamPair]) -> str:
    """The signal inside the kernel to which a port of the engine is connected."""
    bus, _, signal = port.name.rpartition("_")
    if port.name in ("clk", "rst"):
        return {"clk": "ap_clk", "rst": "rst"}[port.name]
    if bus == "s_axil":
        return _REGISTERS.get(signal, f"shell_m_axil_{signal}")
    for place, pair in enumerate(pairs):
        if bus == pair.to:
            here = f" && shell_way == {place}" if signal == "tvalid" else ""
            return f"way_{place}_m_axis_tready" if signal == "tready" else f"shell_m_axis_{signal}{here}"
        if bus == pair.back:
            return (
                f"shell_s_axis_tready && shell_way == {place}" if signal == "tready" else f"way_{place}_s_axis_{signal}"
            )
    return port.name


def write_link(kernels: Mapping[str, Mapping[str, int]], folder: Path) -> list[Path]:
    """Write ``kernels.tcl``, which says what is packaged, and ``link.cfg``, by which v++ places and connects it."""
    packaged, connectivity = [], []
    for name, values in kernels.items():
        engine = interface_of(name, values)
        ports = [PACKETS, *memory_ports(engine)]
        registers = " ".join(f"{{{one.name} {one.offset:#x} {one.bits} {{{one.port}}}}}" for one in arguments(engine))
        packaged.append(f"    {name}_kernel {{{' '.join(ports)}}} {{{registers}}}")
        connectivity += [f"nk={name}_kernel:1:{name}", f"slr={name}:{REGIONS.get(name, 'SLR0')}"]
        connectivity += [f"sp={name}.{port}:{HBM}" for port in ports]
    files = {
        "kernels.tcl": ["# Kernels, their memory ports, and the arguments of a run.", "set kernels {", *packaged, "}"],
        "link.cfg": ["[connectivity]", *connectivity],
    }
    for name, lines in files.items():
        write_text(folder / name, "\n".join([*lines, ""]))
    return [folder / name for name in files]
