# SPDX-License-Identifier: Apache-2.0
"""Source positions and the one error type of the P4 front end."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from offramp_base.errors import MultilineError

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Pos:
    """A place in a source file; line and column count from 1, and line 0 stands for the whole file."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


NOWHERE = Pos("<built-in>", 0, 0)


class P4Error(MultilineError):
    """A fault in a P4 program: position, what is wrong, and the line with a caret.

    ``str()`` gives ``file:line:column: error: message`` and, when the file can be read, the source line
    and a caret below the column.
    """

    def __init__(self, pos: Pos, message: str) -> None:
        self.pos = pos
        self.message = message
        super().__init__(render(pos, message))


class Unsupported(P4Error):
    """A construct that is valid P4 but that this switch does not execute; refused when the program is loaded."""

    def __init__(self, pos: Pos, construct: str) -> None:
        self.construct = construct
        super().__init__(pos, f"not supported: {construct}")


_TEXTS: dict[str, str] = {}
_ONLY: ContextVar[dict[str, str] | None] = ContextVar("_ONLY", default=None)
"""The texts that messages may quote; None: those remembered, and local files."""
_LINE: Final = 200
_MESSAGE: Final = 1000
"""Characters of a quoted line and of a message; what is longer is cut."""


@contextmanager
def quoting_only_given() -> Iterator[None]:
    """Within it messages quote the texts given to :func:`remember_text` since, and never open a file.

    For programs that come from elsewhere: a line marker may name any file of this machine.
    """
    token = _ONLY.set({})
    try:
        yield
    finally:
        _ONLY.reset(token)


def remember_text(file: str, text: str) -> None:
    """Keep the text of a source that is not a readable file (a string, a P4Runtime device config)."""
    only = _ONLY.get()
    if only is not None:
        only[file] = text
        return
    _TEXTS[file] = text
    _lines.cache_clear()


@lru_cache(maxsize=16)
def _lines(file: str) -> list[str]:
    if file in _TEXTS:
        return _TEXTS[file].splitlines()
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
    except (OSError, ValueError):
        return []


def render(pos: Pos, message: str, severity: str = "error") -> str:
    """``file:line:column: severity: message`` and, when the file can be read, the line with a caret."""
    if len(message) > _MESSAGE:
        message = f"{message[:_MESSAGE]} …"
    head = f"{pos}: {severity}: {message}"
    only = _ONLY.get()
    lines = _lines(pos.file) if only is None else only.get(pos.file, "").splitlines()
    if not 1 <= pos.line <= len(lines):
        return head
    first = max(0, pos.column - _LINE) if len(lines[pos.line - 1]) > _LINE else 0
    line = lines[pos.line - 1][first : first + 2 * _LINE]
    # Tabs before the caret are kept as tabs, so that the caret stands below its column on any terminal.
    pad = "".join("\t" if c == "\t" else " " for c in line[: pos.column - 1 - first])
    return f"{head}\n    {line}\n    {pad}^"
