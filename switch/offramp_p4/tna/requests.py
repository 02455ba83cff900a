# SPDX-License-Identifier: Apache-2.0
"""Requests of a TNA deparser to the chip: mirror, resubmit, digest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from offramp_p4 import constructor, ir
from offramp_p4.engine import lvalues
from offramp_p4.engine.core import argument, instance
from offramp_p4.engine.generator import is_scalar
from offramp_p4.engine.packing import number
from offramp_p4.records import Digest
from offramp_p4.source import Unsupported
from offramp_p4.types import Header, strip

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from offramp_p4.engine.generator import Builder, Generator
    from offramp_p4.tna.target import TnaTarget

_MIRROR_BYTES: Final = 32


def builders(target: TnaTarget) -> dict[tuple[str, str], Builder]:
    """The builders of these externs."""
    return {
        ("Mirror", "emit"): lambda g, e: _mirror(target, g, e),
        ("Resubmit", "emit"): lambda g, e: _resubmit(target, g, e),
        ("Digest", "pack"): lambda g, e: _digest(target, g, e),
    }


def _selected(target: TnaTarget, g: Generator, e: ir.ExternCall, field: str) -> AbstractContextManager[None]:
    """The condition that the metadata selects this object, if it was made for one value of it."""
    i = instance(e)
    if target.cells.direction == "egress" and field != "mirror_type":
        raise Unsupported(e.pos, f"{i.extern} in an egress deparser")
    test = "True"
    if field in i.params:
        test = f"m[{target.cells.field('deparser', field)}] == {constructor.number(i, field)}"
    return g.indented(f"if {test}:")


def fills_bytes(e: ir.ExternCall, data: ir.Expr) -> bool:
    """Whether zeros fill the last byte of what is emitted: a resubmission has 8 bytes of the chip's own."""
    return e.extern == "Resubmit" or (isinstance(data.type, Header) and data.type.flexible)


def _bytes(g: Generator, e: ir.ExternCall, position: int, limit: int) -> str:
    """Text of an argument as bytes; of an invalid header there are none."""
    if position >= len(e.args):
        return "b''"
    data = argument(e, position)
    text, width = number(g, data)
    if width % 8 and fills_bytes(e, data):
        text, width = f"({text} << {-width % 8})", width + -width % 8
    if width % 8 or width > 8 * limit:
        raise Unsupported(e.pos, f"{e.extern}.emit of {width} bits: whole bytes, at most {limit}, are possible")
    octets = f"{text}.to_bytes({width // 8}, 'big')"
    if isinstance(strip(data.type), Header) and lvalues.is_lvalue(data):
        return f"({octets} if m[{lvalues.address(g, data)}] else b'')"
    return octets


def _mirror(target: TnaTarget, g: Generator, e: ir.ExternCall) -> str:
    with _selected(target, g, e, "mirror_type"):
        header = _bytes(g, e, 1, _MIRROR_BYTES)
        g.line(f"m[{target.cells.mirror}] = ({g.value(argument(e, 0))}, {header})")
    return "None"


def _resubmit(target: TnaTarget, g: Generator, e: ir.ExternCall) -> str:
    with _selected(target, g, e, "resubmit_type"):
        g.line(f"m[{target.cells.resubmit}] = ({_bytes(g, e, 0, target.port_metadata_bytes)},)")
    return "None"


def _digest(target: TnaTarget, g: Generator, e: ir.ExternCall) -> str:
    data = argument(e, 0)
    with _selected(target, g, e, "digest_type"):
        cells = f"({g.value(data)},)" if is_scalar(data.type) else f"tuple({g.value(data)})"
        digest = f"{g.bind(Digest, 'Digest')}({instance(e).name!r}, {cells})"
        g.line(f"m[{target.cells.digests}] = (*(m[{target.cells.digests}] or ()), {digest})")
    return "None"
