# SPDX-License-Identifier: Apache-2.0
"""Network namespaces of threads: made by the thread and gone with its process, so that nothing needs cleaning up."""

from __future__ import annotations

import ctypes
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Final

from offramp_base.errors import OfframpError
from offramp_base.ethtool import send_as_on_a_line

_CLONE_NEWNET: Final = 0x40000000
_APPEARS_S: Final = 30.0
_PROBE: Final = ("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")


def launcher() -> list[str]:
    """Words before a command that is to make namespaces: none for root, those of a user namespace for others.

    Raises:
        OfframpError: no iproute2 or util-linux, or the kernel grants neither.
    """
    for tool, package in (("ip", "iproute2"), ("unshare", "util-linux")):
        if shutil.which(tool) is None:
            raise OfframpError(f"network namespaces: no {tool} on PATH; it comes with {package}")
    words = [] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user"]
    probe = subprocess.run([*words, "unshare", "--net", *_PROBE], check=False, capture_output=True, text=True)
    if probe.returncode:
        reason = (probe.stderr.strip().splitlines() or ["the kernel refuses them"])[-1].removeprefix("unshare: ")
        raise OfframpError(f"network namespaces{' without root' if words else ''}: {reason}")
    return words


def enter_new() -> None:
    """Put the calling thread, and threads that it starts from now on, into a new namespace.

    Raises:
        OfframpError: the kernel refuses.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET):
        raise OfframpError(f"network namespace: {os.strerror(ctypes.get_errno())}")
    ip("link", "set", "lo", "up")


def enter_of(thread: int) -> None:
    """Put the calling thread into the namespace of another thread, which may belong to another process.

    Raises:
        OfframpError: the thread is gone, or the kernel refuses.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        with Path(f"/proc/{thread}/ns/net").open("rb") as namespace:
            if libc.setns(namespace.fileno(), _CLONE_NEWNET):
                raise OfframpError(f"network namespace of thread {thread}: {os.strerror(ctypes.get_errno())}")
    except OSError as error:
        raise OfframpError(f"network namespace of thread {thread}: {error.strerror}") from None


def ip(*words: str) -> None:
    """Run ``ip`` in the calling thread's namespace.

    Raises:
        OfframpError: it fails, with what it says.
    """
    done = subprocess.run(["ip", *words], check=False, capture_output=True, text=True)
    if done.returncode:
        raise OfframpError(f"ip {' '.join(words)}: {done.stderr.strip()}")


def veth(name: str, peer: str, thread: int) -> None:
    """Make a veth interface here whose other end is in the namespace of another thread.

    Raises:
        OfframpError: the names are taken, or the thread is gone.
    """
    ip("link", "add", name, "type", "veth", "peer", "name", peer, "netns", str(thread))
    ip("link", "set", name, "addrgenmode", "none", "up")


def bring_up(name: str, mac: int, address: str) -> None:
    """Give an interface, once it has appeared, its addresses, and make it send frames as a wire would carry them.

    Raises:
        OfframpError: it does not appear in time.
    """
    end = time.monotonic() + _APPEARS_S
    while name not in {known for _, known in socket.if_nameindex()}:
        if time.monotonic() > end:
            raise OfframpError(f"interface {name} did not appear in {_APPEARS_S:g} s")
        time.sleep(0.01)
    ip("link", "set", name, "address", ":".join(f"{byte:02x}" for byte in mac.to_bytes(6, "big")))
    ip("address", "add", address, "dev", name)
    ip("link", "set", name, "addrgenmode", "none", "up")
    send_as_on_a_line(name)
