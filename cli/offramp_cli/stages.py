# SPDX-License-Identifier: Apache-2.0
"""A bar that shows which stage of a command runs, and how far it is where it says so; what each stage took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from offramp_base.progress import listen

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


class Stages:
    """Call it with the name of each stage as it begins.

    Attributes:
        seconds: of each stage that has ended: on the clock, and of this process's processor time.
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
        """Show how far the stage is."""
        self._progress.update(self._task, description=what, completed=done, total=total)

    def end(self) -> None:
        """The last stage has ended."""
        if self._name:
            wall, processor = self._begun
            self.seconds[self._name] = time.perf_counter() - wall, time.process_time() - processor


@contextmanager
def stages(console: Console) -> Iterator[Stages]:
    """A bar that goes when the last stage has ended."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        shown = Stages(progress)
        with listen(shown.advance):
            yield shown
        shown.end()
