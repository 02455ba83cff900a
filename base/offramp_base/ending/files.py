# SPDX-License-Identifier: Apache-2.0
"""Atomic writes: a file is there as a whole or not at all, whatever ends the process that writes it."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from offramp_base.ending.owner import PATTERN, is_left, owner


@contextmanager
def written(path: Path) -> Iterator[IO[bytes]]:
    """A binary file to write; at the end of the context it replaces ``path``, on disk.

    The file has no name while it is written. It is then synced, named and moved over ``path`` in one step, and its
    folder is synced. If the context raises, or the process is killed, ``path`` stays as it was. On a file system
    without unnamed files it has a temporary name beside ``path`` meanwhile; such files that killed processes have
    left are removed. A path that is not a regular file, such as ``/dev/stdout`` or a pipe, is written directly. A
    symbolic link stays, and its target is replaced.

    Raises:
        OSError: the file cannot be written.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    path = path.resolve()
    sweep_partial(path)
    partial = path.with_name(f".{path.name}.{owner()}")
    try:
        with _unnamed(path.parent) or partial.open("xb") as file:
            with contextlib.suppress(FileNotFoundError):
                os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
            if isinstance(file.name, int):
                os.link(f"/proc/self/fd/{file.fileno()}", partial, src_dir_fd=file.fileno(), follow_symlinks=True)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _unnamed(folder: Path) -> IO[bytes] | None:
    """A file without a name (``O_TMPFILE``, open(2)); None where the file system has none."""
    try:
        return os.fdopen(os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o666), "wb")
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL):
            return None
        raise


def write_text(path: Path, text: str, encoding: str = "utf-8") -> None:
    """Write a whole text file, as :func:`written` does.

    Raises:
        OSError: the file cannot be written.
    """
    with written(path) as file:
        file.write(text.encode(encoding))


def sweep_partial(path: Path) -> None:
    """Remove temporary files of ``path`` that ended processes of this user have left."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.{PATTERN}$")
    for partial in path.parent.iterdir():
        if is_left(partial.name, pattern):
            with contextlib.suppress(OSError):
                status = partial.lstat()
                if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
                    partial.unlink()


def _sync_folder(folder: Path) -> None:
    """Put the new name on disk, where the file system can."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):  # EINVAL: it cannot
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
