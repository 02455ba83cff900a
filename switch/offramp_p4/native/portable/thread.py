# SPDX-License-Identifier: Apache-2.0
"""Emission of the functions that run parser, controls and deparser of a portable program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from offramp_base.native.llvm import I32, I64, Value, const, ll
from offramp_p4.native.core import field, set_field
from offramp_p4.native.emitter import Emitter
from offramp_p4.native.portable.target import NativePortableTarget
from offramp_p4.native.runtime.portable import program as names
from offramp_p4.native.runtime.program import CHECK_FAILED, DONE, FAULT, FAULTED, LENGTH
from offramp_p4.native.shape import aligned


def write_thread(g: Emitter, kind: Any, body: Callable[..., None]) -> Value:
    """Write a function of the context, the packet's memory, the length of its frame, and more.

    ``body`` writes what it does from a memory of zeros on; it gets the arguments behind the length.
    """
    with g.plain_function("run", kind) as function:
        code = g.b.call(_inner(g, kind, body), function.args)
        g.b.ret(g.b.zext(code, I64))
    return function


def _inner(g: Emitter, kind: Any, body: Callable[..., None]) -> Value:
    with g.plain_function("thread", ll.FunctionType(I32, kind.args)) as function:
        for arg in function.args[:2]:
            arg.add_attribute("noalias")
        g.clear(g.memory, aligned(g.layout.size, 8))
        set_field(g, LENGTH.name, function.args[2])
        body(*function.args[3:])
        g.leave(DONE)
    return function


def tell(g: Emitter, target: NativePortableTarget, role: str, name: str, word: Value) -> None:
    """Set a field of the architecture's metadata."""
    at, t, bits = target.cells.field(role, name)
    g.store(g.resize(word, bits.width), g.cell(at), t)


def parse(g: Emitter, target: NativePortableTarget, parser: Value, *roles: str) -> None:
    """Run the parser; an error does not end the packet, but is stored in ``roles``."""
    code = g.b.call(parser, [g.context, g.memory])
    g.leave_if(g.b.icmp_unsigned("==", code, const(I32, CHECK_FAILED)), code)
    with g.when(g.b.icmp_unsigned("==", code, const(I32, FAULTED)), likely=False):
        fault = field(g, FAULT.name)
        set_field(g, names.PARSER_ERROR.name, fault)
        for role in roles:
            tell(g, target, role, "parser_error", fault)


def control(g: Emitter, block: Value) -> None:
    """Run a control or a deparser."""
    code = g.b.call(block, [g.context, g.memory])
    g.leave_if(g.b.icmp_unsigned("==", code, const(I32, CHECK_FAILED)), code)


def report(g: Emitter, target: NativePortableTarget, role: str, name: str) -> Value:
    """Keep a field of the architecture's metadata where the run-time system reads it."""
    at, t, _ = target.cells.field(role, name)
    word = g.resize(g.load(g.cell(at), t), 64)
    set_field(g, name, word)
    return word
