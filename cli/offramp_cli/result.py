# SPDX-License-Identifier: Apache-2.0
"""The result of a command as JSON: ``--json FILE``, or ``--json -`` for standard output."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from offramp_base.ending.files import write_text
from offramp_base.settings.error import SettingsError
from offramp_base.settings.field import Field

_STDOUT = Path("-")
OUTPUT = "Output"
"""Heading of the options that name files to write."""


@dataclass(frozen=True)
class Result:
    """The option ``--json``; with ``-`` what the command prints for people goes to standard error."""

    json: Annotated[
        Path | None,
        Field("Write the result as JSON to this file, or to standard output (-).", group=OUTPUT, written=True),
    ] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "_stdout", sys.stdout)  # before it is redirected

    @property
    def on_stdout(self) -> bool:
        """Whether JSON goes to standard output."""
        return self.json == _STDOUT

    def write(self, schema: str, content: Mapping[str, Any]) -> None:
        """Write ``content``, if it is asked for, under the name and version of its ``schema``: ``offramp.train/1``.

        Raises:
            SettingsError: the file cannot be written.
        """
        if self.json is None:
            return
        text = json.dumps({"schema": schema, **content}, indent=2) + "\n"
        if self.on_stdout:
            self.__dict__["_stdout"].write(text)
            return
        try:
            write_text(self.json, text)
        except OSError as error:
            raise _cannot("json", self.json, error.strerror) from None


@dataclass(frozen=True)
class Plotted(Result):
    """The options ``--plot`` and ``--json``."""

    plot: Annotated[
        Path | None, Field("Draw the result into this file: .png, .svg or .pdf", group=OUTPUT, written=True)
    ] = None


def expect_writable(field: str, name: str | Path | None) -> None:
    """Refuse a file that cannot be made, before hours go into what it should hold.

    Raises:
        SettingsError: its folder is missing or closed to us, or it is a folder itself.
    """
    if name is None or Path(name) == _STDOUT:
        return
    path = Path(name)
    if path.is_dir():
        reason = errno.EISDIR
    elif not path.parent.is_dir():
        reason = errno.ENOTDIR if path.parent.exists() else errno.ENOENT
    elif not os.access(path.parent, os.W_OK):
        reason = errno.EACCES
    else:
        return
    raise _cannot(field, path, os.strerror(reason))


def _cannot(field: str, path: Path, reason: str | None) -> SettingsError:
    return SettingsError(field, f"cannot be written: {reason}", str(path))
