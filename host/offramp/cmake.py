# SPDX-License-Identifier: Apache-2.0
"""Builds of C++ sources with CMake, kept in the user's cache by the contents of the sources: checkouts share them."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError
from offramp_base.private_folder import check_owned, check_way, user_cache

_PACKAGE: Final = Path(__file__).resolve().parent
TOOLS: Final = {"cmake": "cmake", "ninja": "ninja-build", "g++": "g++"}
"""Commands that a build needs, and the Debian packages that they are in."""
_SOURCES: Final = (".c", ".cpp", ".h", ".hpp", ".cmake", ".in", ".service")


def cpp_sources() -> Path:
    """The folder of the C++ sources: inside the installed package, or ``smartnic`` at the top of a checkout.

    Raises:
        OfframpError: the installation lacks them.
    """
    for folder in (_PACKAGE / "smartnicsrc", _PACKAGE.parents[1] / "smartnic"):
        if (folder / "CMakeLists.txt").is_file():
            return folder
    raise OfframpError("the C++ sources: not in this installation; expected the folder offramp/smartnicsrc")


def kept_folder(name: str, root: Path, variant: str, without: Sequence[str] = (), *, installs: bool = False) -> Path:
    """The folder in which a build of the sources under ``root`` is kept.

    Args:
        name: name of the folder in the cache.
        root: root of the sources.
        variant: variant of the build.
        without: folders directly under ``root`` that do not belong to it.
        installs: whether ``cmake --install`` takes files from ``root`` itself, which must still be there then.
    """
    digest = hashlib.sha256(f"{root.resolve()}\0".encode() if installs else b"")
    for path in sorted(root.rglob("*")):
        place = path.relative_to(root)
        if place.parts[0] not in without and (path.suffix in _SOURCES or path.name == "CMakeLists.txt"):
            digest.update(f"{place}\0".encode() + path.read_bytes() + b"\0")
    return user_cache() / "offramp" / name / f"{digest.hexdigest()[:16]}-{variant}"


def run_cmake(root: Path, folder: Path, options: Sequence[str] = (), target: str | None = None) -> None:
    """Build the sources under ``root`` in ``folder``.

    Args:
        root: folder with CMakeLists.txt.
        folder: folder of the build, made where it is not there.
        options: options for CMake.
        target: what to build; None: all.

    Raises:
        OfframpError: it does not build; the first fault.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OfframpError(f"{error.filename or folder}: {error.strerror or error}") from None
    _forget_other_sources(root, folder)
    with temporary_folder(folder) as aside:  # for the compiler's own files: what it leaves goes with the folder
        _run(["cmake", "-G", "Ninja", "-S", str(root), "-B", str(folder), *options], aside)
        _run(["cmake", "--build", str(folder), *(["--target", target] if target else [])], aside)


def build_once(root: Path, folder: Path, options: Sequence[str] = (), target: str | None = None) -> None:
    """Build the sources under ``root`` in ``folder`` unless that is done, by whichever process comes first.

    Args:
        root: folder with CMakeLists.txt, of this checkout or of another one with the same contents.
        folder: folder of the build, named by the contents.
        options: options for CMake, always the same for a folder.
        target: what to build; None: all.

    Raises:
        OfframpError: it does not build; the first fault.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder / f"complete-{target or 'all'}"
        if not (folder / "complete-all").exists() and not done.exists():
            run_cmake(root, folder, options, target)
            done.touch()


def require_tools(what: str) -> None:
    """Refuse to build ``what`` where a tool for it is missing.

    Raises:
        OfframpError: names the Debian packages.
    """
    if lacking := missing_tools():
        raise OfframpError(f"building {what} needs {', '.join(lacking)}: apt-get install {' '.join(lacking)}")


def missing_tools() -> list[str]:
    """Debian packages that a build lacks."""
    return [package for tool, package in TOOLS.items() if shutil.which(tool) is None]


def own_file(path: Path) -> Path:
    """The file of a build in the user's cache.

    Raises:
        OfframpError: it, or a folder on the way to it, is not this user's alone to write.
    """
    check_owned(path.parent, folder=True)
    check_way(path.parent)
    check_owned(path.resolve(), folder=False)
    return path


def _forget_other_sources(root: Path, folder: Path) -> None:
    """CMake refuses a build folder that another checkout of the same sources configured; it then begins anew."""
    cache = folder / "CMakeCache.txt"
    if cache.is_file() and f"CMAKE_HOME_DIRECTORY:INTERNAL={root}\n" not in cache.read_text(encoding="utf-8"):
        cache.unlink()
        shutil.rmtree(folder / "CMakeFiles", ignore_errors=True)


def _run(command: Sequence[str], temporary: str) -> None:
    environment = os.environ | {"TMPDIR": temporary}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        faults = [line for line in lines if "error:" in line.lower()] or lines[-1:]
        raise OfframpError(f"{' '.join(command[:2])}: {faults[0] if faults else 'failed'}")
