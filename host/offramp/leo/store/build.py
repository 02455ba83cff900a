# SPDX-License-Identifier: Apache-2.0
"""Where libofframp is, built from its sources when it is first needed."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from offramp.cmake import build_once, kept_folder, missing_tools, own_file, require_tools
from offramp.nic.build import source_root as nic_sources
from offramp_base.private_folder import make_private

LIBRARY: Final = "libofframp.so"
LOAD_GENERATOR: Final = "offramp-store-load"


def source_root() -> Path:
    """The folder of the store's sources.

    Raises:
        OfframpError: the installation lacks them.
    """
    return nic_sources() / "store"


def missing() -> list[str]:
    """Debian packages that a build lacks."""
    return missing_tools()


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
    require_tools("libofframp")
    if folder is None:
        folder = cache_folder()
        make_private(folder)
    build_once(source_root(), folder, options)
    return folder


def built(name: str, folder: Path | None = None) -> Path:
    """A file of the build, built if it is not there.

    Raises:
        OfframpError: as :func:`build`; or the one in the cache is not this user's alone to write.
    """
    made = build(folder) / name
    return own_file(made) if folder is None else made
