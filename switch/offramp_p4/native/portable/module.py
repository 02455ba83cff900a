# SPDX-License-Identifier: Apache-2.0
"""A PSA program as one LLVM module: a function for ingress, one for egress, and the switch around them."""

from __future__ import annotations

from typing import Any, Final

from offramp_base.native.llvm import I64, AliasTags, Value, i64, ll
from offramp_base.native.lowering import Library
from offramp_p4 import ir
from offramp_p4.native.architecture import Architecture, Module, Way
from offramp_p4.native.emitter import Emitter
from offramp_p4.native.layout import Layout
from offramp_p4.native.plan import Plan
from offramp_p4.native.portable.half import write_half
from offramp_p4.native.portable.target import PsaTarget
from offramp_p4.native.records import Record
from offramp_p4.native.rules import RULES
from offramp_p4.native.runtime.batch import gather
from offramp_p4.native.runtime.portable.pipeline import run_batch, wait_for_egress
from offramp_p4.native.runtime.portable.queued import (
    hold,
    pass_egress,
    pass_first,
    pass_recirculated,
    pass_waiting,
)
from offramp_p4.native.runtime.timed import advance, receive, receive_batch
from offramp_p4.native.shape import aligned
from offramp_p4.native.state.objects import NativePortable, NativeState
from offramp_p4.portable.psa import EGRESS, INGRESS, MADE, PATHS, blocks_of
from offramp_p4.source import Unsupported
from offramp_p4.state.table import supports_timeout
from offramp_p4.types import Enum

assert RULES

_PASSES: Final[dict[str, Any]] = {
    "arrive": pass_first,
    "come_back": pass_recirculated,
    "depart": pass_egress,
    "go_on": pass_waiting,
}
"""What a packet does at each step in time."""


def translate(program: ir.Program, objects: NativeState, way: Way) -> Module:
    """Translate a program."""
    assert isinstance(objects, NativePortable)
    paths = program.types.get("PSA_PacketPath_t")
    if not isinstance(paths, Enum) or [paths.members.get(name) for name in PATHS] != list(range(len(PATHS))):
        raise Unsupported(program.main.pos, "a PSA program whose PSA_PacketPath_t is another one")
    for table in program.tables:
        if supports_timeout(table):
            raise Unsupported(table.pos, f"table {table.name} with an idle time-out")
    plan, digests, events = Plan(program, objects), list[Record](), list[Record]()
    module = ll.Module(program.file)
    fields, supplied = dict[str, tuple[int, int]](), dict(_PASSES)
    supplied["place"] = hold if way is Way.QUEUED else wait_for_egress
    library = Library(module, AliasTags(module), fields, supplied)
    size, targets = 0, dict[str, PsaTarget]()
    for direction, signatures in (("ingress", INGRESS), ("egress", EGRESS)):
        layout, blocks = Layout(program), blocks_of(program, direction, signatures)
        targets[direction] = PsaTarget(layout, direction, blocks, plan, objects, digests, events)
        fields.update(targets[direction].cells.fields)
        g = Emitter(program, module, layout, targets[direction], library, f"p4.{direction}")
        supplied[f"run_{direction}"] = write_half(g, targets[direction])
        size = max(size, aligned(layout.size, 64))
    spans = {PATHS.index(path): targets[half].cells.span(role) for path, (half, role) in MADE.items()}
    supplied["carried_at"] = _by_path(g, "carried_at", {path: at for path, (at, _) in spans.items()})
    supplied["carried_size"] = _by_path(g, "carried_size", {path: n for path, (_, n) in spans.items()})
    for entry in (receive, receive_batch, advance, gather) if way is Way.QUEUED else (run_batch, gather):
        library.function(entry, exported=True)
    return Module(str(module), plan, size, digests, events)


def _by_path(g: Emitter, name: str, values: dict[int, int]) -> Value:
    """Write the function that gives a number for each path."""
    with g.plain_function(name, ll.FunctionType(I64, [I64])) as made:
        result: Value = i64(0)
        for path, number in values.items():
            result = g.b.select(g.b.icmp_unsigned("==", made.args[0], i64(path)), i64(number), result)
        g.b.ret(result)
    return made


ARCHITECTURE: Final = Architecture(NativePortable, translate)
