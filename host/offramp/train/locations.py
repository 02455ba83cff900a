# SPDX-License-Identifier: Apache-2.0
"""Places of checkpoints that fsspec opens by a URL: ``memory://``, ``file://``, ``s3://`` and others that it knows."""

from __future__ import annotations

import contextlib
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from offramp_base.documents import read_bytes
from offramp_base.ending.files import written
from offramp_base.errors import OfframpError, first_line
from offramp_base.extras import needs
from offramp_base.settings.error import SettingsError

_OBJECT_STORES: Final = frozenset({"s3", "gs", "az", "abfs", "oss", "oci"})
"""Protocols whose folders are prefixes of names; asked for a folder, they would make a missing bucket."""


def is_url(where: object) -> bool:
    """Whether a path is a URL for fsspec, ``PROTOCOL://…``."""
    return "://" in str(where)


@dataclass(frozen=True)
class CheckpointLocation:
    """A folder of a file system that fsspec opens.

    Attributes:
        field: setting that names it, for messages.
        url: the name, for messages.
        system: fsspec's file system.
        path: the folder's path in it.
    """

    field: str
    url: str
    system: Any
    path: str

    @classmethod
    def of(cls, field: str, url: str) -> CheckpointLocation:
        """The folder that a URL names; nothing is read or written.

        Raises:
            SettingsError: fsspec or the package of its protocol is missing, or there is no such protocol.
        """
        try:
            from fsspec.core import url_to_fs
            from fsspec.registry import known_implementations
        except ImportError:
            raise SettingsError(field, needs("fsspec"), url) from None
        try:
            system, path = url_to_fs(url)
        except ImportError:
            implementation = known_implementations.get(url.partition("://")[0], {"class": "fsspec"})["class"]
            raise SettingsError(field, needs(implementation.partition(".")[0]), url) from None
        except Exception as error:  # each file system of fsspec has its own
            raise SettingsError(field, f"expected a URL that fsspec opens: {first_line(error)}", url) from None
        return cls(field, url, system, path.rstrip("/"))

    def make(self, folder: str) -> None:
        """Make a folder in this one, where the file system has folders."""
        if _OBJECT_STORES & self._protocols:
            return
        with self._readable("written"):
            self.system.makedirs(posixpath.join(self.path, folder), exist_ok=True)

    def write(self, name: str, content: bytes) -> None:
        """Write a file as a whole: a reader sees all of it or the one before, also if this process is killed.

        A local file is synced and renamed; an object of a store appears when it is complete.

        Raises:
            SettingsError: it cannot be written.
        """
        path = posixpath.join(self.path, name)
        with self._readable("written"):
            if "file" in self._protocols:
                with written(Path(path)) as file:
                    file.write(content)
            else:
                self.system.pipe_file(path, content)

    def read(self, name: str, start: int | None = None, end: int | None = None, most: int | None = None) -> bytes:
        """The bytes ``start`` to ``end`` of a file, or all of them, at most ``most``.

        Raises:
            SettingsError: it cannot be read, or is larger.
        """
        path = posixpath.join(self.path, name)
        with self._readable("read", name):
            if most is not None and (self.system.size(path) or 0) > most:
                raise SettingsError(self.field, f"{name}: expected at most {most} bytes", self.url)
            content: bytes = self.system.cat_file(path, start=start, end=end)
        return content

    def folders(self) -> list[str]:
        """Names of what is in this folder, as the store has them now; empty where there is none."""
        self.system.invalidate_cache()
        try:
            return [posixpath.basename(name.rstrip("/")) for name in self.system.ls(self.path, detail=False)]
        except FileNotFoundError:
            return []

    def remove(self, name: str) -> None:
        """Remove a file, or a folder with all in it; one that is gone already is no error."""
        with self._readable("written"), contextlib.suppress(FileNotFoundError):
            self.system.rm(posixpath.join(self.path, name), recursive=True)

    @property
    def _protocols(self) -> frozenset[str]:
        names = self.system.protocol
        return frozenset((names,) if isinstance(names, str) else names)

    @contextlib.contextmanager
    def _readable(self, done: str, name: str = "") -> Iterator[None]:
        """One line for whatever a file system raises."""
        try:
            yield
        except OfframpError:
            raise
        except Exception as error:  # stores raise errors of their own packages
            reason = getattr(error, "strerror", None) or first_line(error) or type(error).__name__
            where = f"{name}: " if name else ""
            raise SettingsError(self.field, f"{where}cannot be {done}: {reason}", self.url) from None


def write_place(field: str, where: str | Path, content: bytes) -> None:
    """Write a file, or what a URL names, in one step.

    Raises:
        SettingsError: it cannot be written.
    """
    if is_url(where):
        folder, _, name = str(where).rpartition("/")
        CheckpointLocation.of(field, folder).write(name, content)
        return
    try:
        with written(Path(where)) as file:
            file.write(content)
    except OSError as error:
        raise SettingsError(field, f"cannot be written: {error.strerror}", where) from None


def read_place(field: str, where: str | Path, most: int = 1 << 36) -> bytes:
    """The content of a file, or of what a URL names, at most ``most`` bytes.

    Raises:
        SettingsError: it cannot be read, or is larger.
    """
    if is_url(where):
        folder, _, name = str(where).rpartition("/")
        return CheckpointLocation.of(field, folder).read(name, most=most)
    try:
        return read_bytes(Path(where), most)
    except OfframpError as error:
        raise SettingsError(field, str(error), where) from None
