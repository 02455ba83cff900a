"""Machine code kept between processes: one file for each key in the user's cache folder."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from typing import Final

_DIGEST: Final = 32
MOST_FILES: Final = 256
"""Files that the folder keeps; the oldest go first."""


def cache_folder() -> Path:
    """``offramp/p4`` in the user's cache folder (XDG Base Directory Specification)."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    return root / "offramp" / "p4"


class ObjectCache:
    """Bytes by key. A file that is damaged, of another key or unreadable counts as absent; writing may fail silently.

    Files are written aside and renamed, so that processes at the same time see whole files only. A file
    begins with the digest of its key and contents.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def get(self, key: str) -> bytes | None:
        """The bytes stored for ``key``, or None."""
        try:
            content = self._path(key).read_bytes()
        except (OSError, RuntimeError):
            return None
        payload = content[_DIGEST:]
        return payload if payload and content[:_DIGEST] == _digest(key, payload) else None

    def put(self, key: str, payload: bytes) -> None:
        """Store ``payload`` for ``key``, if the folder can be written."""
        try:
            path = self._path(key)
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, name = tempfile.mkstemp(dir=path.parent)
        except (OSError, RuntimeError):
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


def _prune(folder: Path) -> None:
    files = list(folder.glob("*.o"))
    if len(files) > MOST_FILES:
        files.sort(key=lambda file: file.stat().st_mtime_ns)
        for file in files[: len(files) - MOST_FILES]:
            file.unlink(missing_ok=True)


def _digest(key: str, payload: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\0" + payload).digest()
