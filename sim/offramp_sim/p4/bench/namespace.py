"""Network namespaces that a measurement makes for itself and that end with it."""

from __future__ import annotations

import ctypes
import os
import subprocess
import threading
from collections.abc import Callable
from typing import Final, TypeVar

from offramp.errors import OfframpError

_CLONE_NEWNET: Final = 0x40000000
T = TypeVar("T")


def _unshare() -> None:
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET):
        raise OfframpError(f"a network namespace of its own (needs root): {os.strerror(ctypes.get_errno())}")


def in_namespace(work: Callable[[], T]) -> T:
    """Run ``work`` in a thread with a network namespace of its own; what it starts is in it, too.

    Raises:
        OfframpError: no right to make one.
    """
    results: list[T] = []
    faults: list[BaseException] = []

    def enter() -> None:
        try:
            _unshare()
            results.append(work())
        except BaseException as error:
            faults.append(error)

    thread = threading.Thread(target=enter, name="namespace")
    thread.start()
    thread.join()
    if faults:
        raise faults[0]
    return results[0]


def ip(*words: str) -> None:
    """Have iproute2 do this in the namespace of this thread.

    Raises:
        OfframpError: what it said.
    """
    done = subprocess.run(["ip", *words], check=False, capture_output=True, text=True)
    if done.returncode:
        raise OfframpError(f"ip {' '.join(words)}: {done.stderr.strip()}")
