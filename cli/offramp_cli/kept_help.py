# SPDX-License-Identifier: Apache-2.0
"""The page of ``offramp --help``, kept between processes: what draws it takes longer to import than all the rest."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any, Final

from offramp_base.kept_files import KeptFiles
from offramp_base.private_folder import user_cache

KEPT: Final = KeptFiles("help", lambda: user_cache() / "offramp" / "help", ".txt", most_files=32, most_bytes=1 << 20)
"""Pages of this user, ``offramp/help`` in the user's cache folder."""
_SOURCES: Final = ("tree.py", "app.py", "command.py")
_DRAWN_BY: Final = ("typer-", "rich-")
_DRAWN_LIKE: Final = ("TERM", "NO_COLOR", "FORCE_COLOR", "COL", "PY", "LC_", "LANG", "TTY_", "_TYPER", "GITHUB_ACTIONS")
"""Beginnings of the variables that decide on colours, widths and letters."""


class _Copied:
    """Standard output, of which a copy is kept."""

    def __init__(self) -> None:
        self._out, self.copy = sys.stdout, StringIO()

    def write(self, text: str) -> int:
        """Write a text to both."""
        self.copy.write(text)
        return self._out.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._out, name)


@contextmanager
def help_kept(words: Sequence[str]) -> Iterator[bool]:
    """Print the page of the whole command if it is kept, which is what is yielded; otherwise keep what is printed.

    Args:
        words: the command line; with any other words nothing is kept.
    """
    if list(words[1:]) not in (["--help"], ["-h"]) or sys.stdout is None:
        yield False
        return
    key = _key(words[0])
    kept = KEPT.get(key)
    if kept is not None:
        sys.stdout.write(kept.decode())
        yield True
        return
    copied = _Copied()
    sys.stdout = copied
    try:
        yield False
    except SystemExit as end:
        if not end.code:
            KEPT.put(key, copied.copy.getvalue().encode())
        raise
    finally:
        sys.stdout = copied._out


def _key(program: str) -> str:
    """The command's sources, the versions of what draws the page, and all that decides how."""
    here = Path(__file__).parent
    sources = hashlib.sha256(b"\0".join((here / name).read_bytes() for name in _SOURCES)).hexdigest()
    spec = find_spec("typer")
    beside = Path(spec.origin).parents[1] if spec is not None and spec.origin else here
    versions = sorted(path.name for path in beside.iterdir() if path.name.startswith(_DRAWN_BY))
    like = sorted((name, value) for name, value in os.environ.items() if name.startswith(_DRAWN_LIKE))
    out = (sys.stdout.isatty(), sys.stdout.encoding, [_width(number) for number in range(3)])
    return repr((sources, versions, like, out, Path(program).name))


def _width(number: int) -> int | None:
    """The columns of the terminal behind a descriptor; None: it is no terminal."""
    try:
        return os.get_terminal_size(number).columns
    except OSError:
        return None
