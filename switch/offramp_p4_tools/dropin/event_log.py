# SPDX-License-Identifier: Apache-2.0
"""bmv2's event log (``--nanolog``): what packets do, as messages of fixed form for those who subscribe.

Objects have the numbers of bmv2's JSON of the program. Copies are counted from 0 for each packet.
"""

from __future__ import annotations

import json
import logging
import struct
from collections import defaultdict
from enum import IntEnum
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from offramp_base.errors import OfframpError
from offramp_p4_tools.bmv2.write import document_text
from offramp_p4_tools.dropin.thrift.tables import Handles
from offramp_p4_tools.dropin.xxh64 import xxh64

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from offramp_p4.ir import Program
    from offramp_p4.state import TableEntry
    from offramp_p4.trace.model import Event, PacketTrace, Span

_LOG: Final = logging.getLogger(__name__)
_HEAD: Final = struct.Struct("<iQIQQQ")
"""Type, device, context, hash of the packet as it came in, packet, copy."""
_NUMBER: Final = struct.Struct("<i")
_CONTEXT: Final = 0


class EventType(IntEnum):
    """Types of messages; each has the number of a port or an object behind its head."""

    PACKET_IN = 0
    PACKET_OUT = 1
    PARSER_START = 2
    PARSER_DONE = 3
    PARSER_EXTRACT = 4
    DEPARSER_START = 5
    DEPARSER_DONE = 6
    DEPARSER_EMIT = 7
    CHECKSUM_UPDATE = 8
    PIPELINE_START = 9
    PIPELINE_DONE = 10
    CONDITION_EVAL = 11
    TABLE_HIT = 12
    TABLE_MISS = 13
    ACTION_EXECUTE = 14
    CONFIG_CHANGE = 999


_BLOCKS: Final = {
    "p": (EventType.PARSER_START, EventType.PARSER_DONE, 0),
    "ig": (EventType.PIPELINE_START, EventType.PIPELINE_DONE, 0),
    "eg": (EventType.PIPELINE_START, EventType.PIPELINE_DONE, 1),
    "dep": (EventType.DEPARSER_START, EventType.DEPARSER_DONE, 0),
}
"""First and last message of a block of V1Switch, and its number in the document."""
_ORDER: Final = {"pass": ("p", "vr", "ig"), "copy": ("eg", "ck", "dep")}
"""The blocks that a pass and a copy go through."""


class ObjectNumbers:
    """The numbers of a document's objects.

    Args:
        document: bmv2's JSON.
    """

    def __init__(self, document: Any) -> None:
        self.headers = {each["name"]: each["id"] for each in document["headers"]}
        self.actions = {each["name"]: each["id"] for each in reversed(document["actions"])}
        names = {each["id"]: each["name"] for each in document["actions"]}
        self.tables: dict[str, int] = {}
        self.table_actions: dict[tuple[str, str], int] = {}
        self.updates = [each["id"] for each in document["checksums"] if each.get("update", True)]
        self.conditions: dict[str, int] = {}
        for pipeline in document["pipelines"]:
            for table in pipeline["tables"]:
                self.tables[table["name"]] = table["id"]
                for number in table.get("action_ids", ()):
                    self.table_actions[table["name"], names[number]] = number
            for condition in pipeline["conditionals"]:
                info = condition.get("source_info", {})
                place = f"{str(info.get('filename', '')).rpartition('/')[2]}:{info.get('line', 0)}"
                self.conditions.setdefault(place, condition["id"])

    def action(self, table: str | None, name: str) -> int | None:
        """The number of an action, of a table's own where it has one; None: the document lacks it."""
        number = None if table is None else self.table_actions.get((table, name))
        return self.actions.get(name) if number is None else number


class EventLog:
    """A sink of traces that publishes bmv2's messages.

    Args:
        device: stands in every message.
        publish: sends a message.
        listened: whether somebody takes messages now.

    Attributes:
        full: traces are to have every outcome of a condition, and the headers that leave.
        outlines: traces need no values.
        handle: the handle of an entry of a table; that of clients over Thrift, where they are served.
    """

    full: Final = True
    outlines: Final = True

    def __init__(
        self, device: int, publish: Callable[[bytes], None], listened: Callable[[], bool] = lambda: True
    ) -> None:
        self._device, self._publish, self.listened = device, publish, listened
        self._handles: defaultdict[str, Handles] = defaultdict(Handles)
        self._program: Callable[[], Program | None] = lambda: None
        self._known: tuple[Program, ObjectNumbers | None] | None = None
        self.handle: Callable[[str, TableEntry], int] = self._own_handle

    def follow(self, program: Callable[[], Program | None]) -> None:
        """Take the numbers of objects from the program that runs; until then nothing is published."""
        self._program = program

    def __call__(self, trace: PacketTrace) -> None:
        """Publish the messages of one packet; none where bmv2's JSON cannot express its program."""
        program = self._program()
        if program is None:
            return
        if self._known is None or self._known[0] is not program:
            if self._known is not None:
                self._publish(_HEAD.pack(EventType.CONFIG_CHANGE, self._device, 0, 0, 0, 0))
                self._handles.clear()
            self._known = program, _numbers(program)
        numbers = self._known[1]
        if numbers is None:
            return
        signature, copies, copy_of = xxh64(trace.frame), count(), dict[int | None, int]()
        for span in trace.spans:
            goes_on = span.cause == "unicast" and span.parent in copy_of
            copy = copy_of[span.id] = copy_of[span.parent] if goes_on else next(copies)
            for kind, *more in self._span(program, numbers, trace, span):
                head = _HEAD.pack(kind, self._device, _CONTEXT, signature, trace.number, copy)
                self._publish(head + b"".join(map(_NUMBER.pack, more)))

    def _own_handle(self, table: str, entry: TableEntry) -> int:
        return self._handles[table].number(entry)

    def _span(
        self, program: Program, numbers: ObjectNumbers, trace: PacketTrace, span: Span
    ) -> Iterator[tuple[int, ...]]:
        if span.cause == "arrival":
            yield EventType.PACKET_IN, trace.port
        notes = _blocks(program, span)
        if span.kind == "pass":
            yield from self._block(numbers, "p", notes.get("p"))
            yield from self._block(numbers, "ig", notes.get("ig"))
            return
        yield from self._block(numbers, "eg", notes.get("eg"))
        if span.dropped is None:
            yield from self._block(numbers, "dep", notes.get("dep"), list(_updates(numbers, notes.get("ck"))))
        if span.output is not None:
            yield EventType.PACKET_OUT, span.output[0]

    def _block(
        self, numbers: ObjectNumbers, role: str, note: Event | None, first: Sequence[tuple[int, ...]] = ()
    ) -> Iterator[tuple[int, ...]]:
        """The messages of a block, which has no note if nothing happened in it; ``first`` follow that of its start."""
        start, done, number = _BLOCKS[role]
        yield start, number
        yield from first
        for inner in () if note is None else note.events:
            yield from self._event(numbers, inner)
        yield done, number

    def _event(self, numbers: ObjectNumbers, event: Event) -> Iterator[tuple[int, ...]]:
        detail, name = event.detail, event.name
        if event.kind in {"extract", "emit"}:
            header = numbers.headers.get(name.partition(".")[2] or name)
            if header is not None:
                yield EventType.PARSER_EXTRACT if event.kind == "extract" else EventType.DEPARSER_EMIT, header
        elif event.kind == "branch" and name in numbers.conditions:
            yield EventType.CONDITION_EVAL, numbers.conditions[name], int(detail["taken"])
        elif event.kind == "table" and name in numbers.tables:
            if event.entry is None:
                yield EventType.TABLE_MISS, numbers.tables[name]
            else:
                yield EventType.TABLE_HIT, numbers.tables[name], self.handle(name, event.entry)
            action = None if detail["action"] is None else numbers.action(name, detail["action"])
            if action is not None:
                yield EventType.ACTION_EXECUTE, action
        elif event.kind == "action":
            action = numbers.action(None, name)
            if action is not None:
                yield EventType.ACTION_EXECUTE, action
        for inner in event.events:
            yield from self._event(numbers, inner)


def _blocks(program: Program, span: Span) -> dict[str, Event]:
    """The notes of the blocks that a span has been through, by their parts in V1Switch."""
    roles = list(_ORDER[span.kind])
    notes: dict[str, Event] = {}
    for event in span.events:
        named = [role for role in roles if getattr(program.main.args.get(role), "name", None) == event.name]
        if event.kind == "block" and named:
            notes[named[0]] = event
            del roles[: roles.index(named[0]) + 1]
    return notes


def _updates(numbers: ObjectNumbers, note: Event | None) -> Iterator[tuple[int, ...]]:
    """The checksums that were computed, where the program's calls and the document's are as many."""
    calls = [e for e in (() if note is None else note.events) if e.name.startswith("update_checksum")]
    if len(calls) == len(numbers.updates):
        for call, number in zip(calls, numbers.updates, strict=True):
            if call.detail.get("condition", True):
                yield EventType.CHECKSUM_UPDATE, number


def _numbers(program: Program) -> ObjectNumbers | None:
    try:
        return ObjectNumbers(json.loads(document_text(program)))
    except OfframpError as error:
        _LOG.warning("no event log: %s", error)
        return None
