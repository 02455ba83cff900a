# SPDX-License-Identifier: Apache-2.0
"""One gress of a pipe as a function: parser, match-action control, deparser."""

from __future__ import annotations

from typing import Any, Final

from offramp_base.native.llvm import I32, I64, PTR, Value, const, i64, ll
from offramp_p4 import ir
from offramp_p4.native import calls
from offramp_p4.native.codec import pack
from offramp_p4.native.core import field, set_field
from offramp_p4.native.emitter import Emitter
from offramp_p4.native.runtime.context import SwitchMemory
from offramp_p4.native.runtime.program import CHECK_FAILED, DONE, FAULT, FAULTED, LENGTH
from offramp_p4.native.runtime.tna import program as names
from offramp_p4.native.shape import aligned, bits_of, number_type
from offramp_p4.native.tna.cells import intrinsic_type
from offramp_p4.native.tna.target import NativeTnaTarget
from offramp_p4.tna.metadata import UNSET_PORT, unset_types
from offramp_p4.tna.ports import CHECK_SEQUENCE_BYTES
from offramp_p4.tna.thread import ERROR_BITS, MASK48, NO_MATCH, reads

KIND: Final = ll.FunctionType(I32, [PTR, PTR, I64, I64, I64])
"""Type of a gress: context, packet memory, lengths of frame and packet in bytes, and the channel."""


def write_gress(g: Emitter, target: NativeTnaTarget) -> Value:
    """Write the function that runs a gress (``run_ingress`` without the number of the pipe)."""
    parsers = [calls.block(g, parser) for parser in target.gress.parsers]
    control, deparser = calls.block(g, target.gress.control), calls.block(g, target.gress.deparser)
    ingress = target.cells.direction == "ingress"
    with g.plain_function(f"{target.cells.direction}", KIND) as function:
        for arg in function.args[:2]:
            arg.add_attribute("noalias")
        _start(g, target, function, ingress=ingress)
        _parse(g, target, parsers, function.args[4])
        _check_error(g, target, ingress=ingress)
        for deposit in target.deposits:
            deposit.write(g)
        for block in (control, deparser):
            code = g.b.call(block, [g.context, g.memory])
            g.leave_if(g.b.icmp_unsigned("==", code, const(I32, CHECK_FAILED)), code)
        _leave_results(g, target, ingress=ingress)
        g.leave(DONE)
    return function


def _start(g: Emitter, target: NativeTnaTarget, function: Value, *, ingress: bool) -> None:
    """A fresh packet's memory."""
    g.clear(g.memory, aligned(g.layout.size, 8))
    set_field(g, LENGTH.name, function.args[2])
    set_field(g, names.WIRE_LENGTH.name, g.b.add(function.args[3], i64(CHECK_SEQUENCE_BYTES)))
    time = g.b.and_(g.b.mul(g.word(SwitchMemory.now_us), i64(1000)), i64(MASK48))
    _write_field(g, target, "parser", "global_tstamp", time)
    for name, value in unset_types(target.cells.structure("deparser")).items():
        _write_field(g, target, "deparser", name, i64(value))
    if ingress:
        _write_field(g, target, "tm", "ucast_egress_port", i64(UNSET_PORT))


def _write_field(g: Emitter, target: NativeTnaTarget, role: str, name: str, word: Value) -> None:
    at, t = target.cells.field(role, name)
    bits = bits_of(t)
    assert bits is not None
    g.store(g.resize(word, bits.width), g.cell(at), t)


def _parse(g: Emitter, target: NativeTnaTarget, parsers: list[Value], channel: Value) -> None:
    """Run the parser of the channel; an error other than ``reject`` becomes a bit of ``parser_err``."""
    result, end = g.allocate(I32), g.block("parsed")
    blocks = [g.block("parser") for _ in parsers]
    switch = g.b.switch(g.b.urem(channel, i64(len(parsers))), blocks[0])
    for number, (parser, block) in enumerate(zip(parsers, blocks, strict=True)):
        if number:
            switch.add_case(i64(number), block)
        g.b.position_at_end(block)
        g.b.store(g.b.call(parser, [g.context, g.memory]), result)
        g.jump(end)
    g.b.position_at_end(end)
    code = g.b.load(result, typ=I32)
    g.leave_if(g.b.icmp_unsigned("==", code, const(I32, CHECK_FAILED)), code)
    fault = field(g, FAULT.name)
    failed = g.b.icmp_unsigned("==", code, const(I32, FAULTED))
    with g.when(g.b.and_(failed, g.b.icmp_unsigned("!=", fault, i64(0))), likely=False):
        bits: Value = i64(0)
        for error, name in enumerate(g.program.errors):
            if name in ERROR_BITS:
                bits = g.b.select(g.b.icmp_unsigned("==", fault, i64(error)), i64(ERROR_BITS[name]), bits)
        _write_field(g, target, "parser", "parser_err", bits)


def _check_error(g: Emitter, target: NativeTnaTarget, *, ingress: bool) -> None:
    """Ingress drops packets with an error unless it looks at them; those without a match it always drops."""
    at, t = target.cells.field("parser", "parser_err")
    error = g.resize(g.load(g.cell(at), t), 64)
    set_field(g, names.PARSER_ERROR.name, error)
    if ingress:
        deadly = g.b.and_(error, i64(NO_MATCH)) if reads(target.gress.control, "parser_err") else error
        g.leave_if(g.b.icmp_unsigned("!=", deadly, i64(0)), FAULTED)


def _leave_results(g: Emitter, target: NativeTnaTarget, *, ingress: bool) -> None:
    """Copy the fields that the chip reads to places that are the same in every program."""
    wanted = [("deparser", names.DROP)]
    if ingress:
        wanted += [("tm", f) for f in names.TRAFFIC_MANAGER]
    for role, f in wanted:
        at, t = target.cells.field(role, f.name)
        set_field(g, f.name, g.resize(g.load(g.cell(at), t), 64))


def header_numbers(program: ir.Program, direction: str, values: dict[str, Any], g: Emitter) -> list[Value]:
    """The fields of the header that the chip puts in front of a packet: 0 where no value is given."""
    out = []
    for f in intrinsic_type(program, direction, "intrinsic").fields:
        bits = bits_of(f.type)
        assert bits is not None
        if bits.width:
            out.append(g.resize(values[f.name], bits.width) if f.name in values else const(number_type(bits.width), 0))
    return out


def write_headers(g: Emitter, program: ir.Program, extra: int, supplied: dict[str, Any]) -> None:
    """Write the functions that put the chip's headers in front of packets."""
    sizes = {}
    for direction, params in _HEADERS.items():
        with g.plain_function(f"{direction}_header", ll.FunctionType(I64, [PTR, *[I64] * len(params)])) as function:
            values = dict(zip(params, function.args[1:], strict=True))
            sizes[direction] = pack(g, header_numbers(program, direction, values, g), function.args[0])
            g.b.ret(i64(sizes[direction]))
        supplied[f"write_{direction}_header"] = function
    for name, size in (("ingress_front", sizes["ingress"] + extra), ("egress_front", sizes["egress"])):
        with g.plain_function(name, ll.FunctionType(I64, [])) as function:
            g.b.ret(i64(size))
        supplied[name] = function


_HEADERS: Final = {
    "ingress": ("resubmit_flag", "ingress_port", "ingress_mac_tstamp"),
    "egress": (
        "egress_port",
        "enq_tstamp",
        "enq_qdepth",
        "deq_timedelta",
        "deq_qdepth",
        "egress_rid",
        "egress_rid_first",
        "egress_qid",
        "egress_cos",
        "pkt_length",
    ),
}
"""The fields that have a value, in the order of the parameters."""
