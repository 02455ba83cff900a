# SPDX-License-Identifier: Apache-2.0
"""A process's start without searches for garbage: what it imports and loads stays, and there are many of them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Collect no garbage within the context; what is there at its end, later collections leave out."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        gc.enable()
