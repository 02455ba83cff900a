# SPDX-License-Identifier: Apache-2.0
"""Clock crossings by the netlist: each is protected, listed and constrained."""

from __future__ import annotations

import re
import shutil
from typing import Any

import pytest

from offramp.fpga.boards import BOARDS
from offramp.fpga.sources import closure, modules
from rtl.crossings import ONE_CLOCK, board_crossings, constraints, crossings

pytestmark = [pytest.mark.rtl, pytest.mark.skipif(not shutil.which("yosys"), reason="needs yosys")]
ASKED = [board.name for board in BOARDS.values() if board.ecp5 or board.cage]


@pytest.mark.parametrize("name", ASKED)
def test_every_crossing_is_protected_and_constrained(name):
    board = BOARDS[name]
    listed = board_crossings(board)
    assert listed
    assert [each for each in listed if each.kind == "nothing"] == []
    for path, text in constraints(board, listed).items():
        assert path.read_text("utf-8") == text, f"{path}: python tests/support/rtl/crossings.py writes it"
        for each in listed:
            assert each.place.replace(".", "/" if path.suffix == ".xdc" else ".") in text


def test_engines_have_one_clock():
    """What is not looked into: engines, and the boards and kernels that consist of them."""
    alone = {*ONE_CLOCK, *BOARDS["pynq-z2"].tops, *BOARDS["u50"].tops, "kernel_shell"}
    files = {path for name in alone for path in closure(name)[0]}
    edges = {edge for path in files for edge in re.findall(r"edge (\w+)", path.read_text("utf-8"))}
    assert edges == {"clk"}


def test_a_synchroniser_is_marked_for_vivado():
    text = modules()["synchroniser"].read_text("utf-8")
    assert re.search(r"\(\* keep, ASYNC_REG = \"TRUE\" \*\)[^\n]*\n\s*reg \[WIDTH-1:0\] first, second;", text)


def _register(clock: int, into: int, out: int, source: str = "other.sv:1") -> dict[str, Any]:
    return {
        "type": "$dff",
        "attributes": {"src": source},
        "port_directions": {"CLK": "input", "D": "input", "Q": "output"},
        "connections": {"CLK": [clock], "D": [into], "Q": [out]},
    }


@pytest.mark.parametrize(
    ("taker", "gate", "kind"),
    [
        ("other.sv:1", False, "nothing"),
        ("synchroniser.sv:18", False, "synchroniser"),
        ("synchroniser.sv:18", True, "nothing"),
    ],
)
def test_a_planted_crossing_is_noticed(taker, gate, kind):
    """A register of another clock, with nothing in between, a synchroniser, or logic before a synchroniser."""
    cells = {"a": _register(2, 4, 5), "b.first": _register(3, 6 if gate else 5, 7, taker)}
    if gate:
        cells["g"] = {
            "type": "$not",
            "attributes": {},
            "port_directions": {"A": "input", "Y": "output"},
            "connections": {"A": [5], "Y": [6]},
        }
    ports = {name: {"direction": "input", "bits": [bit]} for name, bit in (("one", 2), ("two", 3))}
    names = {name: {"bits": port["bits"]} for name, port in ports.items()}
    (crossing,) = crossings({"cells": cells, "ports": ports, "netnames": names})
    assert (crossing.source, crossing.target, crossing.kind) == ("one", "two", kind)
