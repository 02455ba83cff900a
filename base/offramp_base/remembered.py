# SPDX-License-Identifier: Apache-2.0
"""Results that take long and follow from what they are made of: kept between processes, in the user's cache folder."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import TypeVar

from offramp_base.errors import OfframpError
from offramp_base.extras import fallbacks
from offramp_base.kept_files import KeptFiles
from offramp_base.wire.objects import pack, unpack

T = TypeVar("T")

WORTH_S = 0.3
"""Seconds that a result has to take if it is to be kept."""


def remembered(files: KeptFiles, key: str, kind: type[T], make: Callable[[], T]) -> T:
    """Return the value kept for ``key``, or that of ``make``, which is kept if it took long.

    Nothing is kept in a command that has fallen back for want of a package: it must say so each time.

    Args:
        files: where results are kept.
        key: names everything from which the result follows, the version of the code that makes it among it.
        kind: the result's type, as for :func:`~offramp_base.wire.objects.pack`.
        make: makes the result.
    """
    kept = files.get(key)
    if kept is not None:
        with contextlib.suppress(OfframpError):  # of another version's form
            value: T = unpack(bytearray(kept), kind, "the cache")
            return value
    start = time.monotonic()
    fresh = make()
    if time.monotonic() - start > WORTH_S and not fallbacks():
        with contextlib.suppress(OfframpError):  # too large for a message
            files.put(key, pack(fresh, kind))
    return fresh
