# SPDX-License-Identifier: Apache-2.0
"""Machine code kept between processes: one file for each key in the user's cache folder."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from offramp_base.kept_files import KeptFiles
from offramp_base.private_folder import user_cache

MOST_FILES: Final = 2048
"""Most files that the folder keeps."""


def cache_folder() -> Path:
    """``offramp/p4`` in the user's cache folder (XDG Base Directory Specification)."""
    return user_cache() / "offramp" / "p4"


class ObjectCache(KeptFiles):
    """Machine code by key, in :func:`cache_folder` or another folder."""

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__("machine code", lambda: folder or cache_folder(), ".o", most_files=MOST_FILES)

    def peek(self, key: str) -> bytes | None:
        """The bytes kept for ``key`` now, or None; a cache whose contents are still being made does not wait."""
        return super().get(key)
