# SPDX-License-Identifier: Apache-2.0
"""Descriptions of formats as SystemVerilog."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_PLAIN_BITS: Final = 32
"""Bits of a number without a width."""


def package(name: str, groups: Mapping[str, tuple[int, Mapping[str, int]]]) -> str:
    """A package of constants.

    Args:
        name: the package's.
        groups: by what they are: their width in bits, and values by name.
    """
    lines = ["// SPDX-License-Identifier: Apache-2.0", "// Written by ci/formats: change it there.", f"package {name};"]
    lines += ["  /* verilator lint_off UNUSEDPARAM */  // a design has no use for all of them"]
    for text, (width, values) in groups.items():
        lines += [f"  // {text}"]
        sized = f"{width}'d" if width > _PLAIN_BITS else ""
        lines += [f"  localparam [{width - 1}:0] {each} = {sized}{value};" for each, value in values.items()]
    return "\n".join([*lines, "  /* verilator lint_on UNUSEDPARAM */", "endpackage", ""])
