# SPDX-License-Identifier: Apache-2.0
"""Processes on which running work relies: a wait for something else ends at once when one of them dies."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from offramp_base.ending.children import ended_as

_LINGERS_S: Final = 5.0

_relied_on: dict[int, tuple[str, subprocess.Popen[str]]] = {}
"""Relied-on processes by a file descriptor that becomes readable when one ends (pidfd_open(2)) or is about to."""


@contextmanager
def relied_on(name: str, process: subprocess.Popen[str]) -> Iterator[None]:
    """Within the context, :func:`descriptors` has those of this process; ``name`` is what errors call it.

    A process that ends in its own time can take others with it before it is gone. So whatever it still writes to its
    standard output, if that is a pipe, counts as its end: it should write before it lets go of anything.
    """
    pidfds = []
    with contextlib.suppress(OSError):  # before Linux 5.3, or in a container that forbids it: heard of as a silence
        pidfds.append(os.pidfd_open(process.pid))
    watched = [*pidfds, process.stdout.fileno()] if process.stdout is not None else pidfds
    _relied_on.update(dict.fromkeys(watched, (name, process)))
    try:
        yield
    finally:
        for descriptor in watched:
            del _relied_on[descriptor]
        for descriptor in pidfds:
            os.close(descriptor)


def descriptors() -> list[int]:
    """Descriptors for :func:`select.select` that become readable once a process has ended."""
    return list(_relied_on)


def death(descriptor: int) -> str:
    """A phrase for the end of a descriptor's process, for which it waits a limited time."""
    name, process = _relied_on[descriptor]
    try:
        return ended_as(name, process.wait(_LINGERS_S))
    except subprocess.TimeoutExpired:
        return f"{name} is ending"
