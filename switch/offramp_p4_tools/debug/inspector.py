# SPDX-License-Identifier: Apache-2.0
"""A packet that is held, as the protocol shows it: stack, scopes, variables, expressions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from offramp_base.errors import OfframpError
from offramp_p4_tools.debug import rows, state_rows
from offramp_p4_tools.debug.breakpoints import resolved
from offramp_p4_tools.debug.rows import MOST_ROWS, FrameView, RowList, RowSource, VariableRow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from offramp_p4.source import Pos
    from offramp_p4_tools.debug.asked import RequestArguments
    from offramp_p4_tools.debug.stops import Stop

MAX_NODES = 1 << 16
"""References that a client may collect while one packet is held."""


class Inspector:
    """Answers what a client asks about one stop; its references mean nothing after it.

    Args:
        first_line: 1, or 0 for a client that counts lines and columns from there.
    """

    def __init__(self, stop: Stop, first_line: int = 1) -> None:
        assert stop.code.switch is not None
        self._switch, self._stop = stop.code.switch, stop
        self._views = [FrameView(stop.code, location, m) for location, m in stop.stack]
        self._nodes: list[RowSource] = []
        self._shift = first_line - 1

    def stack_trace(self, asked: RequestArguments) -> Mapping[str, Any]:
        """The frames, innermost first; ids count from 1."""
        start, levels = asked.number("startFrame", 0), asked.number("levels", 0)
        frames = [
            {
                "id": number,
                "name": f"{view.location.frame.kind} {view.location.frame.name}",
                "source": source_of(view.location.pos),
                "line": view.location.pos.line + self._shift,
                "column": view.location.pos.column + self._shift,
            }
            for number, view in enumerate(self._views, 1)
        ]
        return {"stackFrames": frames[start : start + levels if levels else None], "totalFrames": len(frames)}

    def scopes(self, asked: RequestArguments) -> Mapping[str, Any]:
        """The scopes of a frame."""
        view = self._view(asked)
        variables = view.variables()
        own = RowList(lambda: [view.row(value) for value in variables.values()], len(variables))
        nodes: list[tuple[str, RowSource]] = [
            ("Variables", own),
            ("Packet", state_rows.packet(view, self._stop.packet)),
        ]
        nodes += state_rows.scopes(self._switch, view)
        hints = {"Variables": "locals"}
        return {
            "scopes": [
                {"name": title, "expensive": title not in ("Variables", "Packet")}
                | ({"presentationHint": hints[title]} if title in hints else {})
                | self._reference(node)
                for title, node in nodes
            ]
        }

    def variables(self, asked: RequestArguments) -> Mapping[str, Any]:
        """Rows below a reference, all or a page of them."""
        node = self._node(asked)
        start, count = asked.number("start", 0), asked.number("count", 0)
        wanted = asked.text("filter", "")
        if wanted and (wanted == "indexed") != node.indexed:
            return {"variables": []}
        return {"variables": [self._row(row) for row in node.rows(start, min(count or MOST_ROWS, MOST_ROWS))]}

    def set_variable(self, asked: RequestArguments) -> Mapping[str, Any]:
        """Set the value that a row shows; answers with the new one."""
        node, name = self._node(asked), asked.text("name")
        _put(rows.find(node, name), asked.text("value"))
        return self._value(rows.find(node, name), "value")

    def set_expression(self, asked: RequestArguments) -> Mapping[str, Any]:
        """Set a place that an expression names."""
        view, text = self._view(asked), asked.text("expression")
        _put(view.value(text), asked.text("value"))
        return self._value(view.value(text), "value")

    def evaluate(self, asked: RequestArguments) -> Mapping[str, Any]:
        """The value of an expression, or the table, register or other object of this name."""
        view, text = self._view(asked), asked.text("expression").strip()
        try:
            row = view.value(text)
        except OfframpError:
            known_row = state_rows.find(self._switch, view, text)
            if known_row is None:
                raise
            row = known_row
        return self._value(row, "result")

    def _view(self, asked: RequestArguments) -> FrameView:
        number = asked.number("frameId", 1)
        if not 1 <= number <= len(self._views):
            raise OfframpError(f"no frame {number} here")
        return self._views[number - 1]

    def _node(self, asked: RequestArguments) -> RowSource:
        number = asked.number("variablesReference")
        if not 1 <= number <= len(self._nodes):
            raise OfframpError(f"no reference {number} here")
        return self._nodes[number - 1]

    def _row(self, row: VariableRow) -> Mapping[str, Any]:
        path = {"evaluateName": row.path} if row.path else {}
        return {"name": row.name, **self._value(row, "value"), **path}

    def _value(self, row: VariableRow, name: str) -> dict[str, Any]:
        kind = {"type": row.type} if row.type else {}
        return {name: row.text, **kind, **self._reference(row.node)}

    def _reference(self, node: RowSource | None) -> dict[str, int]:
        if node is None or not node.size:
            return {"variablesReference": 0}
        if len(self._nodes) >= MAX_NODES:
            raise OfframpError(f"more than {MAX_NODES} references to one stop")
        self._nodes.append(node)
        size = "indexedVariables" if node.indexed else "namedVariables"
        return {"variablesReference": len(self._nodes), size: node.size}


LOOKS: Mapping[str, Callable[[Inspector, RequestArguments], Mapping[str, Any]]] = {
    "stackTrace": Inspector.stack_trace,
    "scopes": Inspector.scopes,
    "variables": Inspector.variables,
    "setVariable": Inspector.set_variable,
    "setExpression": Inspector.set_expression,
    "evaluate": Inspector.evaluate,
}
"""Requests about a packet that is held."""


def source_of(pos: Pos) -> Mapping[str, Any]:
    """The file of a position; a position outside any file has a name only."""
    path = resolved(pos.file)
    name = Path(pos.file).name
    return {"name": name, "path": path} if Path(path).is_file() else {"name": name, "sourceReference": 1}


def _put(row: VariableRow, text: str) -> None:
    if row.put is None:
        raise OfframpError(f"{row.name or 'this'} cannot be set")
    row.put(text)
