# SPDX-License-Identifier: Apache-2.0
"""P4-16 source to IR: preprocess, lex, parse, check, elaborate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from offramp_p4.frontend.check.program import Elaborator
from offramp_p4.frontend.check.targets import check_target
from offramp_p4.frontend.syntax.declarations import Parser
from offramp_p4.frontend.syntax.includes import FolderIncludes, Includes, OwnIncludes
from offramp_p4.frontend.syntax.preprocess import Preprocessor, flatten
from offramp_p4.source import P4Error, Pos

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from offramp_p4 import ir

__all__ = ["load", "load_pushed", "load_text"]


def load(
    path: str | Path,
    *,
    include: Sequence[Path] = (),
    defines: Mapping[str, str] | None = None,
    includes: Includes | None = None,
) -> ir.Program:
    """Read a P4-16 program from a file.

    Args:
        path: the source; quoted includes are looked up beside it, then in ``include``, then built in.
        include: folders for ``#include``.
        defines: macros, as ``-DNAME=VALUE``.
        includes: finds the files of ``#include`` in place of ``include``.

    Raises:
        P4Error: a fault in the program, with its place; also when the file cannot be read.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise P4Error(Pos(str(path), 0, 0), f"cannot read the program: {error.strerror}") from None
    except ValueError:  # UnicodeDecodeError, or a name that no file can have
        raise P4Error(Pos(str(path), 0, 0), "this is not a text file in UTF-8") from None
    return _load(text, str(path), file.parent, includes or FolderIncludes(include), defines)


def load_text(
    text: str,
    name: str = "<text>",
    *,
    include: Sequence[Path] = (),
    defines: Mapping[str, str] | None = None,
) -> ir.Program:
    """Load a program from memory; ``name`` stands for the file in messages."""
    return _load(text, name, None, FolderIncludes(include), defines)


def load_pushed(text: str, name: str) -> ir.Program:
    """Load a program that came from elsewhere: it includes our own headers only.

    To keep messages from quoting files, call it within :func:`offramp_p4.source.quoting_only_given`.
    """
    return _load(text, name, None, OwnIncludes(), None)


def _load(
    text: str, name: str, folder: Path | None, includes: Includes, defines: Mapping[str, str] | None
) -> ir.Program:
    try:
        tokens = Preprocessor(includes, defines).run(text, name, folder)
        program = Elaborator().run(Parser(tokens).program(), name, flatten(tokens))
        check_target(program)
    except RecursionError:
        raise P4Error(Pos(name, 1, 1), "the program is nested too deeply") from None
    return program
