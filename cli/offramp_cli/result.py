# SPDX-License-Identifier: Apache-2.0
"""The result of a command as JSON: ``--json FILE``, or ``--json -`` for standard output."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from offramp_base import Field, SettingsError
from offramp_base.extras import fallbacks, needs

_STDOUT = Path("-")
_FORMATS = (
    "",
    "png",
    "svg",
    "pdf",
    "svgz",
    "eps",
    "ps",
    "jpg",
    "jpeg",
    "tif",
    "tiff",
    "webp",
)
"""Formats that Matplotlib writes; a name without an ending means PNG."""
OUTPUT = "Output"
"""Heading of the options that name files to write."""


@dataclass(frozen=True)
class Result:
    """The option ``--json``; with ``-``, output for people goes to standard error."""

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
        import json

        done = {"fallbacks": fallbacks()} if fallbacks() else {}
        self._write(json.dumps({"schema": schema, **content, **done}, indent=2) + "\n")

    def write_lines(self, schema: str, contents: Iterable[Mapping[str, Any]]) -> None:
        """Write results as JSON lines, each under the name and version of its schema.

        Raises:
            SettingsError: the file cannot be written.
        """
        import json

        if self.json is not None:
            self._write("".join(json.dumps({"schema": schema, **content}) + "\n" for content in contents))

    def _write(self, text: str) -> None:
        assert self.json is not None
        if self.on_stdout:
            self.__dict__["_stdout"].write(text)
        else:
            write_file("json", self.json, text)


@dataclass(frozen=True)
class Plotted(Result):
    """The options ``--plot`` and ``--json``."""

    plot: Annotated[
        Path | None, Field("Draw the result into this file: .png, .svg or .pdf", group=OUTPUT, written=True)
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.plot is None:
            return
        if self.plot.suffix[1:] not in _FORMATS:
            raise SettingsError("plot", "expected a name that ends in .png, .svg or .pdf", str(self.plot))
        if find_spec("matplotlib") is None:
            raise SettingsError("plot", needs("matplotlib"))

    def draw(self, draw: Callable[[Path], None]) -> None:
        """Draw the picture, if one is asked for, and print its path."""
        if self.plot is not None:
            draw(self.plot)
            print(f"plot: {self.plot}")  # noqa: T201


def expect_writable(field: str, name: str | Path | None, *, folder: bool = False, url: bool = False) -> None:
    """Refuse a file or folder that cannot be made, before hours go into its contents.

    Raises:
        SettingsError: its parent is missing or not writable, or the file is a folder, or the folder a file; with
            ``url``, a URL whose protocol has no package here.
    """
    if url and name is not None and "://" in str(name):
        from offramp.train.locations import CheckpointLocation

        CheckpointLocation.of(field, str(name))
        return
    if name is None or (Path(name) == _STDOUT and not folder):
        return
    path = Path(name)
    inside = next(one for one in (path, *path.absolute().parents) if one.exists()) if folder else path.parent
    if path.is_dir() and not folder:
        reason = errno.EISDIR
    elif not inside.is_dir():
        reason = errno.ENOTDIR if inside.exists() else errno.ENOENT
    elif not os.access(inside, os.W_OK):
        reason = errno.EACCES
    else:
        return
    raise _cannot(field, path, os.strerror(reason))


def _cannot(field: str, path: Path, reason: str | None) -> SettingsError:
    return SettingsError(field, f"cannot be written: {reason}", str(path))


def write_file(field: str, path: Path, text: str) -> None:
    """Write the file that a field names.

    Raises:
        SettingsError: the file cannot be written.
    """
    from offramp_base.ending.files import write_text

    try:
        write_text(path, text)
    except OSError as error:
        raise _cannot(field, path, error.strerror) from None
