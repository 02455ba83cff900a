# SPDX-License-Identifier: Apache-2.0
"""Network namespaces that a measurement makes for itself and that end with it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from offramp_base.iproute import unshare_network

T = TypeVar("T")


def in_namespace(work: Callable[[], T]) -> T:
    """Run ``work`` in a thread with a network namespace of its own; what it starts is in it, too.

    Raises:
        OfframpError: no right to make one.
    """
    results: list[T] = []
    faults: list[BaseException] = []

    def enter() -> None:
        try:
            unshare_network()
            results.append(work())
        except BaseException as error:
            faults.append(error)

    thread = threading.Thread(target=enter, name="namespace")
    thread.start()
    thread.join()
    if faults:
        raise faults[0]
    return results[0]
