# SPDX-License-Identifier: Apache-2.0
"""Descriptions of formats as P4."""

from __future__ import annotations

from collections.abc import Iterable

from offramp_base.wire.fields import HeaderFormat


def header(described: HeaderFormat, text: str = "") -> list[str]:
    """A ``header`` type, ``name_t``; ``text`` goes in front of it, line by line."""
    above = [f"// {line}" for line in text.splitlines()]
    widest = max(len(f"bit<{field.width}>") for field in described.fields)
    fields = [f"    {f'bit<{field.width}>':<{widest}} {field.name};" for field in described.fields]
    return [*above, f"header {described.name}_t {{", *fields, "}", ""]


def constant(name: str, width: int, value: int, text: str = "") -> list[str]:
    """A constant; ``text`` goes in front of it, line by line."""
    digits = str(value) if value < 256 else f"0x{value:0{width // 4}X}"
    return [*(f"// {line}" for line in text.splitlines()), f"const bit<{width}> {name} = {digits};"]


def file(name: str, body: Iterable[str]) -> str:
    """A file that may be included twice."""
    guard = f"OFFRAMP_{name.upper()}_P4"
    above = ["/* SPDX-License-Identifier: Apache-2.0 */", "// Written by ci/formats: change it there."]
    return "\n".join([*above, f"#ifndef {guard}", f"#define {guard}", *body, "#endif", ""])
