# SPDX-License-Identifier: Apache-2.0
"""Links through memory that a process and a switch on the same machine share."""

from __future__ import annotations

from importlib.util import find_spec


def available() -> bool:
    """Whether this machine can have such links: their rings are machine code."""
    return find_spec("llvmlite") is not None


def or_auto() -> str:
    """The transport of links to a switch of this machine: ``shm``, or ``auto`` where there can be no such links."""
    return "shm" if available() else "auto"
