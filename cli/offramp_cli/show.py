# SPDX-License-Identifier: Apache-2.0
"""Output of commands: tables without lines, words aligned left and numbers right."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_ANY_WIDTH = 10_000


def console(*, wrap: bool = True, errors: bool = False, one_rank: bool = False) -> Console:
    """Make the console to which a command prints.

    Args:
        wrap: whether long lines are wrapped.
        errors: print to standard error.
        one_rank: print only on the first of the ranks that torchrun or srun starts.
    """
    from offramp.workers.place import leads
    from offramp_cli.plain_console import PlainConsole

    return PlainConsole(soft_wrap=not wrap, stderr=errors, quiet=one_rank and not leads())


def table(*headings: str, left: Collection[str] | None = None, title: str | None = None, whole: bool = False) -> Table:
    """Make an empty table.

    Args:
        headings: headings of the columns.
        left: headings of left-aligned columns; by default only the first.
        title: printed above the table, to the left.
        whole: cut long cells rather than wrap them.
    """
    from rich.table import Table

    drawn = Table(box=None, pad_edge=False, title=title, title_justify="left")
    for heading in headings:
        words = heading in (headings[:1] if left is None else left)
        drawn.add_column(heading, justify="left" if words else "right", no_wrap=whole)
    return drawn


def print_table(console: Console, table: Table) -> None:
    """Print a table; if the console is too narrow for it, each row becomes its first word with a list below."""
    headings = [str(column.header) for column in table.columns]
    if console.measure(table, options=console.options.update(width=_ANY_WIDTH)).maximum <= console.width:
        console.print(table)
        return
    from rich.padding import Padding

    if table.title:
        console.print(table.title, style="italic")
    for row, cells in zip(table.rows, zip(*(column.cells for column in table.columns), strict=True), strict=True):
        shown = [(heading, str(cell).replace("\n", ", ")) for heading, cell in zip(headings, cells, strict=True)]
        name = next(i for i, (heading, _) in enumerate(shown) if heading)
        rest = ", ".join(f"{heading} {cell}".replace(" ", "\N{NO-BREAK SPACE}") for heading, cell in shown[name + 1 :])
        console.print(" ".join(cell for _, cell in shown[: name + 1] if cell), style=row.style)
        console.print(Padding(rest, (0, 0, 0, 4)), style=row.style)


def facts(rows: Iterable[tuple[str, object]]) -> Table:
    """Print names and values, one pair per line."""
    drawn = table("", " ")
    drawn.show_header = False
    for name, value in rows:
        drawn.add_row(name, str(value))
    return drawn


def count(number: int, noun: str) -> str:
    """Number and noun: ``no warnings``, ``1 warning``, ``2 warnings``."""
    plural = "es" if noun.endswith(("ch", "s", "x")) else "s"
    return f"{number or 'no'} {noun}{'' if number == 1 else plural}"
