# SPDX-License-Identifier: Apache-2.0
"""Hashes, registers, random numbers, digests and the questions of deparsers, as PSA and PNA have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from offramp_p4 import constructor, ir
from offramp_p4.engine import bits
from offramp_p4.engine.core import argument, instance
from offramp_p4.engine.generator import is_scalar
from offramp_p4.engine.packing import number
from offramp_p4.portable import hashing
from offramp_p4.records import Digest
from offramp_p4.source import Unsupported
from offramp_p4.types import Bits, Structure, strip

if TYPE_CHECKING:
    from offramp_p4.engine.generator import Builder, Generator
    from offramp_p4.portable.target import PortableTarget
    from offramp_p4.state import RegisterState


def builders(target: PortableTarget) -> dict[tuple[str, str], Builder]:
    """The builders of these externs."""
    return {
        ("Hash", "get_hash"): _get_hash,
        ("Register", "read"): lambda g, e: _read(target, g, e),
        ("Register", "write"): lambda g, e: _write(target, g, e),
        ("Random", "read"): lambda g, e: _random(target, g, e),
        ("Digest", "pack"): lambda g, e: _digest(target, g, e),
        ("", "psa_clone_i2e"): lambda g, e: _flag(g, e, 0, "clone"),
        ("", "psa_clone_e2e"): lambda g, e: _flag(g, e, 0, "clone"),
        ("", "psa_resubmit"): lambda g, e: f"({_kept(g, e)} and {_flag(g, e, 0, 'resubmit')})",
        ("", "psa_normal"): lambda g, e: f"({_kept(g, e)} and 1 - {_flag(g, e, 0, 'resubmit')})",
        ("", "psa_recirculate"): lambda g, e: (
            f"({_kept(g, e)} and 1 * ({_flag(g, e, 1, 'egress_port')} == {RECIRCULATE}))"
        ),
    }


RECIRCULATE: Final = 0xFFFFFFFA
"""PSA_PORT_RECIRCULATE."""
CPU: Final = 0xFFFFFFFD
"""PSA_PORT_CPU and PNA_PORT_CPU."""


def octets(g: Generator, data: ir.Expr) -> str:
    """Text of the bytes of ``data``; as in psa_switch zeros fill the first of them, not the last."""
    text, width = number(g, data)
    return f"{text}.to_bytes({(width + 7) // 8}, 'big')"


def result_mask(e: ir.ExternCall) -> int:
    """All ones of the type that a call returns."""
    t = strip(e.type)
    if not isinstance(t, Bits) or t.signed:
        raise Unsupported(e.pos, f"{e.extern}.{e.method} of type {t}")
    return t.mask


def _get_hash(g: Generator, e: ir.ExternCall) -> str:
    function = g.bind(hashing.algorithm(constructor.member(instance(e), "algo")), "hash")
    mask = result_mask(e)
    if len(e.args) == 1:
        return f"({function}({octets(g, argument(e, 0))}) & {mask})"
    base, data, top = (argument(e, i) for i in range(3))
    start = g.temporary(g.value(base), "base")
    value = g.temporary(f"{function}({octets(g, data)})", "value")
    return f"({start} + {value} % ({g.value(top)} or 1) & {mask})"


def selector_keys(table: ir.MatchTable) -> tuple[ir.ExternInstance, ir.Expr] | None:
    """The action selector of ``table`` and its ``selector`` keys; None without one."""
    i = table.properties.get("implementation")
    if not isinstance(i, ir.ExternInstance) or i.extern != "ActionSelector":
        return None
    keys = [k.expr for k in table.keys if k.match_kind == "selector"]
    if not keys:
        raise Unsupported(table.pos, f"table {table.name} with an action selector but without selector keys")
    return i, ir.Compose(parts=keys, type=keys[0].type, pos=table.pos)


def selector_hash(g: Generator, table: ir.MatchTable) -> str:
    """Text of the hash over the ``selector`` keys of ``table``; "0" without an action selector."""
    selection = selector_keys(table)
    if selection is None:
        return "0"
    selector, keys = selection
    function = g.bind(hashing.algorithm(constructor.member(selector, "algo")), "hash")
    return f"{function}({octets(g, keys)})"


def _read(target: PortableTarget, g: Generator, e: ir.ExternCall) -> str:
    """A cell that is not there reads 0."""
    state: RegisterState = target.states[instance(e)]
    index = g.temporary(g.value(argument(e, 0)), "i")
    value = f"({g.bind(state.values, 'register')}[{index}] if {index} < {state.size} else 0)"
    if is_scalar(e.type):
        return value
    return f"{g.bind(bits.parse, 'parse')}({g.bind(bits.kinds(e.type), 'fields')}, {value}, {state.width.width})"


def _write(target: PortableTarget, g: Generator, e: ir.ExternCall) -> str:
    state: RegisterState = target.states[instance(e)]
    index, data = g.temporary(g.value(argument(e, 0)), "i"), argument(e, 1)
    value = g.temporary(g.value(data), "value")
    if not is_scalar(data.type):
        value = f"{g.bind(bits.serialise, 'serialise')}({g.bind(bits.kinds(data.type), 'fields')}, {value})[0]"
    with g.indented(f"if {index} < {state.size}:"):
        g.line(f"{g.bind(state.values, 'register')}[{index}] = {value}")
    return "None"


def _random(target: PortableTarget, g: Generator, e: ir.ExternCall) -> str:
    low, high = (constructor.number(instance(e), name) for name in ("min", "max"))
    if low > high:
        raise Unsupported(e.pos, f"Random of no number: {low} is above {high}")
    return f"{g.bind(target.random, 'random')}.randint({low}, {high})"


def _digest(target: PortableTarget, g: Generator, e: ir.ExternCall) -> str:
    data = argument(e, 0)
    cells = f"({g.value(data)},)" if is_scalar(data.type) else f"tuple({g.value(data)})"
    digest = f"{g.bind(Digest, 'Digest')}({instance(e).name!r}, {cells})"
    cell = target.digests
    g.line(f"m[{cell}] = (*(m[{cell}] or ()), {digest})")
    return "None"


def _flag(g: Generator, e: ir.ExternCall, index: int, name: str) -> str:
    """Text of a field of an argument."""
    arg = argument(e, index)
    t = strip(arg.type)
    if not isinstance(t, Structure) or name not in t.index:
        raise Unsupported(e.pos, f"{e.method} of {t}, which has no {name}")
    return f"{g.value(arg)}[{t.offsets[t.index[name]]}]"


def _kept(g: Generator, e: ir.ExternCall) -> str:
    return f"(1 - {_flag(g, e, 0, 'drop')})"
