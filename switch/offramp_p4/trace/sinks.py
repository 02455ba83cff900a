# SPDX-License-Identifier: Apache-2.0
"""Destinations for the traces of a running switch: a readable log, and JSON lines."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from offramp_base.errors import OfframpError
from offramp_p4.trace.bmv2_lines import LEVELS, lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from offramp_p4.trace.model import PacketTrace


class TraceSink:
    """Writes each trace as soon as its packet has left.

    Args:
        log: file for trees; ``-`` is the standard output, None writes none.
        lines: file for JSON lines, None writes none.
        like_bmv2: the log has the lines of bmv2's ``--log-console`` in place of trees.
        levels: letters of the levels of those lines.
        further: another sink of the same traces; None: there is none.

    Raises:
        OfframpError: a file cannot be written.
    """

    def __init__(
        self,
        log: str | None,
        lines: str | None,
        *,
        like_bmv2: bool = False,
        levels: str = LEVELS,
        further: Callable[[PacketTrace], object] | None = None,
    ) -> None:
        from rich.console import Console

        self._further, self.levels = further, levels
        self.full = getattr(further, "full", False)

        file = None if log is None else _open(log)
        self._text = file if like_bmv2 else None
        self._trees = None if file is None or like_bmv2 else Console(file=file, highlight=False, soft_wrap=True)
        self._lines = None if lines is None else _open(lines)

    @property
    def lines_alone(self) -> Callable[[memoryview], object] | None:
        """What writes lines of the log, if nothing else is wanted: then the native engine can make them."""
        alone = self._text is not None and self._lines is None and self._further is None
        return self._write_bytes if alone else None

    @property
    def outlines_alone(self) -> Callable[[PacketTrace], object] | None:
        """The further sink, if it is the only one and wants outlines alone: then the native engine can make them."""
        alone = self._text is None and self._trees is None and self._lines is None
        return self._further if alone and getattr(self._further, "outlines", False) else None

    def _write_bytes(self, lines: memoryview) -> None:
        """Write lines in UTF-8, at once."""
        assert self._text is not None
        binary = getattr(self._text, "buffer", None)
        if binary is None:
            self._write(str(lines, "utf-8"))
            return
        self._text.flush()
        while lines:  # without a buffer (``python -u``) a pipe may take less
            lines = lines[binary.write(lines) or 0 :]
        binary.flush()

    def _write(self, text: str) -> None:
        assert self._text is not None
        self._text.write(text)
        self._text.flush()

    def __call__(self, trace: PacketTrace) -> None:
        """Write one trace."""
        from offramp_p4.trace.render import tree

        if self._further is not None:
            self._further(trace)
        if self._trees is not None:
            self._trees.print(tree(trace))
        if self._text is not None:
            self._write("".join(f"{line}\n" for line in lines(trace, datetime.now(UTC), self.levels)))
        if self._lines is not None:
            self._lines.write(json.dumps(trace.to_json()) + "\n")


def _open(name: str) -> TextIO:
    if name == "-":
        return sys.stdout
    try:
        return Path(name).open("w", encoding="utf-8", buffering=1)
    except OSError as error:
        raise OfframpError(f"{name}: cannot be written: {error.strerror}") from None
