# SPDX-License-Identifier: Apache-2.0
"""Requests of a PNA program to the card, as in :mod:`offramp_p4.portable.requests`."""

from __future__ import annotations

from offramp_base.native.llvm import Value, const, i64
from offramp_p4 import ir
from offramp_p4.engine.core import argument
from offramp_p4.native.core import set_field
from offramp_p4.native.emitter import Builder, Emitter
from offramp_p4.native.runtime.portable.pna import from_host, note_mirror
from offramp_p4.native.runtime.portable.program import AGAIN, PORT, SENT
from offramp_p4.native.shape import value_type
from offramp_p4.source import Unsupported
from offramp_p4.types import BOOL, Enum, strip


def builders() -> dict[tuple[str, str], Builder]:
    """The builders of these externs."""
    return {
        ("", "drop_packet"): _drop,
        ("", "send_to_port"): _send,
        ("", "recirculate"): _again,
        ("", "mirror_packet"): _mirror,
        ("", "is_host_port"): _is_host,
        ("", "is_net_port"): lambda g, e: g.b.not_(_is_host(g, e)),
        ("", "SelectByDirection"): _select,
    }


def _drop(g: Emitter, e: ir.ExternCall) -> Value:
    del e
    set_field(g, SENT.name, i64(0))
    set_field(g, AGAIN.name, i64(0))
    return None


def _send(g: Emitter, e: ir.ExternCall) -> Value:
    set_field(g, PORT.name, g.word_of(argument(e, 0)))
    set_field(g, SENT.name, i64(1))
    return None


def _again(g: Emitter, e: ir.ExternCall) -> Value:
    del e
    set_field(g, AGAIN.name, i64(1))
    return None


def _mirror(g: Emitter, e: ir.ExternCall) -> Value:
    slot, session = (g.word_of(argument(e, i)) for i in (0, 1))
    g.call(note_mirror, g.context, slot, session)
    return None


def _is_host(g: Emitter, e: ir.ExternCall) -> Value:
    host = g.call(from_host, g.context, g.word_of(argument(e, 0)))
    return g.b.icmp_unsigned("!=", host, i64(0))


def _from_net(g: Emitter, e: ir.ExternCall) -> Value:
    """Whether the first value is chosen, that for packets from the network."""
    direction = argument(e, 0)
    t = strip(direction.type)
    if t == BOOL:
        return g.value(direction)
    if isinstance(t, Enum) and "NET_TO_HOST" in t.members:
        number = g.value(direction)
        return g.b.icmp_unsigned("==", number, const(number.type, t.members["NET_TO_HOST"]))
    raise Unsupported(e.pos, f"{e.method} by {t}, which is not a direction")


def _select(g: Emitter, e: ir.ExternCall) -> Value:
    from_net = _from_net(g, e)
    return g.pick(from_net, lambda: g.value(argument(e, 1)), lambda: g.value(argument(e, 2)), value_type(e.type))


def selected(g: Emitter, e: ir.ExternCall, into: Value) -> None:
    """Write what ``SelectByDirection`` gives, where that is not a scalar."""
    g.choose(_from_net(g, e), lambda: g.into(argument(e, 1), into), lambda: g.into(argument(e, 2), into))
