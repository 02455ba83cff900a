# SPDX-License-Identifier: Apache-2.0
"""Results that processes of one user share: one file per key, in a private folder."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from offramp_base.errors import OfframpError
from offramp_base.private_folder import NoHomeFolder, check_owned, check_way, make_private, read_owned

_DIGEST: Final = 32
_UNBOUNDED: Final = 1 << 40
_REFUSED: Final[set[str]] = set()
_LOG: Final = logging.getLogger(__name__)


class KeptFiles:
    """Bytes by key. A file that is damaged, of another key or unreadable counts as absent; writing may fail silently.

    What is kept is trusted. A folder that is not this user's alone is not used, nor a file in it that is somebody
    else's; the log has one line for each.

    Files are written aside and renamed, so that processes at the same time see whole files only. A file
    begins with the digest of its key and contents.

    Args:
        what: what is kept, for the log.
        folder: gives the folder; it may raise :class:`~offramp_base.private_folder.NoHomeFolder`.
        suffix: suffix of the files' names.
        most_files: most files that the folder keeps; the least recently used go first.
        most_bytes: most bytes that they have together.
    """

    def __init__(
        self, what: str, folder: Callable[[], Path], suffix: str, *, most_files: int, most_bytes: int = _UNBOUNDED
    ) -> None:
        self._what, self._folder, self._suffix = what, folder, suffix
        self._most_files, self._most_bytes = most_files, most_bytes

    def get(self, key: str) -> bytes | None:
        """The bytes stored for ``key``, or None."""
        try:
            path = self._path(key)
            check_owned(path.parent, folder=True)
            check_way(path.parent)
            content = read_owned(path)
        except (OSError, NoHomeFolder):
            return None
        except OfframpError as error:
            self._refuse(error)
            return None
        payload = content[_DIGEST:]
        if not payload or content[:_DIGEST] != _digest(key, payload):
            return None
        with contextlib.suppress(OSError):
            os.utime(path, follow_symlinks=False)  # what is used stays
        return payload

    def put(self, key: str, payload: bytes | bytearray) -> None:
        """Store ``payload`` for ``key``, if the folder can be written and holds as much."""
        if len(payload) > self._most_bytes:
            return
        try:
            path = self._path(key)
            make_private(path.parent)
            handle, name = tempfile.mkstemp(dir=path.parent)
        except (OSError, NoHomeFolder):
            return
        except OfframpError as error:
            self._refuse(error)
            return
        aside = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_digest(key, payload))
                file.write(payload)
            aside.replace(path)
            self._prune(path.parent)
        except OSError:
            aside.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self._folder() / f"{hashlib.sha256(key.encode()).hexdigest()}{self._suffix}"

    def _refuse(self, error: OfframpError) -> None:
        if str(error) not in _REFUSED:
            _REFUSED.add(str(error))
            _LOG.warning("cache of %s: %s", self._what, error)

    def _prune(self, folder: Path) -> None:
        paths = list(folder.glob(f"*{self._suffix}"))
        if len(paths) <= self._most_files and self._most_bytes == _UNBOUNDED:
            return  # without a look at each of them
        files = [(file, file.stat()) for file in paths]
        files.sort(key=lambda one: one[1].st_mtime_ns, reverse=True)
        size = 0
        for number, (file, status) in enumerate(files):
            size += status.st_size
            if number >= self._most_files or (number and size > self._most_bytes):
                file.unlink(missing_ok=True)


def _digest(key: str, payload: bytes | bytearray) -> bytes:
    digest = hashlib.sha256(key.encode() + b"\0")
    digest.update(payload)
    return digest.digest()
