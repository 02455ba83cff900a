# SPDX-License-Identifier: Apache-2.0
"""iproute2's commands, with its complaints as our errors; and network namespaces to run in."""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path
from typing import Final

from offramp_base.errors import OfframpError

_CLONE_NEWNET: Final = 0x40000000
NAMESPACES: Final = Path("/run/netns")
"""Folder where ``ip netns`` keeps the names of namespaces."""


def ip(*words: str) -> None:
    """Run ``ip`` with these arguments.

    Raises:
        OfframpError: what it said.
    """
    _iproute2("ip", *words)


def tc(*words: str) -> None:
    """Run ``tc`` (traffic control) with these arguments.

    Raises:
        OfframpError: what it said.
    """
    _iproute2("tc", *words)


def _iproute2(*command: str) -> None:
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    except FileNotFoundError:
        raise OfframpError(f"{command[0]}: not found: install iproute2") from None
    if done.returncode:
        raise OfframpError(f"{' '.join(command)}: {done.stderr.strip()}")


def unshare_network() -> None:
    """Give this thread, and the processes that it starts, a network namespace of its own.

    Raises:
        OfframpError: no right to make one.
    """
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET):
        raise OfframpError(f"a network namespace of its own (needs root): {os.strerror(ctypes.get_errno())}")


def enter_namespace(name: str) -> None:
    """Move this thread, and the processes that it starts, into the network namespace ``name``.

    Raises:
        OfframpError: there is none, or no right to enter it.
    """
    try:
        descriptor = os.open(NAMESPACES / name, os.O_RDONLY)
    except OSError as error:
        raise OfframpError(f"network namespace {name}: {error.strerror}") from None
    try:
        if ctypes.CDLL(None, use_errno=True).setns(descriptor, _CLONE_NEWNET):
            raise OfframpError(f"network namespace {name} (needs root): {os.strerror(ctypes.get_errno())}")
    finally:
        os.close(descriptor)
