# SPDX-License-Identifier: Apache-2.0
"""Machine code kept between processes: one file for each key in the user's cache folder."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import tempfile
from pathlib import Path
from typing import Final

from offramp_base.errors import OfframpError
from offramp_base.private_folder import NoHomeFolder, check_owned, check_way, make_private, read_owned, user_cache

_DIGEST: Final = 32
MOST_FILES: Final = 256
"""Most files that the folder keeps; the least recently used go first."""
_REFUSED: Final[set[str]] = set()
_LOG: Final = logging.getLogger(__name__)


def cache_folder() -> Path:
    """``offramp/p4`` in the user's cache folder (XDG Base Directory Specification)."""
    return user_cache() / "offramp" / "p4"


class ObjectCache:
    """Bytes by key. A file that is damaged, of another key or unreadable counts as absent; writing may fail silently.

    What is kept is run. A folder that is not this user's alone is not used, nor a file in it that is somebody else's;
    a line in the log says so, once for each.

    Files are written aside and renamed, so that processes at the same time see whole files only. A file
    begins with the digest of its key and contents.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

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
            _refuse(error)
            return None
        payload = content[_DIGEST:]
        if not payload or content[:_DIGEST] != _digest(key, payload):
            return None
        with contextlib.suppress(OSError):
            os.utime(path, follow_symlinks=False)  # what is used stays
        return payload

    def put(self, key: str, payload: bytes) -> None:
        """Store ``payload`` for ``key``, if the folder can be written."""
        try:
            path = self._path(key)
            make_private(path.parent)
            handle, name = tempfile.mkstemp(dir=path.parent)
        except (OSError, NoHomeFolder):
            return
        except OfframpError as error:
            _refuse(error)
            return
        aside = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_digest(key, payload) + payload)
            aside.replace(path)
            _prune(path.parent)
        except OSError:
            aside.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        folder = self._folder or cache_folder()
        return folder / f"{hashlib.sha256(key.encode()).hexdigest()}.o"


def _refuse(error: OfframpError) -> None:
    if str(error) not in _REFUSED:
        _REFUSED.add(str(error))
        _LOG.warning("cache of machine code: %s", error)


def _prune(folder: Path) -> None:
    files = list(folder.glob("*.o"))
    if len(files) > MOST_FILES:
        files.sort(key=lambda file: file.stat().st_mtime_ns)
        for file in files[: len(files) - MOST_FILES]:
            file.unlink(missing_ok=True)


def _digest(key: str, payload: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\0" + payload).digest()
