# SPDX-License-Identifier: Apache-2.0
"""Macros of headers in a module's source, which may use those before them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from offramp.fpga import ports

if TYPE_CHECKING:
    import pytest

HEADER = """
// `OUTER(a) is no macro here
`define WIDTH 32
`define BUS(name, bits) \\
  input wire [bits-1:0] name``_data, \\
  input wire name``_valid
`define PAIR(name) `BUS(name, `WIDTH)
"""


def test_macros_are_in_place_with_their_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header, source = tmp_path / "links.svh", tmp_path / "engine.sv"
    header.write_text(HEADER)
    source.write_text("module engine ( `PAIR(up), /* `PAIR(no) */ `BUS(down, 8), output wire [`WIDTH-1:0] sum );\n")
    monkeypatch.setattr(ports, "headers", lambda: {"links.svh": header})
    assert " ".join(ports.expanded(source).split()) == (
        "module engine ( input wire [ 32-1:0] up_data, input wire up_valid, "
        "input wire [8-1:0] down_data, input wire down_valid, output wire [ 32-1:0] sum );"
    )
