"""Processes that work under way relies on: whoever waits for something else hears at once when one of them dies."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from offramp.ending.children import ended_as

_relied_on: dict[int, tuple[str, subprocess.Popen[str]]] = {}
"""By the file descriptor that becomes readable when the process ends (pidfd_open(2))."""


@contextmanager
def relied_on(name: str, process: subprocess.Popen[str]) -> Iterator[None]:
    """Within the context, :func:`descriptors` has one of this process; ``name`` is what errors call it."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:  # Linux before 5.3, or a container that forbids it: its end is then heard of as a silence
        yield
        return
    _relied_on[descriptor] = name, process
    try:
        yield
    finally:
        del _relied_on[descriptor]
        os.close(descriptor)


def descriptors() -> list[int]:
    """For :func:`select.select` and :func:`multiprocessing.connection.wait`: readable once the process has ended."""
    return list(_relied_on)


def death(descriptor: int) -> str:
    """How the process of a descriptor has ended, in words."""
    name, process = _relied_on[descriptor]
    return ended_as(name, process.wait())
