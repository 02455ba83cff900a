# SPDX-License-Identifier: Apache-2.0
"""The options of commands that read a P4 program, and what they share."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from offramp_base.ending import files
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp_p4 import ir

Program = Annotated[Path, typer.Argument(help="P4-16 source for v1model.")]
Include = Annotated[list[Path] | None, typer.Option("-I", "--include", help="Folder for #include.")]
Engine = Annotated[
    str, typer.Option("--engine", help="native (machine code), python (readable, traces) or auto: native where it can.")
]
Define = Annotated[list[str] | None, typer.Option("-D", "--define", help="Macro, as NAME or NAME=VALUE.")]


def load_program(program: Path, include: Iterable[Path] | None, define: Iterable[str] | None) -> ir.Program:
    """The program that a command names, in its intermediate representation."""
    from offramp_p4.frontend import load

    return load(program, include=list(include or ()), defines=dict(macro(text) for text in define or ()))


def macro(text: str) -> tuple[str, str]:
    """The name and the value of a ``--define``."""
    name, equals, value = text.partition("=")
    if not name.isidentifier():
        raise OfframpError(f"--define {text}: expected NAME or NAME=VALUE")
    return name, value if equals else "1"


def is_folder(path: Path) -> bool:
    """Whether there is such a folder; not if the name cannot be one's."""
    try:
        return path.is_dir()
    except OSError:
        return False


def read_text(path: Path) -> str:
    """The text of a file that the user names."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file in UTF-8"
        raise OfframpError(f"{path}: cannot be read: {reason}") from None


def write_text(flag: str, path: Path, text: str) -> None:
    """Write what an option asks for; ``flag`` names the option."""
    try:
        files.write_text(path, text)
    except OSError as error:
        raise OfframpError(f"{flag} {path}: cannot be written: {error.strerror}") from None


def write_json(flag: str, path: Path, value: Any) -> None:
    """The same for a value as JSON."""
    write_text(flag, path, json.dumps(value, indent=2) + "\n")
