# SPDX-License-Identifier: Apache-2.0
"""Engines side by side: which ones a text names, and the module that joins their ports. Nothing is simulated."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from offramp.fpga.ports import interface_of
from offramp_base.errors import OfframpError
from offramp_sim.rtl.overlay import PARAMETERS, USUAL, engines_of, write_overlay


def test_engines_are_named_once() -> None:
    assert engines_of("") == engines_of(",") == USUAL
    assert engines_of("reduce+p2p_dma,quantpack") == ("reduce", "p2p_dma", "quantpack")
    with pytest.raises(OfframpError, match="reduce,reduce: one of them twice"):
        engines_of("reduce,reduce")
    with pytest.raises(OfframpError, match="engine x: expected kvs_lookup, reduce"):
        engines_of("reduce,x")


def test_all_ports_of_all_engines_are_there(tmp_path: Path) -> None:
    names = ("reduce", "quantpack")
    path = write_overlay(names, tmp_path)
    assert path == tmp_path / "engines.sv"
    text = path.read_text("utf-8")
    head, _, instances = text.partition(");\n")
    assert head.startswith("module engines #(\n")
    assert instances.rstrip().endswith("endmodule")
    assert re.findall(r"input wire (?:clk|rst)\b", head) == ["input wire clk", "input wire rst"]
    for name in names:
        inner = interface_of(name, PARAMETERS[name])
        (line,) = [each for each in instances.splitlines() if each.startswith(f"{name} #(")]
        assert f") {name}_i (" in line
        for port in inner.ports:
            if port.name in ("clk", "rst"):
                assert f".{port.name}({port.name})" in line
            else:
                assert f".{port.name}({name}_{port.name})" in line
                assert re.search(rf"^  {port.direction} wire .*\b{name}_{port.name}\b,?$", head, re.MULTILINE)
        for key, value in inner.parameters.items():
            assert f"  parameter {name}_{key} = {value}" in head
            assert f".{key}({name}_{key})" in line
