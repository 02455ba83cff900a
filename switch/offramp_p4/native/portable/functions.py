# SPDX-License-Identifier: Apache-2.0
"""Hashes, random numbers, digests and the questions of deparsers, as PSA and PNA have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from offramp_base.native.llvm import I8, I64, Value, const, i64, ll
from offramp_base.native.records import offset
from offramp_p4 import constructor, ir
from offramp_p4.engine.core import argument, instance
from offramp_p4.engine.lvalues import is_lvalue
from offramp_p4.native import codec, lvalues, wide
from offramp_p4.native.arithmetic import divide
from offramp_p4.native.emitter import Builder, Emitter
from offramp_p4.native.record_writing import record
from offramp_p4.native.runtime import checksums as algorithms
from offramp_p4.native.runtime.context import SwitchMemory
from offramp_p4.native.runtime.portable.gathering import toeplitz
from offramp_p4.native.runtime.randomness import draw_between
from offramp_p4.native.shape import bits_of, number_type, offsets
from offramp_p4.native.tna.functions import numbers
from offramp_p4.portable.functions import RECIRCULATE, result_mask, selector_keys
from offramp_p4.source import Unsupported
from offramp_p4.types import Structure, strip

if TYPE_CHECKING:
    from offramp_p4.native.portable.target import NativePortableTarget

ALGORITHMS: Final[dict[str, Callable[..., int]]] = {
    "IDENTITY": algorithms.identity,
    "CRC32": algorithms.crc32,
    "CRC32_CUSTOM": algorithms.crc32,
    "CRC16": algorithms.crc16,
    "CRC16_CUSTOM": algorithms.crc16,
    "ONES_COMPLEMENT16": algorithms.csum16,
    "TARGET_DEFAULT": algorithms.crc32,
    "TOEPLITZ": toeplitz,
}


def builders(target: NativePortableTarget) -> dict[tuple[str, str], Builder]:
    """The builders of these externs."""
    return {
        ("Hash", "get_hash"): _get_hash,
        ("Random", "read"): _random,
        ("Digest", "pack"): lambda g, e: _digest(target, g, e),
        ("", "psa_clone_i2e"): lambda g, e: _flag(g, e, "clone"),
        ("", "psa_clone_e2e"): lambda g, e: _flag(g, e, "clone"),
        ("", "psa_resubmit"): lambda g, e: _kept_and(g, e, _flag(g, e, "resubmit")),
        ("", "psa_normal"): lambda g, e: _kept_and(g, e, g.b.not_(_flag(g, e, "resubmit"))),
        ("", "psa_recirculate"): _recirculate,
    }


def algorithm_of(i: ir.ExternInstance, param: str) -> Callable[..., int]:
    """The function that an object is made with."""
    name = constructor.member(i, param)
    if name not in ALGORITHMS:
        raise Unsupported(i.pos, f"{i.extern} {i.name} by {name}")
    return ALGORITHMS[name]


def _hash(g: Emitter, algorithm: Callable[..., int], data: ir.Expr) -> Value:
    """The hash of data as a word; zeros fill the first byte."""
    parts = numbers(g, data)
    size: int = sum(map(wide.width_of, parts))
    front = -size % 8
    if front:
        parts = [const(number_type(front), 0), *parts]
    room = g.allocate(ll.ArrayType(I8, (size + 7) // 8 + 1), 8)
    codec.pack(g, parts, room)
    return g.call(algorithm, g.context, room, i64((size + 7) // 8))


def _get_hash(g: Emitter, e: ir.ExternCall) -> Value:
    i = instance(e)
    algorithm, width = algorithm_of(i, "algo"), result_mask(e).bit_length()
    if len(e.args) == 1:
        return g.resize(_hash(g, algorithm, argument(e, 0)), width)
    base, data, top = (argument(e, i) for i in range(3))
    start_bits, top_bits = bits_of(base.type), bits_of(top.type)
    if start_bits is None or top_bits is None or start_bits.signed or top_bits.signed:
        raise Unsupported(e.pos, f"get_hash with a range of type {base.type}")
    start, number = g.resize(g.value(base), width), _hash(g, algorithm, data)
    wide = max(64, top_bits.width)
    modulus = g.resize(g.value(top), wide)
    none = g.b.icmp_unsigned("==", modulus, const(modulus.type, 0))
    _, rest = divide(g, g.resize(number, wide), g.b.select(none, const(modulus.type, 1), modulus))
    return g.b.add(start, g.resize(rest, width))


def selector_hash(g: Emitter, table: ir.MatchTable) -> Value:
    """The hash over the ``selector`` keys of ``table``; 0 without an action selector."""
    selection = selector_keys(table)
    if selection is None:
        return i64(0)
    selector, keys = selection
    return _hash(g, algorithm_of(selector, "algo"), keys)


def _random(g: Emitter, e: ir.ExternCall) -> Value:
    low, high = (constructor.number(instance(e), name) for name in ("min", "max"))
    bits = bits_of(e.type)
    assert bits is not None
    if bits.width > 63 or low > high:
        raise Unsupported(e.pos, f"random numbers of {low} to {high}")
    return g.resize(g.call(draw_between, g.context, i64(low), i64(high)), bits.width)


def _digest(target: NativePortableTarget, g: Emitter, e: ir.ExternCall) -> Value:
    data = argument(e, 0)
    values = (g.temporary(data), data.type)
    words = record(g, offset(SwitchMemory.digests), len(target.digests), instance(e).name, values)
    target.digests.append(words)
    return None


def _flag(g: Emitter, e: ir.ExternCall, name: str, index: int = 0) -> Value:
    """A field of an argument."""
    arg = argument(e, index)
    t = strip(arg.type)
    if not isinstance(t, Structure) or name not in t.index:
        raise Unsupported(e.pos, f"{e.method} of {t}, which has no {name}")
    base = lvalues.locate(g, arg)[0] if is_lvalue(arg) else g.temporary(arg)
    at = t.index[name]
    return g.load(g.at(base, offsets(t)[at]), t.fields[at].type)


def _kept_and(g: Emitter, e: ir.ExternCall, flag: Value) -> Value:
    return g.b.and_(g.b.not_(_flag(g, e, "drop")), flag)


def _recirculate(g: Emitter, e: ir.ExternCall) -> Value:
    port = g.resize(_flag(g, e, "egress_port", 1), 64)
    return _kept_and(g, e, g.b.icmp_unsigned("==", port, const(I64, RECIRCULATE)))
