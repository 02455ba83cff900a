# SPDX-License-Identifier: Apache-2.0
"""Random headers and metadata: plain headers, a stack, a union, a varbit, structs, enums."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from offramp_p4.types import BOOL, Bits, Type
from offramp_p4_tools.fuzz.scope import WIDTHS, Operand

Fields = list[tuple[str, Type]]
INNER: Fields = [("x", Bits(12)), ("y", Bits(9, signed=True))]


class Shapes:
    """The types of one program. ``h0`` comes first in every packet, with ``kind``, ``next`` and a checksum."""

    def __init__(self, rng: Random, *, portable: bool = False) -> None:
        self.rng, self.portable = rng, portable
        lead: Fields = [("kind", Bits(8)), ("next", Bits(8)), ("sum", Bits(16))]
        self.types: dict[str, Fields] = {
            "h0": lead + self._fields("f", rng.randint(1, 4)),
            "h1": self._fields("g", rng.randint(1, 5)),
            "item": [("more", Bits(8)), *self._fields("i", rng.randint(1, 2))],
            "u0": self._fields("a", 2),
            "u1": self._fields("b", 1),
        }
        self.stack_size = rng.randint(1, 4)
        self.has_union = rng.random() < 0.6
        self.has_varbit = rng.random() < 0.5
        self.varbit = 8 * rng.randint(1, 6)
        self.grid = (rng.randint(1, 5), Bits(rng.choice(WIDTHS)))
        self.has_array = rng.random() < 0.5 and not portable
        self.meta: Fields = [(f"m{i}", self._scalar()) for i in range(rng.randint(3, 7))]

    def declarations(self) -> list[str]:
        """The declarations of all types and errors."""
        lines = ["error { Odd }", "enum bit<8> code_t { one = 1, seven = 7 }"]
        for name, fields in self.types.items():
            lines += [f"header {name}_t {{", *(f"{t} {f};" for f, t in fields), "}"]
        lines += ["header var_t {", "bit<8> size;", f"varbit<{self.varbit}> data;", "}"]
        lines += ["header_union either_t {", "u0_t u0;", "u1_t u1;", "}"]
        lines += ["struct headers_t {", "h0_t h0;", "h1_t h1;", "h1_t h2;", f"item_t[{self.stack_size}] items;"]
        lines += ["var_t var;"] if self.has_varbit else []
        lines += ["either_t either;"] if self.has_union else []
        size, element = self.grid
        lines += ["}", "struct inner_t {", "bit<12> x;", "int<9> y;", "}"]
        lines += ["struct seen_t {", "@match(ternary) bit<8> a;", "@match(range) bit<4> b;", "}"]
        lines += [
            "struct meta_t {",
            "@field_list(1) bit<16> link;",
            "@field_list(1) bit<8> rounds;",
            "inner_t inner;",
            "inner_t other;",
        ]
        lines += ["bit<3> at;", f"{element}[{size}] grid;"] if self.has_array else ["bit<3> at;"]
        lines += [f"{t} {f};" for f, t in self.meta]
        return [*lines, "}", "struct notice_t {", "bit<16> what;", "bit<16> link;", "}"]

    def operands(self) -> Iterator[Operand]:
        """All fields that programs read and write."""
        for header in ("h0", "h1", "h2"):
            for field, t in self.types["h1" if header == "h2" else header]:
                yield Operand(f"hdr.{header}.{field}", t)
        for at in range(self.stack_size):
            for field, t in self.types["item"]:
                yield Operand(f"hdr.items[{at}].{field}", t)
        if self.has_union and not self.portable:  # bmv2 shows what an earlier packet left in an invalid member
            for member in ("u0", "u1"):
                for field, t in self.types[member]:
                    yield Operand(f"hdr.either.{member}.{field}", t)
        inner = [(f"{name}.{field}", t) for name in ("inner", "other") for field, t in INNER]
        for field, t in (*self.meta, ("link", Bits(16)), ("at", Bits(3)), *inner):
            yield Operand(f"meta.{field}", t)
        for field, t in self.types["item"] if not self.portable else []:
            yield Operand(f"hdr.items[meta.at].{field}", t)
        if self.has_array:
            yield from (Operand(f"meta.grid[{at}]", self.grid[1]) for at in ("0", "meta.at"))

    def standard_metadata(self, *, writable_port: bool) -> list[Operand]:
        """Fields of the architecture's metadata that mean the same everywhere."""
        names = [("ingress_port", 9), ("packet_length", 32), ("instance_type", 32), ("egress_rid", 16)]
        operands = [Operand(f"std.{name}", Bits(width), writable=False) for name, width in names]
        return [*operands, Operand("std.egress_spec", Bits(9), writable=False)] if writable_port else operands

    def headers(self) -> Iterator[tuple[str, str]]:
        """Headers that may be made valid, copied and compared, with their types."""
        yield from (("hdr.h0", "h0_t"), ("hdr.h1", "h1_t"), ("hdr.h2", "h1_t"))
        for at in range(self.stack_size):
            yield f"hdr.items[{at}]", "item_t"
        if self.has_union and not self.portable:
            yield from (("hdr.either.u0", "u0_t"), ("hdr.either.u1", "u1_t"))

    def stacks(self) -> Iterator[tuple[str, int, str]]:
        """Header stacks with their sizes and types."""
        yield "hdr.items", self.stack_size, "item_t"

    def emitted(self) -> list[str]:
        """The headers that the deparser emits, in order."""
        if self.rng.random() < 0.5:
            return ["hdr"]
        parts = ["hdr.h0", "hdr.h1", "hdr.items", "hdr.h2"]
        parts += ["hdr.var"] if self.has_varbit else []
        return [*parts, "hdr.either"] if self.has_union else parts

    def fields_of(self, header: str) -> list[str]:
        """The unsigned fields of a header beyond those of every ``h0``."""
        own = [(f, t) for f, t in self.types[header] if f not in {"kind", "next", "sum"}]
        return [f"hdr.{header}.{f}" for f, t in own if isinstance(t, Bits) and not t.signed]

    def _scalar(self) -> Type:
        width = self.rng.choice(WIDTHS)
        if self.rng.random() < 0.15:
            return BOOL
        return Bits(width, signed=width > 1 and self.rng.random() < 0.3)

    def _fields(self, prefix: str, count: int) -> Fields:
        """``count`` fields, and one that fills the last byte."""
        fields: Fields = []
        for i in range(count):
            width = self.rng.choice(WIDTHS)
            fields.append((f"{prefix}{i}", Bits(width, signed=width > 1 and self.rng.random() < 0.25)))
        rest = -sum(t.width for _, t in fields if isinstance(t, Bits)) % 8
        return [*fields, (f"{prefix}_pad", Bits(rest))] if rest else fields
