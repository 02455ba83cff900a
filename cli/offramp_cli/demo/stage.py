# SPDX-License-Identifier: Apache-2.0
"""The stage: announces acts, shows how far they are, and times them.

On a terminal a bar shows the present part of an act. Elsewhere a line says it whenever nothing was printed for
:data:`SILENT_S` seconds, so that nobody takes a long part for a hang.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Self

from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from offramp_base.progress import listen
from offramp_cli.plain_console import PlainConsole

WIDTH: Final = 80
"""Columns where the output is not a terminal."""
SILENT_S: Final = 5.0
"""Longest silence where there is no bar."""
_LOOK_S: Final = 0.1


class StageConsole(PlainConsole):
    """A console whose status is the present part of an act: two live displays would be in each other's way."""

    stage: DemoStage

    def print(self, *objects: Any, **options: Any) -> None:
        """Print, and note when."""
        super().print(*objects, **options)
        self.stage.printed_s = time.monotonic()

    def status(self, status: Any, **_: Any) -> Any:
        """Name the present part of the act until the context ends; the result has ``update``, as rich's has."""
        return _Status(self.stage, str(status))


class _Status:
    """A name of a part of an act, for a while."""

    def __init__(self, stage: DemoStage, name: str) -> None:
        self._stage, self._name = stage, name

    def __enter__(self) -> Self:
        self.update(self._name)
        return self

    def __exit__(self, *_: object) -> None:
        self._stage.part("")

    def update(self, name: str) -> None:
        """Name the part that has begun."""
        self._stage.part(name)


class DemoStage:
    """The display of acts.

    Args:
        console: prints; one is made if there is none.
        silent_s: longest silence where there is no bar.

    Attributes:
        console: console for the acts' own lines and tables.
        printed_s: when something was last printed, by the monotonic clock.
    """

    def __init__(self, console: StageConsole | None = None, silent_s: float = SILENT_S) -> None:
        self.console = console or StageConsole()
        if not self.console.is_terminal:
            self.console.width = WIDTH
        self.console.stage = self
        self.printed_s = time.monotonic()
        self._silent_s = silent_s
        self._name, self._part, self._begun_s = "", "", time.monotonic()
        columns = (TextColumn("{task.description}"), BarColumn(20), TimeElapsedColumn())
        self._bar = Progress(
            *columns, console=self.console, transient=True, disable=not self.console.is_terminal, expand=False
        )
        self._task = self._bar.add_task("", total=None, visible=False)

    @property
    def elapsed_s(self) -> float:
        """Seconds since the act began."""
        return time.monotonic() - self._begun_s

    @contextmanager
    def act(self, number: int, of: int, name: str, title: str, question: str) -> Iterator[None]:
        """Announce an act, and show its progress meanwhile; a thread prints lines where there is no bar."""
        self._begun_s = time.monotonic()
        self.console.print(f"\n[bold]Act {number} of {of}, {name}: {escape(title)}[/]\n{escape(question)}", markup=True)
        self._name, self._part = name, ""
        ended = threading.Event()
        teller = threading.Thread(target=self._tell, args=(ended,), daemon=True)
        if not self.console.is_terminal:
            teller.start()
        self._bar.reset(self._task, description=name, total=None, visible=True)
        try:
            with self._bar, listen(self.advance):
                yield
        finally:
            ended.set()
            if teller.ident is not None:
                teller.join()
            self._name = ""

    def part(self, name: str) -> None:
        """Name the part of the act that begins; empty: none."""
        self._part = name
        self._show(name, None, None)

    def advance(self, name: str, done: int, total: int) -> None:
        """Show the progress of a part."""
        self._part = f"{name} {done:,}/{total:,}"
        self._show(name, done, total)

    def _show(self, name: str, done: int | None, total: int | None) -> None:
        described = f"{self._name}: {name}" if name else self._name
        room = max(20, self.console.width - 32)
        self._bar.update(
            self._task, description=escape(described[:room]), total=total, completed=done if done is not None else 0
        )

    def _tell(self, ended: threading.Event) -> None:
        while not ended.wait(_LOOK_S):
            if time.monotonic() - self.printed_s >= self._silent_s:
                line = f"  {self._name} {self.elapsed_s:.0f} s: {self._part or 'working'}"
                self.console.print(line[: self.console.width], soft_wrap=True)
                self.console.file.flush()
