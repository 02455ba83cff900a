# SPDX-License-Identifier: Apache-2.0
"""Action data of struct, header and array types: entries supply their scalars (P4-16 specification, section 14.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_p4 import ir
from offramp_p4.types import BOOL, VOID, Bits, Enum, Header, Stack, Structure, Tuple, Type, Union, strip

if TYPE_CHECKING:
    from offramp_p4.source import Pos

_VALID = "$valid$"


def is_data(t: Type) -> bool:
    """Whether an entry can hold a value of this type unchanged."""
    return isinstance(t, Bits | Enum) or t == BOOL


def can_spread(t: Type) -> bool:
    """Whether a value is made of what an entry can hold."""
    t = strip(t)
    parts = _parts(t)
    return is_data(t) if parts is None else not isinstance(t, Union) and all(can_spread(p) for _, p in parts)


def spread(action: ir.Action) -> ir.Action:
    """The action that a table runs in place of ``action``: with a parameter for each scalar, it calls ``action``."""
    params: list[ir.Var] = []
    args: list[ir.Arg] = []
    for v in action.params:
        if v.direction or is_data(v.type):
            own = ir.Var(v.name, v.type, v.direction, v.annotations, v.pos, v.declared)
            params.append(own)
            args.append(ir.Arg(v.direction or "in", ir.VarRef(own, type=v.type, pos=v.pos)))
        else:
            args.append(ir.Arg("in", _gather(v.name, v.type, v.pos, params)))
    call = ir.Eval(ir.ActionCall(action, args, type=VOID, pos=action.pos), pos=action.pos)
    return ir.Action(action.name, params, ir.Block([call], pos=action.pos), action.annotations, action.pos)


def scattered(value: ir.Expr) -> list[ir.Expr]:
    """The scalars of a constant, in the order of the parameters that :func:`spread` makes."""
    t = strip(value.type)
    parts = _parts(t)
    if parts is None:
        return [value]
    valid = [ir.Const(int(isinstance(value, ir.Compose)), type=BOOL, pos=value.pos)] if isinstance(t, Header) else []
    if isinstance(value, ir.Compose):
        return valid + [scalar for part in value.parts for scalar in scattered(part)]
    return valid + [scalar for _, p in parts for scalar in scattered(_zero(p, value.pos))]


def _gather(name: str, t: Type, pos: Pos, params: list[ir.Var]) -> ir.Expr:
    """A value from parameters of its own, which are added to ``params``."""
    bare = strip(t)
    parts = _parts(bare)
    if parts is None:
        param = ir.Var(name, bare, "", {}, pos, t)
        params.append(param)
        return ir.VarRef(param, type=bare, pos=pos)
    valid = _gather(f"{name}.{_VALID}", BOOL, pos, params) if isinstance(bare, Header) else None
    value = ir.Compose([_gather(f"{name}{suffix}", p, pos, params) for suffix, p in parts], type=bare, pos=pos)
    return value if valid is None else ir.Mux(valid, value, ir.InvalidHeader(type=bare, pos=pos), type=bare, pos=pos)


def _parts(t: Type) -> list[tuple[str, Type]] | None:
    if isinstance(t, Structure):
        return [(f".{f.name}", f.type) for f in t.fields]
    if isinstance(t, Tuple):
        return [(f"[{i}]", p) for i, p in enumerate(t.types)]
    return [(f"[{i}]", t.element) for i in range(t.size)] if isinstance(t, Stack) else None


def _zero(t: Type, pos: Pos) -> ir.Expr:
    t = strip(t)
    parts = _parts(t)
    if parts is None:
        return ir.Const(0, type=t, pos=pos)
    return ir.Compose([_zero(p, pos) for _, p in parts], type=t, pos=pos)
