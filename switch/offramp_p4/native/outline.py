# SPDX-License-Identifier: Apache-2.0
"""The outline of what packets do, from machine code: traces without values, which Python puts together of records.

Only a module that is made for outlines has them, so they cost nothing elsewhere. They have the blocks of a pass and a
copy, and in these what was extracted and emitted, the ways that an ``if`` went, tables with the entries that were
found, actions, and checksums.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal

from offramp_base.native.llvm import I64, Value, i64
from offramp_base.native.records import offset
from offramp_p4 import ir
from offramp_p4.native.core import field
from offramp_p4.native.log import PacketNotes
from offramp_p4.native.records import RecordFormat
from offramp_p4.native.runtime import program as names
from offramp_p4.native.runtime.context import SwitchMemory
from offramp_p4.trace.model import Cause, Event, PacketTrace, Span
from offramp_p4.v1model import metadata as md

if TYPE_CHECKING:
    from offramp_p4.native.emitter import Emitter
    from offramp_p4.state import TableEntry

OUTLINE_MARK: Final = "\2"
"""Before the text of a record: it belongs to an outline."""
_PASSES: Final[dict[int, Cause]] = {
    md.NORMAL: "arrival", md.RECIRCULATED: "recirculate", md.RESUBMITTED: "resubmit",
}  # fmt: skip
_COPIES: Final[dict[int, Cause]] = {
    md.NORMAL: "unicast", md.REPLICATED: "multicast", md.INGRESS_CLONE: "ingress clone",
    md.EGRESS_CLONE: "egress clone",
}  # fmt: skip
_Record = tuple[RecordFormat, tuple[int, ...]]
_ROLES: Final = {"parse": "p", "verify": "vr", "ingress": "ig", "egress": "eg", "compute": "ck", "deparse": "dep"}
"""The parameters of V1Switch, by what the run-time system calls the blocks."""
_DROPPED: Final = "nothing was put together after egress"


class PacketOutline(PacketNotes):
    """Writes the instructions that leave records of outlines."""

    def _note(self, g: Emitter, kind: str, name: str, *words: Value) -> None:
        self.leave(g, f"{OUTLINE_MARK}{kind} {name}", self.packed(g, *words))

    def extracted(self, g: Emitter, name: str) -> None:
        """A header was extracted."""
        self._note(g, "extract", name)

    def emitted(self, g: Emitter, name: str) -> None:
        """A header was emitted."""
        self._note(g, "emit", name)

    def branch(self, g: Emitter, stmt: ir.If, taken: bool) -> None:
        """An ``if`` has chosen."""
        self._note(g, "branch", f"{stmt.pos.file.rpartition('/')[2]}:{stmt.pos.line}", i64(int(taken)))

    def outcome(self, g: Emitter, table: ir.MatchTable, entry: Value | None) -> None:
        """A table has found an entry, counted from 1, or none."""
        self._note(g, "table", table.name, i64(0) if entry is None else entry)

    def entry(self, g: Emitter, choice: ir.TableAction) -> None:
        """A table's action is about to run."""
        self._note(g, "run", choice.action.name)

    def called(self, g: Emitter, action: ir.Action) -> None:
        """An action is called directly."""
        self._note(g, "action", action.name)

    def updated(self, g: Emitter, call: ir.ExternCall, condition: Value) -> None:
        """A checksum is to be computed, if its condition holds."""
        self._note(g, "call", call.method, g.b.zext(condition, I64))

    def around(self, g: Emitter, role: str, callee: Value) -> Value:
        """A function that runs a block of the program between the records of its start and its end."""
        if role not in _ROLES:
            return callee
        with g.function(f"outline.{role}") as function:
            memory = g.b.ptrtoint(g.memory, I64)
            frame, length = g.word(offset(SwitchMemory.frame)), field(g, names.LENGTH.name)
            ports = field(g, names.INGRESS_PORT.name), field(g, names.EGRESS_PORT.name)
            self._note(g, "start", role, memory, field(g, names.INSTANCE_TYPE.name), *ports, frame, length)
            code = g.b.call(callee, [g.context, g.memory])
            again = field(g, names.RECIRCULATE.name) if role == "deparse" else i64(0)
            self._note(g, "end", role, memory, again)
            g.b.ret(code)
        return function


class OutlineReader:
    """Puts the records of a batch together to traces, whose packets it numbers on.

    Args:
        program: the program that leaves the records.
        entries: the entry of a table that has a number.
        sink: gets each trace.
    """

    def __init__(
        self,
        program: ir.Program,
        entries: Callable[[str, int], TableEntry | None],
        sink: Callable[[PacketTrace], object],
    ) -> None:
        self._blocks: Mapping[str, str] = {
            role: getattr(program.main.args[parameter], "name", "") for role, parameter in _ROLES.items()
        }
        self._entries, self._sink = entries, sink
        self._listened: Callable[[], bool] = getattr(sink, "listened", lambda: True)
        self._packets = 0

    def takes(self, count: int) -> bool:
        """Whether the sink wants outlines of the next ``count`` packets; if not, they only have their numbers."""
        wanted: bool = self._listened()
        self._packets += 0 if wanted else count
        return wanted

    def read(self, records: Iterable[_Record]) -> list[_Record]:
        """Hand the traces of the records to the sink; returns those that belong to none.

        The frames that have arrived must still lie where machine code has found them.
        """
        others: list[_Record] = []
        packet: _OutlinedPacket | None = None
        for kind, values in records:
            if not kind.text.startswith(OUTLINE_MARK):
                others.append((kind, values))
                continue
            what, _, name = kind.text[1:].partition(" ")
            if what == "start" and (packet is None or packet.ends_before(name, values)):
                if packet is not None:
                    self._sink(packet.trace)
                packet = _OutlinedPacket(self._packets, values)
                self._packets += 1
            assert packet is not None
            if what == "start":
                packet.start(name, self._blocks[name], values)
            elif what == "end":
                packet.end(name, *values)
            else:
                packet.add(what, name, values, self._entries)
        if packet is not None:
            self._sink(packet.trace)
        return others


class _OutlinedPacket:
    """The trace of a packet, from the start of its first block on.

    A pass has the same memory always, ``base``, and a copy that is not the only one has memory behind it. What a clone
    of an incoming packet goes through before egress is left out, as in all traces.
    """

    def __init__(self, number: int, values: Sequence[int]) -> None:
        self._base, _, port, _, frame, length = values
        self.trace = PacketTrace(number, port, ctypes.string_at(frame, length))
        self._spans: dict[int, Span] = {}  # the last one in each memory
        self._into: list[Event] = []

    def ends_before(self, role: str, values: Sequence[int]) -> bool:
        """Whether the block that starts is the first of the next packet."""
        return role == "parse" and values[0] == self._base and values[1] == md.NORMAL

    def start(self, role: str, block: str, values: Sequence[int]) -> None:
        """A block starts."""
        memory, instance, arrived, leaves, _, _ = values
        if role == "parse" and memory == self._base:
            self._open(memory, None, "pass", _PASSES[instance], arrived)
        elif role == "parse":
            self._spans.pop(memory, None)
        elif role == "egress":
            cause = _COPIES[instance]
            self._open(memory, self._spans.get(memory) if cause == "unicast" else None, "copy", cause, leaves)
            self._spans[memory].dropped = _DROPPED
        note = Event("block", block)
        self._into = note.events
        span = self._spans.get(memory)
        if span is not None:
            span.events.append(note)
            if role == "deparse":
                span.dropped = None

    def end(self, role: str, memory: int, again: int) -> None:
        """A block ends; ``again``: what it has put together comes in again."""
        self._into = []
        if role == "deparse" and not again:
            span = self._spans[memory]
            span.output = span.port, b""

    def add(
        self, kind: str, name: str, values: Sequence[int], entries: Callable[[str, int], TableEntry | None]
    ) -> None:
        """Something happens in the block."""
        if kind == "run":
            self._into[-1].detail["action"] = name
        elif kind == "table":
            entry = entries(name, values[0]) if values[0] else None
            self._into.append(Event(kind, name, {"action": None}, entry=entry))
        else:
            detail = {"branch": "taken", "call": "condition"}.get(kind)
            self._into.append(Event(kind, name, {} if detail is None else {detail: bool(values[0])}))

    def _open(self, memory: int, parent: Span | None, kind: Literal["pass", "copy"], cause: Cause, port: int) -> None:
        span = Span(len(self.trace.spans), None if parent is None else parent.id, kind, cause, port)
        self.trace.spans.append(span)
        self._spans[memory] = span
