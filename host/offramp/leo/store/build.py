# SPDX-License-Identifier: Apache-2.0
"""The folder of libofframp, which is built from its sources when first needed."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from offramp.cmake import build_once, cpp_sources, kept_folder, missing_tools, own_file, require_tools
from offramp_base.private_folder import make_cache

LIBRARY: Final = "libofframp.so"
LOAD_GENERATOR: Final = "offramp-store-load"


def source_root() -> Path:
    """The folder of the store's sources.

    Raises:
        OfframpError: the installation lacks them.
    """
    return cpp_sources() / "store"


def missing() -> list[str]:
    """Debian packages that a build needs and the machine lacks."""
    return missing_tools()


def cache_folder(variant: str = "release") -> Path:
    """Folder in which a build of these sources is kept."""
    return kept_folder("store", source_root(), variant, installs=True)


def build(folder: Path | None = None, options: tuple[str, ...] = ()) -> Path:
    """Build the library unless it is built already; returns the folder with it.

    Args:
        folder: folder of the build; by default one in the user's cache, named by the sources' contents.
        options: options for CMake.

    Raises:
        OfframpError: a needed package is missing (the message names it), or the build fails.
    """
    require_tools("libofframp")
    if folder is None:
        folder = cache_folder()
        make_cache(folder)
    build_once(source_root(), folder, options)
    return folder


def built(name: str, folder: Path | None = None) -> Path:
    """Path of a file of the build, which is built if it does not exist.

    Raises:
        OfframpError: as :func:`build`; or the one in the cache is not this user's alone to write.
    """
    path = build(folder) / name
    return own_file(path) if folder is None else path
