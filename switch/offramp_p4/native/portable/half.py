# SPDX-License-Identifier: Apache-2.0
"""Ingress or egress of a PSA program as one function: parser, control, deparser."""

from __future__ import annotations

from typing import Final

from offramp_base.native.llvm import I32, I64, PTR, Value, const, i64, ll
from offramp_p4.native import calls
from offramp_p4.native.core import field, set_field
from offramp_p4.native.emitter import Emitter
from offramp_p4.native.portable.target import PsaTarget
from offramp_p4.native.runtime.context import Context
from offramp_p4.native.runtime.portable import program as names
from offramp_p4.native.runtime.program import CHECK_FAILED, DONE, FAULT, FAULTED, LENGTH
from offramp_p4.native.shape import aligned
from offramp_p4.portable.psa import BROUGHT, PATHS

KIND: Final = ll.FunctionType(I64, [PTR, PTR, *[I64] * 6])
"""Of the context, the packet's memory, length of the frame, port, path, address of what it brings, instance, class."""


def write_half(g: Emitter, target: PsaTarget) -> Value:
    """Write ``run_ingress`` or ``run_egress``."""
    parser, control, deparser = (calls.block(g, block) for block, _ in target.blocks)
    with g.plain_function("run", KIND) as made:
        code = g.b.call(_write(g, target, (parser, control, deparser)), made.args)
        g.b.ret(g.b.zext(code, I64))
    return made


def _write(g: Emitter, target: PsaTarget, blocks: tuple[Value, Value, Value]) -> Value:
    ingress = target.direction == "ingress"
    with g.plain_function("half", ll.FunctionType(I32, KIND.args)) as made:
        for arg in made.args[:2]:
            arg.add_attribute("noalias")
        length, port, path, carried, instance, cos = made.args[2:]
        g.clear(g.memory, aligned(g.layout.size, 8))
        set_field(g, LENGTH.name, length)
        told = [("parser_in", f"{target.direction}_port", port), ("in", f"{target.direction}_port", port)]
        told += [("parser_in", "packet_path", path), ("in", "packet_path", path)]
        if not ingress:
            told += [
                ("in", "instance", instance),
                ("in", "class_of_service", cos),
                ("deparser_in", "egress_port", port),
            ]
        told.append(("in", f"{target.direction}_timestamp", g.word(Context.now_us)))
        for role, name, word in told:
            _set(g, target, role, name, word)
        _bring(g, target, path, carried)
        _parse(g, target, blocks[0])
        if ingress:
            _set(g, target, "out", "drop", i64(1))
        for block in blocks[1:]:
            code = g.b.call(block, [g.context, g.memory])
            g.leave_if(g.b.icmp_unsigned("==", code, const(I32, CHECK_FAILED)), code)
        for result in names.INGRESS_RESULTS if ingress else names.EGRESS_RESULTS:
            at, t, _ = target.cells.field("out", result.name)
            set_field(g, result.name, g.resize(g.load(g.cell(at), t), 64))
        g.leave(DONE)
    return made


def _set(g: Emitter, target: PsaTarget, role: str, name: str, word: Value) -> None:
    at, t, bits = target.cells.field(role, name)
    g.store(g.resize(word, bits.width), g.cell(at), t)


def _bring(g: Emitter, target: PsaTarget, path: Value, carried: Value) -> None:
    """Hand the parser the metadata that its packet brings by its path."""
    for name, role in BROUGHT.items():
        if (role in ("resubmit", "recirculate")) == (target.direction == "ingress"):
            at, size = target.cells.span(role)
            if size:
                with g.when(g.b.icmp_unsigned("==", path, i64(PATHS.index(name)))):
                    g.copy(g.cell(at), g.b.inttoptr(carried, PTR), size)


def _parse(g: Emitter, target: PsaTarget, parser: Value) -> None:
    """An error does not end the packet."""
    code = g.b.call(parser, [g.context, g.memory])
    g.leave_if(g.b.icmp_unsigned("==", code, const(I32, CHECK_FAILED)), code)
    with g.when(g.b.icmp_unsigned("==", code, const(I32, FAULTED)), likely=False):
        fault = field(g, FAULT.name)
        set_field(g, names.PARSER_ERROR.name, fault)
        _set(g, target, "in", "parser_error", fault)
