# SPDX-License-Identifier: Apache-2.0
"""What packets do, in bmv2's words, from machine code: records that Python puts into lines after each batch.

Only a module that is made for logging has them, so they cost nothing elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from offramp_base.native.llvm import Value, i64
from offramp_base.native.records import offset
from offramp_p4 import ir
from offramp_p4.names import place
from offramp_p4.native.core import field
from offramp_p4.native.records import RecordFormat, read_value, record
from offramp_p4.native.runtime import program as names
from offramp_p4.native.runtime.context import SwitchMemory
from offramp_p4.native.shape import is_scalar
from offramp_p4.types import Bits, Tuple

if TYPE_CHECKING:
    from offramp_p4.native.emitter import Emitter

LOG_MARK: Final = "\1"
"""Before the text of a record: it is a line of the log, behind its level."""
_WORD: Final = Bits(64)
_KEY_WIDTH: Final = 20
_ARRIVAL: Final = "Processing packet received on port "


class PacketLog:
    """Writes the instructions that leave lines.

    Args:
        events: how to read the records; grows with every line of the program.
    """

    def __init__(self, events: list[RecordFormat]) -> None:
        self._events = events

    def line(self, g: Emitter, level: str, text: str, data: tuple[Value, Tuple] | None = None) -> None:
        """A line; ``text`` is a format of the values at an address."""
        number, kept = len(self._events), f"{LOG_MARK}{level}{text}"
        self._events.append(record(g, offset(SwitchMemory.events), number, kept, data))

    def words(self, g: Emitter, level: str, text: str, *words: Value) -> None:
        """A line with words of 64 bits."""
        kind = Tuple((_WORD,) * len(words))
        room = g.room(kind)
        for number, word in enumerate(words):
            g.store_number(word, g.at(room, 8 * number), 64)
        self.line(g, level, text, (room, kind))

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

    def extracted(self, g: Emitter, header: ir.Expr) -> None:
        """A header was extracted."""
        name = place(header)
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

    def outcome(self, g: Emitter, table: ir.MatchTable, hit: bool) -> None:
        """A table was hit or missed."""
        self.line(g, "D", f"Table '{_plain(table.name)}': {'hit' if hit else 'miss'}")

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
                self.words(g, "D", f"{_ARRIVAL}{{}}, {{}} bytes", ingress, length)
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


class _Shown(int):
    """A number whose hexadecimal digits are whole bytes."""

    def __format__(self, form: str) -> str:
        digits = int.__format__(self, form)
        return digits.zfill(len(digits) + len(digits) % 2) if form == "x" else digits


class LogLines:
    """Puts records into lines with bmv2's head, in which ``[3.0]`` is the third pass.

    Args:
        write: takes the lines of a batch, with line ends.
        kinds: the records of the program, by their numbers.
    """

    def __init__(self, write: Callable[[str], object], kinds: Sequence[RecordFormat]) -> None:
        self._write, self._passes = write, -1
        self._kinds = [_LineKind.of(kind) for kind in kinds]

    def read(self, raw: bytes) -> list[tuple[RecordFormat, tuple[int, ...]]]:
        """Write the lines of a batch, with the time of its end; returns the records that are no lines."""
        now = datetime.now(UTC)
        clock = f"[{now:%H:%M:%S}.{now.microsecond // 1000:03}] [bmv2] "
        words = memoryview(raw).cast("Q").tolist()
        heads = self._heads(clock)
        lines: list[str] = []
        others: list[tuple[RecordFormat, tuple[int, ...]]] = []
        at, end = 0, len(words)
        while at < end:
            kind = self._kinds[words[at]]
            size = kind.words
            if kind.level is None:
                others.append((kind.record, read_value(kind.record, raw[8 * at : 8 * (at + size)])))
            else:
                if kind.arrives:
                    self._passes += 1
                    heads = self._heads(clock)
                text = kind.text
                if size > 1:
                    text = kind.filled(raw[8 * at : 8 * (at + size)], words[at + 1 : at + size])
                lines.append(heads[kind.level] + text)
            at += size
        self._write("".join(lines))
        return others

    def _heads(self, clock: str) -> dict[str, str]:
        return {level: f"{clock}[{level}] [thread 1] [{self._passes}.0] [cxt 0] " for level in "DT"}


@dataclass(frozen=True, slots=True)
class _LineKind:
    """One line of a program's log, ready to be filled.

    Attributes:
        words: 64-bit words of its record.
        level: None of a record that is no line.
        text: the line, or its format where the record has values.
        plain: whether each value is a word.
    """

    record: RecordFormat
    words: int
    level: str | None
    text: str
    arrives: bool
    plain: bool

    @classmethod
    def of(cls, record: RecordFormat) -> _LineKind:
        """The line of a record."""
        logged = record.text.startswith(LOG_MARK)
        text = record.text[2:] + "\n"
        if not record.cells:
            text = text.format()
        plain = record.size // 8 == len(record.cells) + 1 and all(cell.bits.width == 64 for cell in record.cells)
        level = record.text[1] if logged else None
        return cls(record, record.size // 8, level, text, text.startswith(_ARRIVAL), plain)

    def filled(self, raw: bytes, words: list[int]) -> str:
        """The line with the values of a record."""
        return self.text.format(*(words if self.plain else map(_Shown, read_value(self.record, raw))))
