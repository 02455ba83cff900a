# SPDX-License-Identifier: Apache-2.0
"""A v1model program as one LLVM module."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any, Final

from offramp_base.native.llvm import I64, PTR, AliasTags, Value, i64, ll
from offramp_base.native.lowering import RuntimeLibrary
from offramp_p4 import ir
from offramp_p4.engine.placement import Span
from offramp_p4.native import calls
from offramp_p4.native.architecture import LOGGED, Module, PacketMode, templates
from offramp_p4.native.emitter import Emitter, WriteWatch
from offramp_p4.native.foresight import Foresight
from offramp_p4.native.layout import ByteLayout
from offramp_p4.native.log import PacketLog
from offramp_p4.native.near import copy_near, same_bytes
from offramp_p4.native.next_pass import indexed_places, reaches
from offramp_p4.native.outline import PacketOutline
from offramp_p4.native.plan import ContextPlan
from offramp_p4.native.rules import RULES
from offramp_p4.native.runtime import program as names
from offramp_p4.native.runtime.batch import foresee, gather, run_batch, run_burst
from offramp_p4.native.runtime.pipeline import leave, send_head, send_whole
from offramp_p4.native.runtime.queued import (
    hold,
    hold_or_leave,
    pass_egress,
    pass_first,
    pass_recirculated,
    pass_waiting,
)
from offramp_p4.native.runtime.timed import advance, receive, receive_batch
from offramp_p4.native.shape import aligned
from offramp_p4.native.state.objects import NativeState, V1Objects
from offramp_p4.native.v1model.cells import V1Cells
from offramp_p4.native.v1model.fields import by_list
from offramp_p4.native.v1model.giving_back import gives_back, restores_metadata
from offramp_p4.native.v1model.target import NativeV1Target
from offramp_p4.source import Unsupported
from offramp_p4.state import RegisterState
from offramp_p4.v1model.blocks import blocks_of
from offramp_p4.v1model.metadata import UNLIMITED

assert RULES

_ENTRIES: Final = {
    PacketMode.BATCH: (run_batch, gather),
    PacketMode.QUEUED: (receive, receive_batch, advance, gather),
    PacketMode.BURST: (run_burst,),
}
_PLAIN: Final = {way: plain for plain, way in LOGGED.items()} | {PacketMode.OUTLINED_BATCH: PacketMode.BATCH}
"""The ways without notes of what packets do, by those with them."""
_BLOCKS: Final = ("parse", "verify", "ingress", "egress", "compute", "deparse")


def translate(program: ir.Program, objects: NativeState, way: PacketMode) -> Module:
    """Translate a program."""
    assert isinstance(objects, V1Objects)
    notes = PacketOutline if way is PacketMode.OUTLINED_BATCH else PacketLog if way in LOGGED.values() else None
    way = _PLAIN.get(way, way)
    blocks = list(blocks_of(program).values())
    parser = blocks[0]
    assert isinstance(parser, ir.ParserInstance)
    layout = ByteLayout(program)
    cells = V1Cells(layout, parser)
    plan = ContextPlan(program, objects)
    target = NativeV1Target(plan, objects, cells, parser)
    bases = {"h": cells.headers, "m": cells.user, "s": cells.standard, "p": None}
    for block, signature in zip(blocks, ("phms", "hm", "hms", "hms", "hm", "ph"), strict=True):
        if len(block.params) != len(signature):
            raise Unsupported(block.pos, f"{block.name} with {len(block.params)} parameters")
        layout.place_block(block, [bases[kind] for kind in signature])
    module = ll.Module(program.file)
    supplied: dict[str, Any] = {
        "deliver": hold if way is PacketMode.QUEUED else leave,
        "deliver_only": hold_or_leave if way is PacketMode.QUEUED else leave,
        "send": send_head if way is PacketMode.BURST else send_whole,
        "hint": foresee,
        "arrive": pass_first,
        "come_back": pass_recirculated,
        "depart": pass_egress,
        "go_on": pass_waiting,
    }
    library = RuntimeLibrary(module, AliasTags(module), cells.fields, supplied, templates())
    g = Emitter(program, module, layout, target, library)
    deparser = blocks[-1]
    assert isinstance(deparser, ir.ControlInstance)
    if notes is not None:
        g.log = notes(target.events)
    known = notes is None and gives_back(layout, parser, deparser)
    if known:
        g.watched = WriteWatch((cells.headers, cells.headers_end), cells.fields[names.WRITTEN.name][0])
    foresight = Foresight(g, program.tables, parser)
    columns = {i: plan.columns[state.name] for i, state in objects.of.items() if isinstance(state, RegisterState)}
    places = indexed_places(g, columns)
    g.counted = {table: reaches(g, table, places) for table in foresight.counted}
    for name, block in zip(_BLOCKS, blocks, strict=True):
        callee = calls.block(g, block)
        supplied[name] = callee if g.log is None else g.log.around(g, name, callee)
    supplied |= foresight.write(g)
    known = (
        known
        and target.comes_again
        and restores_metadata(chain(*target.field_lists.values()), (cells.user, cells.standard))
    )
    size = _supply(g, target, supplied, known=known)
    for entry in _ENTRIES[way]:
        library.function(entry, exported=True)
    return Module(str(module), plan, size, target.digests, target.events)


_Write = Callable[..., None]
"""Writes a supplied function: its name, the types of its parameters, its body, what it returns."""


def _supply(g: Emitter, target: NativeV1Target, supplied: dict[str, Any], *, known: bool) -> int:
    """Write what the run-time system knows of the layout; returns the bytes of a packet's memory.

    ``known``: the deparser gives back what the parser has read.
    """
    size = aligned(g.layout.size, 64)

    def write(name: str, params: list[Any], body: Callable[..., None], returns: Any = None) -> None:
        kind = ll.FunctionType(returns or ll.VoidType(), params)
        with g.plain_function(name, kind) as function:
            body(*function.args)
        supplied[name] = function

    _write_memory(g, target.cells, write, size)
    _write_headers(g, target.cells, write, known=known)
    _write_fields(g, target, write)
    return size


def _write_memory(g: Emitter, cells: V1Cells, write: _Write, size: int) -> None:
    def unlimited(m: Value) -> None:
        at, bytes_ = cells.fields[names.TRUNCATE.name]
        g.store_number(i64(UNLIMITED), g.at(m, at), 8 * bytes_)

    def start_memory(m: Value) -> None:
        g.clear(m, size)
        unlimited(m)

    def start_beside_headers(m: Value) -> None:
        g.clear(m, cells.headers)
        g.clear(g.at(m, cells.headers_end), size - cells.headers_end)
        unlimited(m)

    write("start_memory", [PTR], start_memory)
    write("start_beside_headers", [PTR], start_beside_headers)
    write("duplicate_memory", [PTR, PTR], lambda into, m: g.copy(into, m, size))
    write("reset_metadata", [PTR], lambda m: g.clear(g.at(m, cells.user), cells.end - cells.user))


def _write_headers(g: Emitter, cells: V1Cells, write: _Write, *, known: bool) -> None:
    def same_headers(m: Value, kept: Value) -> None:
        at = cells.headers
        g.b.ret(same_bytes(g, g.at(m, at), g.at(kept, at), cells.headers_end - at))

    def duplicate_headers(into: Value, m: Value) -> None:
        engine = [cells.fields[f.name] for f in (names.CURSOR, names.LENGTH, names.GROWTH, names.WRITTEN)]
        for at, end in [*((at, at + n) for at, n in engine), (cells.headers, cells.headers_end)]:
            copy_near(g, g.at(into, at), g.at(m, at), end - at)

    write("gives_back", [], lambda: g.b.ret(i64(int(known))), I64)
    write("same_headers", [PTR, PTR], same_headers, I64)
    write("duplicate_headers", [PTR, PTR], duplicate_headers)


def _write_fields(g: Emitter, target: NativeV1Target, write: _Write) -> None:
    def transfer_fields(into: Value, m: Value, number: Value) -> None:
        def move(kept: list[Span]) -> None:
            for at, end in kept:
                g.copy(g.at(into, at), g.at(m, at), end - at)

        by_list(g, target.field_lists, number, move)

    def fields_size(number: Value) -> None:
        result = g.allocate(I64)
        g.b.store(i64(0), result)
        by_list(g, target.field_lists, number, lambda kept: g.b.store(i64(_packed_size(kept)), result))
        g.b.ret(g.b.load(result, typ=I64))

    def saved(m: Value, buffer: Value, number: Value, *, restore: bool) -> None:
        def move(kept: list[Span]) -> None:
            position = 0
            for at, end in kept:
                inside, outside = g.at(m, at), g.at(buffer, position)
                g.copy(*((inside, outside) if restore else (outside, inside)), end - at)
                position += end - at

        by_list(g, target.field_lists, number, move)

    write("transfer_fields", [PTR, PTR, I64], transfer_fields)
    write("fields_size", [I64], fields_size, I64)
    write("save_fields", [PTR, PTR, I64], lambda into, m, n: saved(m, into, n, restore=False))
    write("restore_fields", [PTR, PTR, I64], lambda m, source, n: saved(m, source, n, restore=True))


def _packed_size(kept: list[Span]) -> int:
    return aligned(sum(end - at for at, end in kept), 8)
