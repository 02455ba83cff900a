# SPDX-License-Identifier: Apache-2.0
"""The sockets at which a process and its descendants can be reached, read from /proc while they run."""

from __future__ import annotations

import ipaddress
import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_LISTENS = {"tcp": "0A", "udp": "07"}  # states; a UDP socket that is connected has another one
_UNIX_LISTENS = 1 << 16  # __SO_ACCEPTCON


class Reachable(NamedTuple):
    """A socket that takes what others send.

    Attributes:
        kind: ``tcp``, ``udp`` or ``unix``.
        address: ``127.0.0.1:9559``, ``[::]:80``, or a path; abstract names begin with ``@``.
        mode: mode of a Unix socket's file, and of the folder it lies in.
    """

    kind: str
    address: str
    mode: str = ""


def descendants(pid: int) -> set[int]:
    """A process and all that it has started, as long as their parents live."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(entry.name))
    pids, new = set(), {pid}
    while new:
        pids |= new
        new = {child for parent in new for child in children.get(parent, ())} - pids
    return pids


def reachable(pids: set[int]) -> set[Reachable]:
    """At what addresses these processes can be reached now, each read in the process's own network namespace."""
    addresses = set()
    for pid in pids:
        try:
            inodes = _sockets(pid)
            for kind, state in _LISTENS.items():
                for name in (kind, f"{kind}6"):
                    addresses |= set(_inet(Path(f"/proc/{pid}/net/{name}"), kind, state, inodes))
            addresses |= set(_unix(pid, inodes))
        except OSError:
            continue  # it has ended
    return addresses


def _sockets(pid: int) -> set[int]:
    inodes = set()
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        try:
            name = fd.readlink().name
        except OSError:
            continue
        if match := re.fullmatch(r"socket:\[(\d+)\]", name):
            inodes.add(int(match[1]))
    return inodes


def _inet(path: Path, kind: str, state: str, inodes: set[int]) -> Iterator[Reachable]:
    for line in path.read_text(encoding="ascii").splitlines()[1:]:
        words = line.split()
        if words[3] == state and int(words[9]) in inodes:
            raw, port = words[1].split(":")
            packed = b"".join(struct.pack("=I", int(raw[at : at + 8], 16)) for at in range(0, len(raw), 8))
            host = ipaddress.ip_address(packed)
            host = getattr(host, "ipv4_mapped", None) or host  # a socket of both kinds
            name = f"[{host}]" if host.version == 6 else str(host)
            yield Reachable(kind, f"{name}:{int(port, 16)}")


def _unix(pid: int, inodes: set[int]) -> Iterator[Reachable]:
    for line in Path(f"/proc/{pid}/net/unix").read_text(encoding="utf-8", errors="replace").splitlines()[1:]:
        words = line.split(maxsplit=7)
        listens = int(words[3], 16) & _UNIX_LISTENS or words[4] == "0002"  # a datagram socket with a name
        if len(words) == 8 and listens and int(words[6]) in inodes:
            yield Reachable("unix", words[7], _modes(pid, words[7]))


def _modes(pid: int, name: str) -> str:
    if name.startswith("@"):
        return ""
    path = Path(f"/proc/{pid}/cwd") / name
    try:
        return f"{os.lstat(path).st_mode & 0o777:o} in {path.parent.stat().st_mode & 0o1777:o}"
    except OSError:
        return "gone"
