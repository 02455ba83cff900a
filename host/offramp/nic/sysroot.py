# SPDX-License-Identifier: Apache-2.0
"""A sysroot for cross-compiling the agent: Debian's packages of another architecture, unpacked into a folder.

apt uses separate folders there: the machine's packages and architectures stay as they are, and no root rights are
needed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from offramp_base.errors import OfframpError
from offramp_base.settings.error import SettingsError

DEBIAN: Final = {"aarch64": "arm64"}
"""Debian's names for architectures."""
PACKAGES: Final = ("libdpdk-dev", "libhwy-dev", "librte-compress-zlib23", "librte-net-af-packet23")
"""Packages with which the agent is built and run there."""
_DPDK: Final = "usr/lib/{arch}-linux-gnu/pkgconfig/libdpdk.pc"
_WORK: Final = "apt"
"""Folder with apt's state; it exists until the sysroot is complete."""


def make_sysroot(folder: Path, arch: str = "aarch64", report: Callable[[str], None] = lambda _: None) -> Path:
    """Download and unpack what the agent needs: 300 packages, 60 MB.

    Args:
        folder: becomes ``/`` of the sysroot; a folder that has DPDK already, however it got there, is used as it is.
        arch: architecture of its programs.
        report: called with a description of each step.

    Raises:
        OfframpError: the architecture is unknown, the folder has other contents, the machine does not run Debian, or
            apt fails (with its message).
    """
    if arch not in DEBIAN:
        raise OfframpError(f"sysroot for {arch}: expected {', '.join(DEBIAN)}")
    work = folder / _WORK
    if (folder / _DPDK.format(arch=arch)).is_file() and not work.is_dir():
        return folder
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not work.is_dir())):
        raise SettingsError(
            "sysroot", "expected a sysroot with libdpdk-dev, or an empty folder to make one in", str(folder)
        )
    for tool in ("apt-get", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise OfframpError(f"sysroot: needs {tool}, which Debian and Ubuntu have")
    for part in ("lists/partial", "cache/archives/partial"):
        (work / part).mkdir(parents=True, exist_ok=True)
    (work / "status").touch()
    apt = ["apt-get", "-q"]
    for option in (
        f"APT::Architecture={DEBIAN[arch]}",
        f"APT::Architectures::={DEBIAN[arch]}",
        f"Dir::State={work}",
        f"Dir::State::status={work / 'status'}",
        f"Dir::State::lists={work / 'lists'}",
        f"Dir::Cache={work / 'cache'}",
        "APT::Sandbox::User=",
        "Acquire::Languages=none",
    ):
        apt += ["-o", option]
    report("reading the lists of packages")
    _run([*apt, "update"])
    report("downloading")
    _run([*apt, "install", "--download-only", "--no-install-recommends", "-y", *PACKAGES])
    for number, package in enumerate(packages := sorted((work / "cache" / "archives").glob("*.deb")), 1):
        report(f"unpacking {number} of {len(packages)}")
        _run(["dpkg-deb", "-x", str(package), str(folder)])
    _make_relative(folder)
    shutil.rmtree(work)
    return folder


def _make_relative(folder: Path) -> None:
    """Make absolute links point into the sysroot."""
    for parent, directories, files in os.walk(folder):
        for name in [*directories, *files]:
            path = Path(parent, name)
            if path.is_symlink() and (target := path.readlink()).is_absolute():
                inside = folder / target.relative_to("/")
                path.unlink()
                path.symlink_to(os.path.relpath(inside, parent))


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("E:")] or ["failed"]
        raise OfframpError(f"sysroot: {command[0]}: {said[0].removeprefix('E:').strip()}")
