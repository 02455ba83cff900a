# SPDX-License-Identifier: Apache-2.0
"""A TNA program as one LLVM module: a function for each gress of each pipe, and the chip around them."""

from __future__ import annotations

from typing import Any, Final

from offramp_base.native.llvm import I64, PTR, AliasTags, Value, const, ll
from offramp_base.native.lowering import RuntimeLibrary
from offramp_p4 import ir
from offramp_p4.native.architecture import Module, PacketMode, templates
from offramp_p4.native.emitter import Emitter
from offramp_p4.native.layout import ByteLayout
from offramp_p4.native.records import RecordFormat
from offramp_p4.native.rules import RULES
from offramp_p4.native.runtime.batch import gather
from offramp_p4.native.runtime.timed import advance, no_hint, receive, receive_batch
from offramp_p4.native.runtime.tna.pipeline import leave, run_batch
from offramp_p4.native.runtime.tna.queued import hold, pass_egress, pass_first, pass_recirculated, pass_waiting
from offramp_p4.native.shape import aligned
from offramp_p4.native.state.objects import NativeState
from offramp_p4.native.tna.gress import write_gress, write_headers
from offramp_p4.native.tna.objects import NativeTofino
from offramp_p4.native.tna.plan import TnaPlan
from offramp_p4.native.tna.target import NativeTnaTarget
from offramp_p4.tna import one_access
from offramp_p4.tna.blocks import pipes
from offramp_p4.tna.ports import port_metadata_bytes

assert RULES

_PASSES: Final[dict[str, Any]] = {
    "hint": no_hint,
    "arrive": pass_first,
    "come_back": pass_recirculated,
    "depart": pass_egress,
    "go_on": pass_waiting,
}
"""Functions that take a packet through its passes, by the names under which the run-time system calls them."""


def translate(program: ir.Program, objects: NativeState, way: PacketMode) -> Module:
    """Translate a program."""
    assert isinstance(objects, NativeTofino)
    pipelines = pipes(program)
    for pipe in pipelines:
        one_access.check(pipe)
    plan, digests = TnaPlan(program, objects), list[RecordFormat]()
    module = ll.Module(program.file)
    tags, supplied, fields = AliasTags(module), dict(_PASSES), dict[str, tuple[int, int]]()
    library = RuntimeLibrary(module, tags, fields, supplied, templates())
    size = 0
    for direction in ("ingress", "egress"):
        functions = []
        for number, pipe in enumerate(pipelines):
            layout, gress = ByteLayout(program), getattr(pipe, direction)
            target = NativeTnaTarget(program, layout, gress, direction, plan, objects, digests)
            fields.update(target.cells.fields)
            g = Emitter(program, module, layout, target, library, f"p4.{direction}{number}")
            functions.append(write_gress(g, target))
            size = max(size, aligned(layout.size, 64))
        supplied[f"run_{direction}"] = _dispatch(g, direction, functions)
    supplied["deliver"] = hold if way is PacketMode.QUEUED else leave
    write_headers(g, program, port_metadata_bytes(program), supplied)
    for entry in (receive, receive_batch, advance, gather) if way is PacketMode.QUEUED else (run_batch, gather):
        library.function(entry, exported=True)
    return Module(str(module), plan, size, digests, [])


def _dispatch(g: Emitter, direction: str, functions: list[Value]) -> Value:
    """Write the function that runs a gress of the pipe with a number."""
    with g.plain_function(f"run_{direction}", ll.FunctionType(I64, [PTR, PTR, *[I64] * 4])) as run:
        context, memory, pipe, *rest = run.args
        blocks = [g.block("pipe") for _ in functions]
        switch = g.b.switch(pipe, blocks[0])
        for number, (gress, block) in enumerate(zip(functions, blocks, strict=True)):
            if number:
                switch.add_case(const(I64, number), block)
            g.b.position_at_end(block)
            g.b.ret(g.b.zext(g.b.call(gress, [context, memory, *rest]), I64))
    return run
