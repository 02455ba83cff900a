# SPDX-License-Identifier: Apache-2.0
"""Lists of fields as bytes: the data of hashes and checksums."""

from __future__ import annotations

from offramp_p4 import ir
from offramp_p4.engine import bits, lvalues
from offramp_p4.engine.generator import Generator, is_scalar
from offramp_p4.source import P4Error
from offramp_p4.types import INT, Header, strip


def fields_of(data: ir.Expr) -> list[ir.Expr]:
    """The parts of ``data``, each with a width.

    Raises:
        P4Error: one is a number without a width.
    """
    parts = list(data.parts) if isinstance(data, ir.Compose) else [data]
    for part in parts:
        if strip(part.type) == INT:
            raise P4Error(part.pos, "a number without a width: expected one such as 8w5 in data that is packed")
        if isinstance(part, ir.Compose):
            fields_of(part)
    return parts


def packed(g: Generator, data: ir.Expr) -> str:
    """Write the lines that pack ``data``, field after field; returns the text of the bytes.

    As in bmv2, fields of headers that are not valid are left out, and zeros fill the last byte.
    """
    groups: list[tuple[str, list[ir.Expr]]] = []
    for part in fields_of(data):
        guard = _guard(g, part)
        if groups and groups[-1][0] == guard:
            groups[-1][1].append(part)
        else:
            groups.append((guard, [part]))
    if len(groups) == 1 and not groups[0][0] and _fixed(groups[0][1]):
        text, width = _joined(g, groups[0][1])
        return _bytes(text, width)
    value, size = g.temporary("0", "bits"), g.temporary("0", "size")
    for guard, parts in groups:
        if guard:
            with g.indented(f"if {guard}:"):
                _append(g, parts, value, size)
        else:
            _append(g, parts, value, size)
    return f"({value} << -{size} % 8).to_bytes(({size} + 7) // 8, 'big')"


def _bytes(text: str, width: int) -> str:
    pad = -width % 8
    padded = f"({text} << {pad})" if pad else text
    return f"{padded}.to_bytes({(width + 7) // 8}, 'big')"


def _append(g: Generator, parts: list[ir.Expr], value: str, size: str) -> None:
    for part in parts:
        if _fixed([part]):
            text, width = _joined(g, [part])
            g.line(f"{value}, {size} = {value} << {width} | {text}, {size} + {width}")
        else:
            fields = g.bind(bits.kinds(part.type), "fields")
            more = g.temporary(f"{g.bind(bits.serialise, 'serialise')}({fields}, {g.value(part)})", "more")
            g.line(f"{value}, {size} = {value} << {more}[1] | {more}[0], {size} + {more}[1]")


def _fixed(parts: list[ir.Expr]) -> bool:
    return all(is_scalar(p.type) for p in parts)


def _joined(g: Generator, parts: list[ir.Expr]) -> tuple[str, int]:
    texts, width = [], 0
    for part in reversed(parts):
        kind = bits.scalar_bits(part.type)
        text = lvalues.pattern(g.value(part), kind)
        texts.append(f"({text} << {width})" if width else text)
        width += kind.width
    return f"({' | '.join(reversed(texts))})", width


def _guard(g: Generator, part: ir.Expr) -> str:
    """Text of the validity test of ``part``; empty if it always counts."""
    header = part
    if not isinstance(strip(part.type), Header):
        if not isinstance(part, ir.Member):
            return ""
        header = part.base
        while isinstance(header, ir.Member) and not isinstance(strip(header.type), Header):
            header = header.base
    if not isinstance(strip(header.type), Header) or not lvalues.is_lvalue(header):
        return ""
    return f"m[{lvalues.address(g, header)}]"


def number(g: Generator, data: ir.Expr) -> tuple[str, int]:
    """Text of ``data`` as one number, the first field highest, and its width in bits.

    Headers count whether or not they are valid, as in hardware, where a field is a register.
    """
    texts, width = [], 0
    for part in reversed(fields_of(data)):
        if is_scalar(part.type):
            kind = bits.scalar_bits(part.type)
            text, size = lvalues.pattern(g.value(part), kind), kind.width
        elif isinstance(part, ir.Compose):
            text, size = number(g, part)
        else:
            size = bits.width(part.type)
            fields = g.bind(bits.kinds(part.type), "fields")
            text = f"{g.bind(bits.serialise, 'serialise')}({fields}, {g.value(part)})[0]"
        texts.append(f"({text} << {width})" if width else text)
        width += size
    return (f"({' | '.join(reversed(texts))})" if texts else "0"), width
