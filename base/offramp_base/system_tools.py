# SPDX-License-Identifier: Apache-2.0
"""Paths of the system's tools: Debian keeps ``tc`` and ``bridge`` in folders that users do not have on PATH."""

from __future__ import annotations

import os
from typing import Final

SYSTEM_FOLDERS: Final = ("/usr/local/sbin", "/usr/sbin", "/sbin")


def search_system_folders() -> None:
    """Append the folders of the system's tools to PATH, for this process and those that it starts."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    os.environ["PATH"] = os.pathsep.join([*folders, *(each for each in SYSTEM_FOLDERS if each not in folders)])
