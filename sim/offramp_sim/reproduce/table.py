# SPDX-License-Identifier: Apache-2.0
"""An item as a table: it sweeps rows, runs each, compares columns, and plots a line for each column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from offramp_base.progress import counted
from offramp_sim.figures.panels import Curves

Row = TypeVar("Row")
Cell = TypeVar("Cell")
Lines = dict[str, tuple[list[Any], list[float]]]
"""``(xs, ys)`` by label, as :class:`~offramp_sim.figures.panels.Curves` draws them."""


class ItemTable(dict[Row, Mapping[str, Cell]]):
    """Results by row and column: a row for each case of a sweep, a column for each system that it compares."""

    @classmethod
    def sweep(cls, what: str, rows: Iterable[Row], run: Callable[[Row], Mapping[str, Cell]]) -> ItemTable[Row, Cell]:
        """Run every row, and report progress as a number of ``what``; a row may lack columns."""
        table: ItemTable[Row, Cell] = ItemTable()
        for row in counted(what, list(rows)):
            table[row] = run(row)
        return table

    def column(self, name: str) -> list[Cell]:
        """The cells of a column, by row."""
        return [cells[name] for cells in self.values() if name in cells]

    def lines(self, number: Callable[[Cell], Any] = lambda cell: cell) -> Lines:
        """A line for each column along the rows that have it; ``number`` is what a cell contributes."""
        lines: Lines = {}
        for row, cells in self.items():
            for name, cell in cells.items():
                xs, ys = lines.setdefault(name, ([], []))
                xs.append(row)
                ys.append(number(cell))
        return lines


def bar_chart(title: str, y: str, bars: Mapping[str, float], label: str = "") -> Curves:
    """A panel with one bar for each number."""
    return Curves(title, "", y, {label: (list(bars), list(bars.values()))}, bars=True)
