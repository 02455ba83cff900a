# SPDX-License-Identifier: Apache-2.0
"""TNA's extern objects as the standard ones of P4Info, as p4c does with ``--p4runtime-force-std-externs``."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from offramp_p4 import ir
from offramp_p4.types import Annotation, Enum

_KINDS: Final = {
    "Counter": "counter",
    "DirectCounter": "direct_counter",
    "Meter": "meter",
    "DirectMeter": "direct_meter",
    "Register": "register",
    "ActionProfile": "action_profile",
    "ActionSelector": "action_selector",
}
_UNITS: Final = Enum("unit", members={"packets": 0, "bytes": 1, "packets_and_bytes": 2})
_INDEX_ARGUMENT: Final = {"Counter": 1, "Meter": 0}


def standard_externs(program: ir.Program) -> dict[ir.ExternInstance, ir.ExternInstance]:
    """Each extern object and what the control plane sees of it: itself, or the v1model object in its place.

    An action selector and the action profile that it selects from are one object.
    """
    out = {i: _standard(i) for i in program.externs}
    for selector in program.externs:
        profile = _argument(selector, "action_profile") if selector.extern == "ActionSelector" else None
        if isinstance(profile, ir.ExternInstance):
            notes = dict(profile.annotations)
            size = _argument(selector, "max_group_size")
            if isinstance(size, ir.Const):
                notes["max_group_size"] = Annotation("max_group_size", (size.value,))
            out[profile] = out[selector] = replace(out[profile], extern="action_selector", annotations=notes)
    return out


def _standard(i: ir.ExternInstance) -> ir.ExternInstance:
    if i.extern not in _KINDS:
        return i
    args = [
        _unit(a) if name == "type" and isinstance(a, ir.Const) else a for name, a in zip(i.params, i.args, strict=True)
    ]
    at = _INDEX_ARGUMENT.get(i.extern)
    declared = i.declared_args if at is None else i.declared_args[at : at + 1]
    return replace(i, extern=_KINDS[i.extern], args=args, declared_args=declared)


def _unit(given: ir.Const) -> ir.Const:
    name = given.type.member(int(given.value)) if isinstance(given.type, Enum) else None
    return ir.Const(_UNITS.members[(name or "packets").lower()], type=_UNITS, pos=given.pos)


def _argument(i: ir.ExternInstance, name: str) -> ir.Expr | ir.ExternInstance | None:
    return i.args[i.params.index(name)] if name in i.params else None
