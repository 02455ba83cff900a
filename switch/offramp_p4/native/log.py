# SPDX-License-Identifier: Apache-2.0
"""What packets do, in bmv2's words, from machine code: records that Python puts into lines after each batch.

Only a module that is made for logging has them, so they cost nothing elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from offramp_base.native.llvm import Value, i64
from offramp_base.native.records import offset
from offramp_p4 import ir
from offramp_p4.native.core import field
from offramp_p4.native.log_lines import ARRIVAL, LOG_MARK
from offramp_p4.native.record_writing import record
from offramp_p4.native.records import RecordFormat
from offramp_p4.native.runtime import program as names
from offramp_p4.native.runtime.context import SwitchMemory
from offramp_p4.native.shape import is_scalar
from offramp_p4.types import Bits, Tuple

if TYPE_CHECKING:
    from offramp_p4.native.emitter import Emitter

_WORD: Final = Bits(64)
_KEY_WIDTH: Final = 20


class PacketNotes:
    """Writes the instructions that leave records of what packets do; by itself none.

    Args:
        events: how to read the records; grows with every one of the program.
    """

    def __init__(self, events: list[RecordFormat]) -> None:
        self._events = events

    def leave(self, g: Emitter, text: str, data: tuple[Value, Tuple] | None = None) -> None:
        """A record of the values at an address."""
        self._events.append(record(g, offset(SwitchMemory.events), len(self._events), text, data))

    def packed(self, g: Emitter, *words: Value) -> tuple[Value, Tuple] | None:
        """Words of 64 bits as the values of a record."""
        if not words:
            return None
        kind = Tuple((_WORD,) * len(words))
        room = g.room(kind)
        for number, word in enumerate(words):
            g.store_number(word, g.at(room, 8 * number), 64)
        return room, kind

    def state(self, g: Emitter, name: str) -> None:
        """A parser state is entered."""

    def extracted(self, g: Emitter, name: str) -> None:
        """A header was extracted."""

    def emitted(self, g: Emitter, name: str) -> None:
        """A header was emitted."""

    def branch(self, g: Emitter, stmt: ir.If, taken: bool) -> None:
        """An ``if`` has chosen."""

    def table(self, g: Emitter, table: ir.MatchTable) -> None:
        """A table is applied."""

    def outcome(self, g: Emitter, table: ir.MatchTable, entry: Value | None) -> None:
        """A table has found an entry, counted from 1, or none."""

    def entry(self, g: Emitter, choice: ir.TableAction) -> None:
        """A table's action is about to run."""

    def called(self, g: Emitter, action: ir.Action) -> None:
        """An action is called directly."""

    def updated(self, g: Emitter, call: ir.ExternCall, condition: Value) -> None:
        """A checksum is to be computed, if its condition holds."""

    def around(self, g: Emitter, role: str, callee: Value) -> Value:
        """A function that runs a block of the program, and notes that it does."""
        del g, role
        return callee


class PacketLog(PacketNotes):
    """Writes the instructions that leave lines."""

    def line(self, g: Emitter, level: str, text: str, data: tuple[Value, Tuple] | None = None) -> None:
        """A line; ``text`` is a format of the values at an address."""
        self.leave(g, f"{LOG_MARK}{level}{text}", data)

    def words(self, g: Emitter, level: str, text: str, *words: Value) -> None:
        """A line with words of 64 bits."""
        self.line(g, level, text, self.packed(g, *words))

    def values(self, g: Emitter, level: str, text: str, exprs: Sequence[ir.Expr]) -> None:
        """A line with the values of scalars."""
        if not exprs:
            self.line(g, level, text)
            return
        kind = Tuple(tuple(e.type for e in exprs))
        self.line(g, level, text, (g.temporary(ir.Compose(list(exprs), type=kind)), kind))

    # --- what programs do -----------------------------------------------------------------------------------------

    def state(self, g: Emitter, name: str) -> None:
        """A parser state is entered."""
        self.line(g, "D", f"Parser 'parser' entering state '{name}'")

    def extracted(self, g: Emitter, name: str) -> None:
        """A header was extracted."""
        self.line(g, "D", f"Extracting header '{_plain(name.partition('.')[2] or name)}'")

    def branch(self, g: Emitter, stmt: ir.If, taken: bool) -> None:
        """An ``if`` has chosen."""
        where = f"{stmt.pos.file.rpartition('/')[2]}:{stmt.pos.line}"
        self.line(g, "T", f"{_plain(where)} Condition is {'true' if taken else 'false'}")

    def table(self, g: Emitter, table: ir.MatchTable) -> None:
        """A table is applied."""
        self.line(g, "T", f"Applying table '{_plain(table.name)}'")
        keys = [key for key in table.keys if key.match_kind != "selector" and is_scalar(key.expr.type)]
        shown = "".join(f"\n* {_plain(key.name):{_KEY_WIDTH}}: {{:x}}" for key in keys)
        self.values(g, "D", f"Looking up key:{shown}", [key.expr for key in keys])

    def outcome(self, g: Emitter, table: ir.MatchTable, entry: Value | None) -> None:
        """A table was hit or missed."""
        self.line(g, "D", f"Table '{_plain(table.name)}': {'miss' if entry is None else 'hit'}")

    def entry(self, g: Emitter, choice: ir.TableAction) -> None:
        """A table's action is about to run."""
        name, params = _plain(choice.action.name), [p for p in choice.data_params if is_scalar(p.type)]
        text = f"Action entry is {name} - {'{:x},' * len(params)}"
        self.values(g, "D", text, [ir.VarRef(param, type=param.type) for param in params])
        self.line(g, "T", f"Action {name}")

    # --- the blocks of a pipeline ---------------------------------------------------------------------------------

    def around(self, g: Emitter, role: str, callee: Value) -> Value:
        """A function that runs a block of the program between the lines of its start and its end."""
        known = _BLOCKS.get(role)
        if known is None:
            return callee
        with g.function(f"log.{role}") as function:
            if role == "parse":
                ingress, length = field(g, names.INGRESS_PORT.name), field(g, names.LENGTH.name)
                self.words(g, "D", f"{ARRIVAL}{{}}, {{}} bytes", ingress, length)
            elif role == "egress":
                self.words(g, "D", "Egress port is {}", field(g, names.EGRESS_PORT.name))
            self.line(g, "D", f"{known}: start")
            code = g.b.call(callee, [g.context, g.memory])
            self.line(g, "D", f"{known}: end")
            if role in {"ingress", "egress"}:
                self._dropped(g, role)
            elif role == "deparse":
                self._sent(g)
            g.b.ret(code)
        return function

    def _dropped(self, g: Emitter, role: str) -> None:
        stays = g.b.icmp_unsigned("==", field(g, names.EGRESS_SPEC.name), g.word(offset(SwitchMemory.drop_port)))
        if role == "ingress":
            for name in (names.GROUP.name, names.RESUBMIT.name):
                stays = g.b.and_(stays, g.b.icmp_unsigned("==", field(g, name), i64(0)))
        with g.when(stays, likely=False):
            self.line(g, "D", f"Dropping packet at the end of {role}")

    def _sent(self, g: Emitter) -> None:
        with g.when(g.b.icmp_unsigned("==", field(g, names.RECIRCULATE.name), i64(0))):
            used, start = (g.word(offset(word)) for word in (SwitchMemory.out.used, SwitchMemory.out.start))
            rest = g.b.sub(field(g, names.LENGTH.name), field(g, names.CURSOR.name))
            size, most = g.b.add(g.b.sub(used, start), rest), field(g, names.TRUNCATE.name)
            size = g.b.select(g.b.icmp_unsigned(">", size, most), most, size)
            self.words(g, "D", "Transmitting packet of size {} out of port {}", size, field(g, names.EGRESS_PORT.name))


_BLOCKS: Final = {
    "parse": "Parser 'parser'",
    "ingress": "Pipeline 'ingress'",
    "egress": "Pipeline 'egress'",
    "deparse": "Deparser 'deparser'",
}


def _plain(name: str) -> str:
    """A name within a format."""
    return name.replace("{", "{{").replace("}", "}}")
