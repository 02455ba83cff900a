# SPDX-License-Identifier: Apache-2.0
"""Counts of what packets have run of a program, from their traces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from offramp_p4 import ir
from offramp_p4.engine.walk import nodes

if TYPE_CHECKING:
    from offramp_p4.source import Pos
    from offramp_p4.trace.model import Event, PacketTrace


@dataclass(frozen=True, slots=True)
class CoveredPart:
    """A part of a program, and how often packets have run it.

    Attributes:
        kind: ``state``, ``action`` or ``table``; of a choice ``branch``, ``select``, ``outcome`` or ``entry``.
        of: what the choice belongs to; empty for a part by itself.
    """

    kind: str
    name: str
    pos: Pos
    count: int
    of: str = ""


class Coverage:
    """A sink for traces of packets, which counts; for the argument ``trace`` of :class:`offramp_p4.switch.Switch`.

    One may serve several switches of the same program, one after the other.

    Attributes:
        lines: runs of each line that has a statement, by file and line.
    """

    def __init__(self, program: ir.Program) -> None:
        self.program = program
        self.lines: dict[tuple[str, int], int] = {}
        self._counts: Counter[tuple[str, ...]] = Counter()

    def __call__(self, trace: PacketTrace) -> None:
        """Count what one packet has run."""
        for span in trace.spans:
            for event in span.events:
                self._add(event, "", "")

    def _add(self, event: Event, block: str, state: str) -> str:
        """Count an event, and those within; returns the parser state that follows."""
        name, detail = event.name, event.detail
        match event.kind:
            case "block":
                block, state = name, ""
            case "state":
                self._counts["state", block, name] += 1
                state = name
            case "select":
                self._counts["select", block, state, name] += 1
            case "branch":
                self._counts["branch", name, str(detail["taken"])] += 1
            case "action":
                self._counts["action", name] += 1
            case "table":
                self._table(event)
        inner = state
        for each in event.events:
            inner = self._add(each, block, inner)
        return state

    def _table(self, event: Event) -> None:
        name, detail = event.name, event.detail
        self._counts["table", name] += 1
        self._counts["outcome", name, "hit" if detail["hit"] else "miss"] += 1
        if "entry" in detail:
            self._counts["entry", name, entry_text(detail["entry"]["match"])] += 1
        if detail.get("action") is not None:
            self._counts["action", detail["action"]] += 1

    def entry(self, table: str, match: str) -> int:
        """Hits of a table's entry with this match, as :func:`entry_text` writes it."""
        return self._counts["entry", table, match]

    @property
    def parts(self) -> Iterator[CoveredPart]:
        """The states, actions and tables of the program, and the choices in them, in order."""
        actions: dict[str, ir.Action] = {}
        for block in self.program.blocks:
            if isinstance(block, ir.ParserInstance):
                yield from self._states(block)
                continue
            for node in nodes(block, into_declarations=True):
                if isinstance(node, ir.Action):
                    actions.setdefault(node.name, node)
                elif isinstance(node, ir.If):
                    yield from self._branches(node)
        for table in self.program.tables:
            for choice in (*table.actions, table.default.action):
                actions.setdefault(choice.action.name, choice.action)
            yield from self._table_parts(table)
        for name, action in actions.items():
            if action.pos.line:
                yield CoveredPart("action", name, action.pos, self._counts["action", name])

    def _states(self, parser: ir.ParserInstance) -> Iterator[CoveredPart]:
        for state in parser.states.values():
            name = f"{parser.name}.{state.name}"
            yield CoveredPart("state", name, state.pos, self._counts["state", parser.name, state.name])
            for target in dict.fromkeys(case.target for case in state.cases) if state.select else ():
                count = self._counts["select", parser.name, state.name, target]
                yield CoveredPart("select", target, state.pos, count, name)

    def _branches(self, stmt: ir.If) -> Iterator[CoveredPart]:
        place = f"{Path(stmt.pos.file).name}:{stmt.pos.line}"
        for taken in ("True", "False") if stmt.otherwise is not None else ("True",):
            yield CoveredPart("branch", taken, stmt.pos, self._counts["branch", place, taken], place)

    def _table_parts(self, table: ir.MatchTable) -> Iterator[CoveredPart]:
        from offramp_p4.names import match_text
        from offramp_p4.state import TableState

        yield CoveredPart("table", table.name, table.pos, self._counts["table", table.name])
        if not table.keys:
            return
        for outcome in ("hit", "miss"):
            count = self._counts["outcome", table.name, outcome]
            yield CoveredPart("outcome", outcome, table.pos, count, table.name)
        if not table.entries or "implementation" in table.properties:
            return
        state = TableState(table)
        names = [key.name for key in state.keys]
        for source, entry in zip(table.entries, state._initial, strict=True):
            match = entry_text(dict(zip(names, map(match_text, entry.keys), strict=True)))
            yield CoveredPart("entry", match, source.pos, self.entry(table.name, match), table.name)


def entry_text(match: dict[str, str]) -> str:
    """The match of an entry, in one text."""
    return ", ".join(f"{name}={text}" for name, text in match.items())
