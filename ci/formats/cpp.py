# SPDX-License-Identifier: Apache-2.0
"""Descriptions of formats as C++."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping

from offramp_base.wire.fields import BitField, HeaderFormat
from offramp_base.wire.structures import StructFormat, type_and_count

TYPES = {
    "u8": "std::uint8_t",
    "u16": "std::uint16_t",
    "u32": "std::uint32_t",
    "u64": "std::uint64_t",
    "i64": "std::int64_t",
    "f64": "double",
    "byte": "std::byte",
}
_WIDTH = 120


def comment(text: str) -> list[str]:
    """A sentence in front of what it is about."""
    return [f"// {line}" for line in textwrap.wrap(text, _WIDTH - 3)]


def structure(described: StructFormat) -> list[str]:
    """A ``struct`` whose size is asserted; arrays of bytes are ``std::array``, other arrays plain ones."""
    groups: list[tuple[str, list[str]]] = []
    for name, member in described.members.items():
        kind, count = type_and_count(member)
        type_ = f"std::array<std::byte, {count}>" if kind == "byte" else TYPES[kind]
        declared = f"{name}[{count}]" if count and kind != "byte" else name
        if not groups or groups[-1][0] != type_:
            groups.append((type_, []))
        groups[-1][1].append(declared)
    inside = [f"    {type_} {', '.join(names)};" for type_, names in groups]
    end = ["};", f"static_assert(sizeof({described.name}) == {described.size});", ""]
    return [*comment(described.text), f"struct {described.name} {{", *inside, *end]


def enumeration(name: str, values: Mapping[str, int], kind: str = "u32") -> list[str]:
    """An ``enum class`` with names in small letters."""
    inside = [f"    {each.lower()} = {value}," for each, value in values.items()]
    return [f"enum class {name} : {TYPES[kind]} {{", *inside, "};", ""]


def plain_enumeration(name: str, values: Mapping[str, int]) -> list[str]:
    """An ``enum`` with names like kOutOfBounds, which HLS compares with numbers."""
    inside = [f"    k{_camel(each.lower())} = {value}," for each, value in values.items()]
    return [f"enum {name} {{", *inside, "};", ""]


def constants(values: Mapping[str, int], kind: str = "u32") -> list[str]:
    """Constants with names in small letters; those above a million in hexadecimal."""
    written = {name.lower(): str(value) if value < 1 << 20 else f"0x{value:X}" for name, value in values.items()}
    return [f"inline constexpr {TYPES[kind]} {name} = {value};" for name, value in written.items()] + [""]


def header(described: HeaderFormat, name: str = "") -> list[str]:
    """A namespace with a ``BitField`` (``field.hpp``) for each field of a packet's header, and the header's size.

    Args:
        described: the header.
        name: the namespace's; by default the header's.
    """
    name = name or described.name
    inside = [f"inline constexpr Field<{_place(field)}> {field.name};" for field in described.fields]
    size = f"inline constexpr std::size_t size = {described.size};"
    return [f"namespace {name} {{", size, *inside, f"}}  // namespace {name}", ""]


def file(text: str, namespace: str, body: Iterable[str], includes: Iterable[str]) -> str:
    """A header file."""
    parts = ["// SPDX-License-Identifier: Apache-2.0", *comment(f"{text} Written by ci/formats: change it there.")]
    parts += [
        "#pragma once",
        "",
        *(f"#include {each}" if each else "" for each in includes),
        "",
        f"namespace {namespace} {{",
        "",
    ]
    return "\n".join([*parts, *body, f"}}  // namespace {namespace}", ""])


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _place(field: BitField) -> str:
    """Width, first byte and the bits behind the field in its last byte."""
    return f"{field.width}, {field.first}" + (f", {field.shift}" if field.shift else "")
