# SPDX-License-Identifier: Apache-2.0
"""Compiled functions, called with arrays or with the addresses of arrays that do not move."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np


def machine(*marked: Callable[..., int]) -> dict[str, Callable[..., int]]:
    """Compile functions; returns them by name, each with the ``address`` at which compiled code may call it.

    Raises:
        OfframpError: llvmlite is missing.
    """
    from offramp_base.native.library import compiled_all

    return {name: _callable(function) for name, function in compiled_all(marked).items()}


def address(array: Any) -> int:
    """Address of an array; 0 for an empty one."""
    return int(array.ctypes.data) if array.size else 0


def _callable(function: Any) -> Callable[..., int]:
    def call(*args: Any) -> int:
        return int(function(*[a.ctypes.data if isinstance(a, np.ndarray) else a for a in args]))

    call.__dict__["address"] = ctypes.cast(function, ctypes.c_void_p).value
    call.__dict__["function"] = function
    return call
