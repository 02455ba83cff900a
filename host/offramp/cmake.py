# SPDX-License-Identifier: Apache-2.0
"""Builds of C++ sources with CMake, kept in the user's cache by the place and the contents of the sources."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from offramp_base.errors import OfframpError
from offramp_base.private_folder import user_cache

_SOURCES: Final = (".c", ".cpp", ".h", ".hpp", ".cmake", ".in", ".service")


def kept_folder(name: str, root: Path, variant: str, without: Sequence[str] = ()) -> Path:
    """Where a build of the sources under ``root`` is kept.

    Args:
        name: of the folder in the cache.
        root: of the sources.
        variant: of the build.
        without: folders directly under ``root`` that do not belong to it.
    """
    digest = hashlib.sha256(f"{root.resolve()}\0".encode())  # where CMake installs headers from
    for path in sorted(root.rglob("*")):
        place = path.relative_to(root)
        if place.parts[0] not in without and (path.suffix in _SOURCES or path.name == "CMakeLists.txt"):
            digest.update(f"{place}\0".encode() + path.read_bytes() + b"\0")
    return user_cache() / "offramp" / name / f"{digest.hexdigest()[:16]}-{variant}"


def run_cmake(root: Path, folder: Path, options: Sequence[str] = (), target: str | None = None) -> None:
    """Build the sources under ``root`` in ``folder``.

    Args:
        root: with CMakeLists.txt.
        folder: of the build, made where it is not there.
        options: for CMake.
        target: what to build; None: all.

    Raises:
        OfframpError: it does not build; the first fault.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _forget_other_sources(root, folder)
    _run(["cmake", "-G", "Ninja", "-S", str(root), "-B", str(folder), *options])
    _run(["cmake", "--build", str(folder), *(["--target", target] if target else [])])


def _forget_other_sources(root: Path, folder: Path) -> None:
    """CMake refuses a build folder that another checkout of the same sources configured; it then begins anew."""
    cache = folder / "CMakeCache.txt"
    if cache.is_file() and f"CMAKE_HOME_DIRECTORY:INTERNAL={root}\n" not in cache.read_text(encoding="utf-8"):
        cache.unlink()
        shutil.rmtree(folder / "CMakeFiles", ignore_errors=True)


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        faults = [line for line in lines if "error:" in line.lower()] or lines[-1:]
        raise OfframpError(f"{' '.join(command[:2])}: {faults[0] if faults else 'failed'}")
