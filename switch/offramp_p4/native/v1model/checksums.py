# SPDX-License-Identifier: Apache-2.0
"""Hashes and checksums of v1model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from offramp_base.native.llvm import I1, Value, const, i64
from offramp_p4 import ir
from offramp_p4.engine.core import argument
from offramp_p4.native import lvalues
from offramp_p4.native.arithmetic import divide
from offramp_p4.native.core import field, set_field
from offramp_p4.native.emitter import Builder, Emitter
from offramp_p4.native.packing import packed
from offramp_p4.native.runtime import checksums as algorithms
from offramp_p4.native.runtime.context import SwitchMemory
from offramp_p4.native.runtime.program import CHECKSUM_WRONG, CURSOR, LENGTH
from offramp_p4.native.shape import bits_of
from offramp_p4.source import Unsupported
from offramp_p4.types import INT, Bits, Enum, Header, strip
from offramp_p4.v1model.crc import custom_algorithm
from offramp_p4.v1model.objects import enum_member

if TYPE_CHECKING:
    from offramp_p4.native.v1model.target import NativeV1Target

_ALGORITHMS: Final[dict[str, Callable[..., int]]] = {
    "crc32": algorithms.crc32,
    "crc32_custom": algorithms.crc32,  # of a selector, whose parameters nobody sets
    "crc16": algorithms.crc16,
    "crc16_custom": algorithms.crc16,
    "identity": algorithms.identity,
    "csum16": algorithms.csum16,
    "xor16": algorithms.xor16,
    "random": algorithms.random,
}


_CUSTOM: Final[dict[str, Callable[..., int]]] = {
    "crc16_custom": algorithms.crc16_custom,
    "crc32_custom": algorithms.crc32_custom,
}


def builders(target: NativeV1Target) -> dict[tuple[str, str], Builder]:
    """The builders of these externs."""
    return {
        ("", "hash"): lambda g, e: _hash(target, g, e),
        ("", "verify_checksum"): lambda g, e: _verify(target, g, e, payload=False),
        ("", "verify_checksum_with_payload"): lambda g, e: _verify(target, g, e, payload=True),
        ("", "update_checksum"): lambda g, e: _update(target, g, e, payload=False),
        ("", "update_checksum_with_payload"): lambda g, e: _update(target, g, e, payload=True),
        ("Checksum16", "get"): _get,
    }


def _call_digest(
    target: NativeV1Target, g: Emitter, call: ir.ExternCall, algorithm: ir.Expr, data: ir.Expr, *, payload: bool = False
) -> Value:
    """The algorithm of a call, custom CRCs with the parameters that this call has then."""
    custom = custom_algorithm(call)
    if custom is None:
        return _digest(g, _algorithm(algorithm), data, payload=payload)
    number = i64(target.objects.crcs.numbers[call])
    return _digest(g, _CUSTOM[custom], data, number, payload=payload)


def _algorithm(e: ir.Expr) -> Callable[..., int]:
    """The HashAlgorithm, which must be known when the program is loaded."""
    if not isinstance(e, ir.Const) or not isinstance(e.type, Enum) or not isinstance(e.value, int):
        raise Unsupported(e.pos, "a hash algorithm that is not a constant")
    name = e.type.member(e.value)
    if name is None:
        raise Unsupported(e.pos, f"hash algorithm {e.value}")
    return _ALGORITHMS[name]


def _width(e: ir.Expr) -> Bits:
    t = strip(e.type)
    if not isinstance(t, Bits):
        raise Unsupported(e.pos, f"a checksum of type {t}")
    return t


def _digest(g: Emitter, algorithm: Callable[..., int], data: ir.Expr, *further: Value, payload: bool = False) -> Value:
    """The algorithm over a list of fields, as a word; ``further`` are its arguments behind the bytes."""
    rest = None
    if payload:
        start = field(g, CURSOR.name)
        rest = (g.at(g.pointer(SwitchMemory.frame), start), g.b.sub(field(g, LENGTH.name), start))
    filled = packed(g, data, rest)
    return g.call(algorithm, g.context, filled.address, filled.size, *further)


def _hash(target: NativeV1Target, g: Emitter, e: ir.ExternCall) -> Value:
    result, base, data, top = (argument(e, i) for i in (0, 2, 3, 4))
    into, width = lvalues.lvalue(g, result), _width(result)
    start_bits, top_bits = bits_of(base.type), bits_of(top.type)
    assert start_bits is not None
    assert top_bits is not None
    if top_bits.signed and strip(top.type) != INT:
        raise Unsupported(top.pos, f"a hash whose maximum is of type {top.type}")
    start = g.resize(g.value(base), width.width, signed=start_bits.signed)
    number = _call_digest(target, g, e, argument(e, 1), data)
    wide = max(64, top_bits.width)
    modulus = g.resize(g.value(top), wide)
    none = g.b.icmp_unsigned("==", modulus, const(modulus.type, 0))
    modulus = g.b.select(none, const(modulus.type, 1), modulus)
    _, remainder = divide(g, g.resize(number, wide), modulus)
    lvalues.write(g, into, g.b.add(start, g.resize(remainder, width.width)))
    return None


def _sum(target: NativeV1Target, g: Emitter, e: ir.ExternCall, *, payload: bool) -> Value:
    number = _call_digest(target, g, e, argument(e, 3), argument(e, 1), payload=payload)
    return g.resize(number, _width(argument(e, 2)).width)


def _verify(target: NativeV1Target, g: Emitter, e: ir.ExternCall, *, payload: bool) -> Value:
    checksum = argument(e, 2)
    test = g.value(argument(e, 0))
    if isinstance(checksum, ir.Member) and isinstance(strip(checksum.base.type), Header):
        base = checksum.base  # as in bmv2: nothing to verify otherwise
        test = g.pick(test, lambda: lvalues.is_valid(g, lvalues.locate(g, base)[0]), lambda: const(I1, 0), I1)
    with g.when(test):
        computed = _sum(target, g, e, payload=payload)
        wrong = g.b.icmp_unsigned("!=", g.value(checksum), computed)
        before = field(g, CHECKSUM_WRONG.name)
        set_field(g, CHECKSUM_WRONG.name, g.b.or_(before, g.resize(wrong, 64)))
    return None


def _update(target: NativeV1Target, g: Emitter, e: ir.ExternCall, *, payload: bool) -> Value:
    checksum, condition = argument(e, 2), g.value(argument(e, 0))
    if g.log is not None:
        g.log.updated(g, e, condition)
    with g.when(condition):
        into = lvalues.lvalue(g, checksum)
        lvalues.write(g, into, _sum(target, g, e, payload=payload))
    return None


def _get(g: Emitter, e: ir.ExternCall) -> Value:
    return g.resize(_digest(g, algorithms.csum16, argument(e, 0)), 16)


def selector_hash(g: Emitter, table: ir.MatchTable) -> Value:
    """The hash over the ``selector`` keys of ``table``; 0 without an action selector."""
    instance = table.properties.get("implementation")
    if not isinstance(instance, ir.ExternInstance) or instance.extern != "action_selector":
        return i64(0)
    keys = [k.expr for k in table.keys if k.match_kind == "selector"]
    data = ir.Compose(parts=keys, type=table.keys[0].expr.type, pos=table.pos)
    return _digest(g, _ALGORITHMS[enum_member(instance, 0)], data)
