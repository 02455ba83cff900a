# SPDX-License-Identifier: Apache-2.0
"""The agent's sources, and their build with CMake into a cached folder."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from offramp.cmake import build_once, cpp_sources, kept_folder, run_cmake
from offramp_base.errors import OfframpError
from offramp_base.private_folder import check_owned, check_way, make_cache
from offramp_base.settings.check import check
from offramp_base.settings.error import SettingsError
from offramp_base.settings.field import Field

AGENT: Final = "offramp-nic-agent"
SANITIZERS: Final = ("address,undefined", "thread")
TOOLS: Final = {"cmake": "cmake", "ninja": "ninja-build", "g++": "g++", "pkg-config": "pkg-config"}
"""Commands that a build needs, and the Debian packages that contain them."""
ABI: Final = "23"
"""Number of DPDK 22.11's libraries, which Debian 12's packages end with."""
PACKAGES: Final = {
    "libdpdk-dev": "DPDK 22.11 or later",
    "libhwy-dev": "Highway, for SIMD",
    "librte-compress-zlib23": "its software compression",
    "librte-compress-isal23": "the same by ISA-L",
    "librte-net-af-packet23": "ports on Linux interfaces",
    "librte-net-af-xdp23": "the same by AF_XDP",
    "librte-net-memif23": "ports in memory that processes share",
    "librte-net-vhost23": "vhost-user ports, for guests",
    "librte-net-mlx5-23": "ports on BlueField and ConnectX",
}
_HEADERS: Final = {"libhwy-dev": Path("/usr/include/hwy/highway.h")}


def missing(sysroot: bool = False) -> list[str]:
    """Debian packages that a build needs and the machine lacks; with a sysroot, libraries come from the sysroot."""
    packages = [package for tool, package in TOOLS.items() if shutil.which(tool) is None]
    if sysroot:
        return packages
    if shutil.which("pkg-config") is None or not _has_dpdk():
        packages.append("libdpdk-dev")
    return packages + [package for package, header in _HEADERS.items() if not header.is_file()]


def _has_dpdk() -> bool:
    """Whether pkg-config knows a DPDK that is new enough."""
    command = ["pkg-config", "--atleast-version=22.11", "libdpdk"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


@dataclass(frozen=True)
class Variant:
    """A kind of build.

    Attributes:
        sysroot: folder with DPDK for ``arch``; without one, another architecture gets only the offloads and their
            tests.
    """

    arch: Annotated[
        str,
        Field(
            "Architecture",
            choices={"native": "", "aarch64": "by cross-compiling; without a sysroot: offloads and their tests"},
        ),
    ] = "native"
    sysroot: Annotated[
        Path | None,
        Field("Root of a system with DPDK for the architecture; if missing, Debian's is installed there"),
    ] = None
    sanitize: Annotated[
        str, Field("Sanitizers; none by default", choices=SANITIZERS, besides=lambda text: not text)
    ] = ""

    def __post_init__(self) -> None:
        check(self)
        if self.sysroot and self.arch == "native":
            raise SettingsError("sysroot", "goes with {arch} aarch64")

    @property
    def name(self) -> str:
        """Name of the build folder of this variant."""
        parts = self.arch if self.arch != "native" else "release", "agent" if self.sysroot else ""
        return "-".join(filter(None, (*parts, self.sanitize.replace(",", "-"))))

    def options(self) -> list[str]:
        """CMake's options.

        Raises:
            OfframpError: there is no compiler for the architecture.
        """
        options: list[str] = []
        if self.arch == "aarch64":
            if shutil.which("aarch64-linux-gnu-g++") is None:
                problem = "needs g++-aarch64-linux-gnu: apt-get install g++-aarch64-linux-gnu"
                raise SettingsError("arch", problem, self.arch)
            options.append(f"-DCMAKE_TOOLCHAIN_FILE={cpp_sources() / 'cmake' / 'aarch64.cmake'}")
            options.append(f"-DOFFRAMP_SYSROOT={self.sysroot.absolute()}" if self.sysroot else "-DOFFRAMP_AGENT=OFF")
        if self.sanitize:
            options += [f"-DOFFRAMP_SANITIZE={self.sanitize}", "-DCMAKE_BUILD_TYPE=RelWithDebInfo"]
        return options


def cache_folder(variant: str = "release") -> Path:
    """Folder in which a build of these sources is kept."""
    return kept_folder("nic", cpp_sources(), variant, without=("allreduce", "ports", "store", "switchgnn"))


def build(
    folder: Path | None = None, options: Sequence[str] = (), target: str | None = None, variant: str = "release"
) -> Path:
    """Build the agent unless it is built already; returns the folder with the programs.

    Args:
        folder: folder of the build; by default one in the user's cache, named by the sources' contents.
        options: options for CMake.
        target: target to build; None: all.
        variant: name of the variant that ``options`` make, for the folder in the cache.

    Raises:
        OfframpError: a needed package is missing (the message names it), or the build fails.
    """
    lacking = missing(any(option.startswith("-DOFFRAMP_SYSROOT") for option in options))
    if lacking:
        raise OfframpError(f"building the agent needs {', '.join(lacking)}: apt-get install {' '.join(lacking)}")
    if folder is None:
        folder = cache_folder(variant)
        make_cache(folder)
        build_once(cpp_sources(), folder, options, target)
    else:
        run_cmake(cpp_sources(), folder, options, target)
    return folder


def agent_program(folder: Path | None = None) -> Path:
    """Path of the agent, which is built if it does not exist.

    Raises:
        OfframpError: as :func:`build`; or the one in the cache is not this user's alone to write.
    """
    installed = shutil.which(AGENT)
    if folder is None and installed is not None:
        return Path(installed)
    program = (folder or cache_folder()) / AGENT
    if not program.is_file():
        build(folder)
    if folder is None:
        check_owned(program.parent, folder=True)
        check_way(program.parent)
        check_owned(program, folder=False)
    return program
