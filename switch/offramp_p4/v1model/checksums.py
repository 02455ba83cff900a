# SPDX-License-Identifier: Apache-2.0
"""Hashes and checksums of v1model."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from offramp_p4 import ir
from offramp_p4.engine import lvalues
from offramp_p4.engine.core import argument
from offramp_p4.engine.layout import CURSOR, FRAME
from offramp_p4.engine.packing import packed
from offramp_p4.source import Unsupported
from offramp_p4.types import Bits, Enum, Header, strip
from offramp_p4.v1model import hashing
from offramp_p4.v1model.crc import custom_algorithm
from offramp_p4.v1model.objects import enum_member

if TYPE_CHECKING:
    from offramp_p4.engine.generator import Builder, Generator
    from offramp_p4.v1model.target import V1Target


def builders(target: V1Target) -> dict[tuple[str, str], Builder]:
    """The builders of these externs."""
    return {
        ("", "hash"): lambda g, e: _hash(target, g, e),
        ("", "verify_checksum"): lambda g, e: _verify(target, g, e, payload=False),
        ("", "verify_checksum_with_payload"): lambda g, e: _verify(target, g, e, payload=True),
        ("", "update_checksum"): lambda g, e: _update(target, g, e, payload=False),
        ("", "update_checksum_with_payload"): lambda g, e: _update(target, g, e, payload=True),
        ("Checksum16", "get"): _get,
    }


def _algorithm(target: V1Target, g: Generator, call: ir.ExternCall, e: ir.Expr) -> str:
    """The name of the function for a HashAlgorithm that must be known when the program is loaded."""
    if not isinstance(e, ir.Const) or not isinstance(e.type, Enum) or not isinstance(e.value, int):
        raise Unsupported(e.pos, "a hash algorithm that is not a constant")
    name = e.type.member(e.value)
    if name is None:
        raise Unsupported(e.pos, f"hash algorithm {e.value}")
    if custom_algorithm(call) is not None:
        return g.bind(partial(target.objects.crcs.compute, call), name)
    return _bound(target, g, name)


def _bound(target: V1Target, g: Generator, name: str) -> str:
    if name not in target.algorithms:
        target.algorithms[name] = hashing.algorithm(name, target.random)
    return g.bind(target.algorithms[name], name)


def _mask(t: Bits) -> str:
    return str(t.mask)


def _width(e: ir.Expr) -> Bits:
    t = strip(e.type)
    if not isinstance(t, Bits):
        raise Unsupported(e.pos, f"a checksum of type {t}")
    return t


def _hash(target: V1Target, g: Generator, e: ir.ExternCall) -> str:
    result, base, data, top = (argument(e, i) for i in (0, 2, 3, 4))
    into = lvalues.lvalue(g, result)
    function = _algorithm(target, g, e, argument(e, 1))
    start = g.temporary(g.value(base), "base")
    value = f"{function}({packed(g, data)})"
    modulus = g.value(top)
    if not isinstance(top, ir.Const):
        modulus = f"({modulus} or 1)"
    elif not top.value:
        modulus = "1"
    text = f"({start} + {value} % {modulus} & {_width(result).mask})"
    lvalues.write(g, into, text, lvalues.sliced_cell(result))
    return "None"


def _sum(target: V1Target, g: Generator, e: ir.ExternCall, *, payload: bool) -> str:
    data = packed(g, argument(e, 1))
    if payload:
        data = f"{data} + m[{FRAME}][m[{CURSOR}]:]"
    return f"{_algorithm(target, g, e, argument(e, 3))}({data}) & {_width(argument(e, 2)).mask}"


def _verify(target: V1Target, g: Generator, e: ir.ExternCall, *, payload: bool) -> str:
    checksum = argument(e, 2)
    test = g.condition(argument(e, 0))
    if isinstance(checksum, ir.Member) and isinstance(strip(checksum.base.type), Header):
        test = f"{test} and m[{lvalues.address(g, checksum.base)}]"  # as in bmv2: nothing to verify otherwise
    with g.indented(f"if {test}:"):
        computed = _sum(target, g, e, payload=payload)
        g.line(f"m[{target.cells.checksum_error}] |= {g.value(checksum)} != ({computed})")
    return "None"


def _update(target: V1Target, g: Generator, e: ir.ExternCall, *, payload: bool) -> str:
    checksum = argument(e, 2)
    with g.indented(f"if {g.condition(argument(e, 0))}:"):
        into = lvalues.lvalue(g, checksum)
        value = f"({_sum(target, g, e, payload=payload)})"
        lvalues.write(g, into, value, lvalues.sliced_cell(checksum))
    return "None"


def _get(g: Generator, e: ir.ExternCall) -> str:
    return f"{g.bind(hashing.csum16, 'csum16')}({packed(g, argument(e, 0))})"


def selector_hash(target: V1Target, g: Generator, table: ir.MatchTable) -> str:
    """Text of the hash over the ``selector`` keys of ``table``; "0" without an action selector."""
    instance = table.properties.get("implementation")
    if not isinstance(instance, ir.ExternInstance) or instance.extern != "action_selector":
        return "0"
    keys = [k.expr for k in table.keys if k.match_kind == "selector"]
    data = ir.Compose(parts=keys, type=table.keys[0].expr.type, pos=table.pos)
    return f"{_bound(target, g, enum_member(instance, 0))}({packed(g, data)})"
