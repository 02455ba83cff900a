# SPDX-License-Identifier: Apache-2.0
"""Checks of what the agent needs on this machine, with a remedy for whatever is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from offramp.nic.build import ABI, PACKAGES, TOOLS, cache_folder, missing
from offramp_base.checks import Check
from offramp_base.transport.rights import has_capability

_PMDS: Final = {
    "librte-compress-zlib23": "librte_compress_zlib.so",
    "librte-compress-isal23": "librte_compress_isal.so",
    "librte-net-af-packet23": "librte_net_af_packet.so",
    "librte-net-af-xdp23": "librte_net_af_xdp.so",
    "librte-net-memif23": "librte_net_memif.so",
    "librte-net-vhost23": "librte_net_vhost.so",
    "librte-net-mlx5-23": "librte_net_mlx5.so",
}


def checks() -> Iterator[Check]:
    """All checks, none of which changes the machine."""
    lacking = missing()
    for package in [*TOOLS.values(), "libdpdk-dev", "libhwy-dev"]:
        there = package not in lacking
        what = PACKAGES.get(package, "to build the agent")
        yield Check(package, there, what, f"apt-get install {package}", needed=True)
    abi = _abi()
    for package, library in _PMDS.items():
        there = _driver(library)
        name = f"{package.removesuffix(ABI)}{abi}"
        yield Check(name, there, PACKAGES[package], f"apt-get install {name}", needed="zlib" in package)
    raw = has_capability("CAP_NET_RAW")
    who = "root" if os.geteuid() == 0 else "not root"
    yield Check("CAP_NET_RAW", raw, who, "root, or: setcap cap_net_raw,cap_net_admin,cap_ipc_lock+ep AGENT")
    huge = _huge_pages()
    yield Check("huge pages", huge > 0, f"{huge} free", "not needed; with --huge: sysctl vm.nr_hugepages=128")
    program = cache_folder() / "offramp-nic-agent"
    installed = shutil.which("offramp-nic-agent")
    agent = installed or (str(program) if program.is_file() else "not built")
    yield Check("offramp-nic-agent", agent != "not built", agent, "offramp nic build")


def _abi() -> str:
    """The number that names of DPDK's libraries end with in this machine's packages; Debian 12's without apt."""
    if shutil.which("apt-cache") is None:
        return ABI
    command = ["apt-cache", "pkgnames", "librte-eal"]
    names = subprocess.run(command, check=False, capture_output=True, text=True).stdout.split()
    numbers = [name.removeprefix("librte-eal") for name in names]
    return max((number for number in numbers if number.isdigit()), key=int, default=ABI)


def _driver(library: str) -> bool:
    """Whether DPDK's folder of drivers contains the library, in any version."""
    if shutil.which("pkg-config") is None:
        return False
    command = ["pkg-config", "--variable=libdir", "libdpdk"]
    folder = subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip()
    return bool(folder) and any(Path(folder).glob(f"dpdk/pmds-*/{library}*"))


def _huge_pages() -> int:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("HugePages_Free")), 0)
