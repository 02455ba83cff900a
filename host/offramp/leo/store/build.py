# SPDX-License-Identifier: Apache-2.0
"""Where libofframp is, built from its sources when it is first needed."""

from __future__ import annotations

import fcntl
import shutil
from pathlib import Path
from typing import Final

from offramp.cmake import kept_folder, run_cmake
from offramp.nic.build import source_root as nic_sources
from offramp_base.errors import OfframpError
from offramp_base.private_folder import check_owned, check_way, make_private

LIBRARY: Final = "libofframp.so"
LOAD_GENERATOR: Final = "offramp-store-load"
TOOLS: Final = {"cmake": "cmake", "ninja": "ninja-build", "g++": "g++"}
"""Commands that a build needs, and the Debian packages that they are in."""


def source_root() -> Path:
    """The folder of the store's sources.

    Raises:
        OfframpError: the installation lacks them.
    """
    return nic_sources() / "store"


def missing() -> list[str]:
    """Debian packages that a build lacks."""
    return [package for tool, package in TOOLS.items() if shutil.which(tool) is None]


def cache_folder(variant: str = "release") -> Path:
    """Where a build of these sources is kept."""
    return kept_folder("store", source_root(), variant)


def build(folder: Path | None = None, options: tuple[str, ...] = ()) -> Path:
    """Build the library unless that is done; the folder with it.

    Args:
        folder: of the build; by default one in the user's cache, by the sources' contents.
        options: for CMake.

    Raises:
        OfframpError: something needed is missing, naming the package, or it does not build.
    """
    if lacking := missing():
        raise OfframpError(f"building libofframp needs {', '.join(lacking)}: apt-get install {' '.join(lacking)}")
    if folder is None:
        folder = cache_folder()
        make_private(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another command may be building the same
        if not (folder / "complete").exists():
            run_cmake(source_root(), folder, options)
            (folder / "complete").touch()
    return folder


def built(name: str, folder: Path | None = None) -> Path:
    """A file of the build, built if it is not there.

    Raises:
        OfframpError: as :func:`build`; or the one in the cache is not this user's alone to write.
    """
    made = build(folder) / name
    if folder is None:
        check_owned(made.parent, folder=True)
        check_way(made.parent)
        check_owned(made.resolve(), folder=False)
    return made
