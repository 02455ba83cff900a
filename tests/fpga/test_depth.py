# SPDX-License-Identifier: Apache-2.0
"""Depth of the logic between registers: the walk of mapped netlists by hand-made ones, and the engines' limits.

Blind spot: wires. Synthesis knows no distances, so a path within the limits may still be slow on a full chip.
"""

import shutil

import pytest

from offramp.fpga import depth, sources, synth
from offramp_base.errors import OfframpError

pytestmark = pytest.mark.rtl
needs_yosys = pytest.mark.skipif(not shutil.which("yosys"), reason="needs yosys")


def netlist(cells, ports=None, **inner):
    """Cells as (type, pin=bits); bits are numbers of nets."""

    def module(cells, ports):
        named = {f"c{n}": {"type": kind, "connections": pins} for n, (kind, pins) in enumerate(cells)}
        return {"cells": named, "ports": {port: {"bits": bits} for port, bits in ports.items()}, "attributes": {}}

    modules = {name: module(*each) for name, each in inner.items()}
    return {"modules": modules | {"top": module(cells, ports or {})}}


def lut(out, *inputs):
    return (f"LUT{len(inputs)}", {f"I{n}": [bit] for n, bit in enumerate(inputs)} | {"O": [out]})


def flop(data, out):
    return ("FDRE", {"C": [1], "D": [data], "Q": [out]})


def test_levels_are_luts_between_registers():
    cells = [flop(9, 2), lut(3, 2, 2), lut(4, 3), flop(4, 5), lut(6, 5), flop(6, 7)]
    depths = depth.depth(netlist(cells), "top")
    assert (depths.levels, depths.carry) == (2, 0)
    assert [name.split()[0] for name in depths.deepest] == ["LUT2", "LUT1"]


def test_muxes_of_a_slice_are_no_levels_and_reads_of_lut_ram_are():
    mux = ("MUXF7", {"I0": [3], "I1": [4], "S": [2], "O": [5]})
    depths = depth.depth(netlist([flop(9, 2), lut(3, 2), lut(4, 2), mux, flop(5, 6)]), "top")
    assert depths.levels == 1
    ram = ("RAM32M", {"ADDRA": [2, 3], "ADDRD": [4], "DOA": [5], "DOD": [6], "DIA": [5]})
    assert depth.depth(netlist([ram, lut(7, 5), flop(7, 8)]), "top").levels == 2
    assert depth.depth(netlist([lut(4, 3), ram, flop(5, 8), flop(6, 9)]), "top").levels == 2  # DOD by ADDRD alone


def carry(bit, entering, bits=4, into=()):
    """A carry of so many bits from net ``bit`` on: S, DI, O, CO, in this order."""
    nets = [list(range(bit + n * bits, bit + (n + 1) * bits)) for n in range(4)]
    first = {"CI": [entering], "CYINIT": ["0"]} if isinstance(entering, int) else {"CI": ["0"], "CYINIT": ["0"]}
    return ("CARRY4", first | {"S": nets[0], "DI": nets[1], "O": nets[2], "CO": nets[3]}), nets


def test_a_carry_counts_its_bits_and_one_level():
    first, (_, data, _, out) = carry(100, "0")
    second, (_, _, sums, _) = carry(200, out[3])
    depths = depth.depth(netlist([flop(9, 2), lut(data[0], 2), first, second, flop(sums[3], 3)]), "top")
    assert depths.levels == 2
    assert depths.carry == 4 + 3  # from the first bit into the sum of the eighth
    unloaded = depth.depth(netlist([flop(9, 2), lut(data[0], 2), first, second]), "top")
    assert unloaded.carry == 4  # the second one's outputs go nowhere


def test_paths_cross_modules_and_end_at_constants():
    inner = ([lut(1, 0), lut(3, 2)], {"a": [0], "b": [1], "k": [2], "out": [3]})
    cells = [flop(9, 2), ("leaf", {"a": [2], "b": [3], "k": ["1"], "out": [4]}), lut(5, 3, 4), flop(5, 6)]
    assert depth.depth(netlist(cells, leaf=inner), "top").levels == 2
    ports = {"in": [3], "out": [5]}
    assert depth.depth(netlist([lut(4, 3), lut(5, 4)], ports), "top").levels == 2  # from a port to a port


def test_loops_and_unknown_cells_are_errors():
    with pytest.raises(OfframpError, match="combinational loop through c"):
        depth.depth(netlist([lut(3, 2, 4), lut(4, 3)]), "top")
    with pytest.raises(OfframpError, match="c0: a cell of type MYSTERY, whose paths are not known"):
        depth.depth(netlist([("MYSTERY", {"A": [2], "B": [3]})]), "top")


PLANTED = """
module planted (input wire clk, input wire [39:0] a, b, input wire [4:0] k, output reg [39:0] sum, output reg deep);
  wire [31:0] rows = a[31:0] >> k;
  wire [31:0] more = rows >> (rows[4:0] ^ b[4:0]);
  wire [31:0] most = more >> (more[4:0] ^ b[9:5]);
  always @(posedge clk) begin
    sum  <= a + b;
    deep <= ^(most & {most[0], b[30:0]});
  end
endmodule
"""


@needs_yosys
def test_planted_depth_is_found(tmp_path, monkeypatch):
    planted = tmp_path / "planted.sv"
    planted.write_text(PLANTED)
    real = sources.modules()
    monkeypatch.setattr(sources, "modules", lambda: real | {"planted": planted})
    depths = synth.ultrascale("planted", {}, tmp_path / "work").depth
    assert depths.carry == 39
    assert depths.levels > depth.MOST_LEVELS
    assert not depths.within


@needs_yosys
@pytest.mark.parametrize(
    ("module", "parameters"),
    [
        ("fp32_add", {}),
        pytest.param("path_router", {"WIDTH": 64, "DEPTH": 64, "PACKET": 16}, marks=pytest.mark.slow),
    ],
)
def test_small_modules_are_within_the_limits(module, parameters, tmp_path):
    depths = synth.ultrascale(module, parameters, tmp_path).depth
    assert depths.within, depths


@needs_yosys
@pytest.mark.slow
@pytest.mark.parametrize("name", synth.targets())
def test_engines_are_within_the_limits(name, tmp_path):
    target = synth.targets()[name]
    depths = synth.ultrascale(target.module, target.ultrascale, tmp_path, flatten=target.flatten).depth
    assert depths.within, depths
