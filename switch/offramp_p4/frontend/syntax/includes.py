# SPDX-License-Identifier: Apache-2.0
"""The search for ``#include``: in folders of this machine, or among our own headers only; and installed externs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from offramp_base.errors import OfframpError
from offramp_p4.externs import find_declaration
from offramp_p4.source import P4Error, Pos

if TYPE_CHECKING:
    from collections.abc import Sequence

SYSTEM_INCLUDE: Final = Path(__file__).parents[2] / "include"
"""The headers of the language and of the architectures."""


@dataclass(frozen=True, slots=True)
class Included:
    """A file that an ``#include`` names.

    Attributes:
        name: how messages name it.
        identity: the same for the same file, however it was named.
        folder: folder in which its own quoted includes are looked up first; None: none.
        built_in: whether it is one of Offramp's headers.
    """

    text: str
    name: str
    identity: str
    folder: Path | None
    built_in: bool = False


class Includes(Protocol):
    """Finds the file of an ``#include``."""

    def find(self, name: str, folder: Path | None, pos: Pos) -> Included:
        """The file called ``name``; ``folder`` comes first.

        Raises:
            P4Error: at ``pos``; there is none, or the program may not read it.
        """


class FolderIncludes:
    """Any file that the user may read: of a program on the user's own machine.

    Attributes:
        files: digests of the contents of the files that were read, and None for those that were not there.
        installed: whether a declaration came from an installed package, not from a file.
    """

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self._folders = [*folders, SYSTEM_INCLUDE]
        self.files: dict[str, str | None] = {}
        self.installed = False

    def find(self, name: str, folder: Path | None, pos: Pos) -> Included:
        """The first file called ``name``, in ``folder``, the given folders, and those built in."""
        candidates = [*([folder] if folder else []), *self._folders]
        for base in candidates:
            path = base / name
            try:
                self.files.setdefault(str(path.absolute()), None)
                if path.is_file():
                    data = path.read_bytes()
                    self.files[str(path.absolute())] = hashlib.sha256(data).hexdigest()
                    text = _lines(data.decode(errors="replace"))
                    ours = path.is_relative_to(SYSTEM_INCLUDE)
                    return Included(text, str(path), str(path.resolve()), path.parent, built_in=ours)
            except (OSError, ValueError) as error:
                reason = error.strerror if isinstance(error, OSError) else "this is not a name of a file"
                raise P4Error(pos, f"include file '{name}' cannot be read: {reason}") from None
        installed = _declaration(name, pos)
        if installed is not None:
            self.installed = True
            return installed
        where = ", ".join(str(c) for c in candidates if c != SYSTEM_INCLUDE) or "no folders"
        raise P4Error(pos, f"include file '{name}' not found (looked in {where} and the built-in includes)")


class OwnIncludes:
    """The built-in headers and installed externs, nothing else: of a program that a controller has pushed.

    A name is looked up in a list, never in a file system, so the answer says nothing about this machine.
    """

    def find(self, name: str, folder: Path | None, pos: Pos) -> Included:
        """The built-in header called ``name``, seen from the built-in folder that includes it."""
        candidates = [*([(folder / name).as_posix()] if folder else []), name]
        for known in candidates:
            path = _own().get(known)
            if path is not None:
                text = path.read_text(encoding="utf-8")
                return Included(text, f"<{known}>", known, Path(known).parent, built_in=True)
        installed = _declaration(name, pos)
        if installed is not None:
            return installed
        raise P4Error(pos, f"include refused: a pushed program may include {_named()} only")


def _lines(text: str) -> str:
    """The text with the line ends that reading a text file leaves."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _declaration(name: str, pos: Pos) -> Included | None:
    """The declaration of an extern that an installed package brings."""
    try:
        text = find_declaration(name)
    except OfframpError as error:
        raise P4Error(pos, str(error)) from None
    return None if text is None else Included(text, f"<{name}>", f"extern {name}", None)


@cache
def _own() -> dict[str, Path]:
    files = sorted(path for path in SYSTEM_INCLUDE.rglob("*.p4") if path.is_file() and not path.is_symlink())
    return {path.relative_to(SYSTEM_INCLUDE).as_posix(): path for path in files}


def _named() -> str:
    return ", ".join(name for name in _own() if "/" not in name)
