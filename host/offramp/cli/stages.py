"""A bar that shows which stage of a command runs, and how far it is where it says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from offramp.progress import listen

if TYPE_CHECKING:
    from rich.console import Console


@contextmanager
def stages(console: Console) -> Iterator[Callable[[str], None]]:
    """Gives what to call at the beginning of each stage; the bar goes when the last has ended."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=None)

        def begin(stage: str) -> None:
            progress.update(task, description=stage, completed=0, total=None)

        def advance(what: str, done: int, total: int) -> None:
            progress.update(task, description=what, completed=done, total=total)

        with listen(advance):
            yield begin
