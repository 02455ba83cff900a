# SPDX-License-Identifier: Apache-2.0
"""Translated types of a P4Info, which bmv2's JSON lacks: their widths are those of the fields that have them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from offramp_p4.state.match import key_width
from offramp_p4.types import Bits, Header, Newtype, Type

if TYPE_CHECKING:
    from offramp_p4 import ir


def translated_types(info: Any, program: ir.Program) -> dict[str, Type]:
    """The new types of ``info`` by name; those that nothing in ``program`` uses are left out."""
    wanted = info.type_info.new_types
    types: dict[str, Type] = {}
    for name, width in _widths(info, program):
        if name in wanted and name not in types:
            types[name] = Newtype(name, base=Bits(width))
    return types


def _widths(info: Any, program: ir.Program) -> Iterator[tuple[str, int]]:
    tables = {t.name: [k for k in t.keys if k.match_kind != "selector"] for t in program.tables}
    for t in info.tables:
        for f, key in zip(t.match_fields, tables.get(t.preamble.name, ()), strict=False):
            yield f.type_name.name, key_width(key.expr.type)
    actions = {a.name: a.params for a in program.actions}
    for a in info.actions:
        for f, param in zip(a.params, actions.get(a.preamble.name, ()), strict=False):
            yield f.type_name.name, key_width(param.type)
    headers = [t for t in program.types.values() if isinstance(t, Header)]
    for c in info.controller_packet_metadata:
        for f in c.metadata:
            for t in headers:
                if f.name in t.index and len(t.fields) == len(c.metadata):
                    yield f.type_name.name, key_width(t.fields[t.index[f.name]].type)
