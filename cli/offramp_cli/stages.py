# SPDX-License-Identifier: Apache-2.0
"""A bar that shows which stage of a command runs, with its progress if it reports it; and the time of each stage."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from offramp_base.progress import listen

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


class CommandStages:
    """The stages of a command; call it with the name of each stage as it begins.

    Attributes:
        seconds: seconds of each stage that has ended: wall-clock time, and processor time of this process.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=None)
        self._name = ""
        self._begun = 0.0, 0.0
        self.seconds: dict[str, tuple[float, float]] = {}

    def __call__(self, name: str) -> None:
        """Begin stage ``name``."""
        self.end()
        self._name, self._begun = name, (time.perf_counter(), time.process_time())
        self._progress.update(self._task, description=name, completed=0, total=None)

    def advance(self, what: str, done: int, total: int) -> None:
        """Show the stage's progress."""
        self._progress.update(self._task, description=what, completed=done, total=total)

    def end(self) -> None:
        """End the last stage."""
        if self._name:
            wall, processor = self._begun
            self.seconds[self._name] = time.perf_counter() - wall, time.process_time() - processor


def one_line(console: Console) -> Progress:
    """A bar whose line fits any console: the name is cut, bar and time are not. It leaves nothing behind."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.table import Column

    name = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    columns = (
        TextColumn("{task.description}", table_column=name),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal, expand=True)


@contextmanager
def stages(console: Console) -> Iterator[CommandStages]:
    """Show a bar, which disappears when the last stage has ended."""
    with one_line(console) as progress:
        shown = CommandStages(progress)
        with listen(shown.advance):
            yield shown
        shown.end()
