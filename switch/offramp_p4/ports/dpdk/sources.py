# SPDX-License-Identifier: Apache-2.0
"""The library of ports (``smartnic/ports``), built once by CMake and kept in the user's cache."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError
from offramp_base.private_folder import check_owned, check_way, make_cache, user_cache

NAME: Final = "libofframp-ports.so"
_TOOLS: Final = {"cmake": "cmake", "ninja": "ninja-build", "g++": "g++", "pkg-config": "pkg-config"}
_PACKAGE: Final = Path(__file__).resolve().parents[2]
_LOG: Final = logging.getLogger(__name__)


def source_root() -> Path:
    """The folder of the library's sources: inside the installed package, or in a checkout.

    Raises:
        OfframpError: the installation lacks them.
    """
    for folder in (_PACKAGE / "portsrc", _PACKAGE.parents[1] / "smartnic" / "ports"):
        if (folder / "CMakeLists.txt").is_file():
            return folder
    raise OfframpError("the sources of DPDK's ports: not in this installation; expected the folder offramp_p4/portsrc")


def missing() -> list[str]:
    """Debian packages that the library lacks here."""
    lacking = [package for tool, package in _TOOLS.items() if shutil.which(tool) is None]
    if not lacking or lacking == ["ninja-build"]:
        done = subprocess.run(["pkg-config", "--atleast-version=22.11", "libdpdk"], check=False, capture_output=True)
        if done.returncode:
            lacking.append("libdpdk-dev")
    return lacking


def library() -> Path:
    """The library, built if it is not there.

    Raises:
        OfframpError: something needed is missing, naming the package; it does not build; or the one in the cache is not
            this user's alone to write.
    """
    digest, root = hashlib.sha256(), source_root()
    for path in sorted(root.iterdir()):
        digest.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
    folder = user_cache() / "offramp" / "ports"
    built = folder / digest.hexdigest()[:16] / NAME
    try:
        if not built.is_file():
            make_cache(folder)
            _build(root, built.parent)
        check_way(built.parent)
        for path, is_folder in ((built.parent, True), (built, False)):
            check_owned(path, folder=is_folder)
    except OSError as error:
        raise OfframpError(f"{folder}: {error.strerror or error}") from None
    return built


def _build(root: Path, into: Path) -> None:
    """Build aside and rename, so that processes at the same time see a whole library only."""
    lacking = missing()
    if lacking:
        raise OfframpError(f"DPDK's ports need {', '.join(lacking)}: apt-get install {' '.join(lacking)}")
    _LOG.info("building the library of DPDK's ports, once")
    with temporary_folder(into.parent) as aside:
        build = Path(aside) / "build"
        _run(["cmake", "-G", "Ninja", "-S", str(root), "-B", str(build)], aside)
        _run(["cmake", "--build", str(build)], aside)
        done = Path(aside) / "done"
        done.mkdir(mode=0o700)
        (build / NAME).rename(done / NAME)
        (done / NAME).chmod(0o700)
        try:
            done.rename(into)
        except OSError:  # another process was faster
            if not (into / NAME).is_file():
                raise


def _run(command: Sequence[str], temporary: str) -> None:
    environment = os.environ | {"LC_ALL": "C", "TMPDIR": temporary}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        faults = [line for line in lines if "error:" in line.lower()] or lines[-1:]
        raise OfframpError(f"DPDK's ports: {' '.join(command[:2])}: {faults[0] if faults else 'failed'}")
