# SPDX-License-Identifier: Apache-2.0
"""A PSA or PNA program as one LLVM module: its threads as functions, and the switch or card around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from offramp_base.native.llvm import I64, AliasTags, Value, i64, ll
from offramp_base.native.lowering import RuntimeLibrary
from offramp_p4 import ir
from offramp_p4.architecture import PNA, architecture_of
from offramp_p4.native.architecture import Module, PacketMode, templates
from offramp_p4.native.emitter import Emitter
from offramp_p4.native.layout import ByteLayout
from offramp_p4.native.portable import pna, psa
from offramp_p4.native.portable.plan import PortablePlan
from offramp_p4.native.portable.target import NativePortableTarget
from offramp_p4.native.records import RecordFormat
from offramp_p4.native.rules import RULES
from offramp_p4.native.runtime.batch import gather
from offramp_p4.native.runtime.portable.pipeline import run_batch, wait_for_egress
from offramp_p4.native.runtime.portable.pna import send_at_once, send_later
from offramp_p4.native.runtime.portable.queued import (
    hold,
    pass_egress,
    pass_first,
    pass_recirculated,
    pass_waiting,
)
from offramp_p4.native.runtime.timed import advance, no_hint, receive, receive_batch
from offramp_p4.native.shape import aligned
from offramp_p4.native.state.objects import NativePortable, NativeState

if TYPE_CHECKING:
    from offramp_base.native.subset import PacketScalar
    from offramp_p4.engine.walk import Block
    from offramp_p4.portable.thread import Signature

assert RULES

_PASSES: Final[dict[str, Any]] = {
    "hint": no_hint,
    "arrive": pass_first,
    "come_back": pass_recirculated,
    "depart": pass_egress,
    "go_on": pass_waiting,
}
"""Functions that take a packet through its passes, by the names under which the run-time system calls them."""
_WAYS: Final[dict[PacketMode, dict[str, Callable[..., Any]]]] = {
    PacketMode.BATCH: {"place": wait_for_egress, "send": send_at_once},
    PacketMode.QUEUED: {"place": hold, "send": send_later},
}
"""Functions through which copies leave, by way."""
_ENTRIES: Final[dict[PacketMode, tuple[Callable[..., Any], ...]]] = {
    PacketMode.BATCH: (run_batch, gather),
    PacketMode.QUEUED: (receive, receive_batch, advance, gather),
}


class Assembly:
    """A module that is being made.

    Attributes:
        program: the program that is translated.
        plan: positions of the program's objects in the context.
        supplied: functions that the run-time system calls, by name.
        digests, events: those of :class:`~offramp_p4.native.architecture.Module`.
        size: bytes of the memory of one packet, so far.
    """

    def __init__(self, program: ir.Program, objects: NativePortable, supplied: Mapping[str, Any]) -> None:
        self.program, self._objects = program, objects
        self.plan = PortablePlan(program, objects)
        self.digests, self.events = list[RecordFormat](), list[RecordFormat]()
        self.supplied = dict(supplied)
        self.module = ll.Module(program.file)
        self._fields = dict[str, tuple[int, int]]()
        self.library = RuntimeLibrary(self.module, AliasTags(self.module), self._fields, self.supplied, templates())
        self.size = 0

    def emitter(
        self, name: str, blocks: Sequence[tuple[Block, Signature]], results: Sequence[PacketScalar]
    ) -> tuple[Emitter, NativePortableTarget]:
        """The emitter of a thread, and the target of its code."""
        layout = ByteLayout(self.program)
        target = NativePortableTarget(layout, blocks, results, self.plan, self._objects, self.digests, self.events)
        self._fields.update(target.cells.fields)
        return Emitter(self.program, self.module, layout, target, self.library, f"p4.{name}"), target

    def write(self, g: Emitter) -> None:
        """A thread has been written."""
        self.size = max(self.size, aligned(g.layout.size, 64))

    def carried(self, g: Emitter, spans: Mapping[int, tuple[int, int]]) -> None:
        """Say where the packet's memory has what goes from pass to pass, offset and bytes by path."""
        self.supplied["carried_at"] = _by_path(g, "carried_at", {path: at for path, (at, _) in spans.items()})
        self.supplied["carried_size"] = _by_path(g, "carried_size", {path: n for path, (_, n) in spans.items()})


def translate(program: ir.Program, objects: NativeState, way: PacketMode) -> Module:
    """Translate a program."""
    assert isinstance(objects, NativePortable)
    architecture = pna if architecture_of(program) is PNA else psa
    assembly = Assembly(program, objects, {**_PASSES, **_WAYS[way], **architecture.SUPPLIED})
    architecture.write(assembly)
    for entry in _ENTRIES[way]:
        assembly.library.function(entry, exported=True)
    return Module(str(assembly.module), assembly.plan, assembly.size, assembly.digests, assembly.events)


def _by_path(g: Emitter, name: str, values: Mapping[int, int]) -> Value:
    """Write the function that gives a number for each path."""
    with g.plain_function(name, ll.FunctionType(I64, [I64])) as function:
        result: Value = i64(0)
        for path, number in values.items():
            result = g.b.select(g.b.icmp_unsigned("==", function.args[0], i64(path)), i64(number), result)
        g.b.ret(result)
    return function
