# SPDX-License-Identifier: Apache-2.0
"""Marked functions in machine code, called with arrays or with the addresses of arrays that stay where they are."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np


def machine(*marked: Callable[..., int]) -> dict[str, Callable[..., int]]:
    """Functions by name; ``address`` of each is where compiled code may call it.

    Raises:
        OfframpError: llvmlite is missing.
    """
    from offramp_base.native.library import compiled_all

    return {name: _callable(function) for name, function in compiled_all(marked).items()}


def address(array: Any) -> int:
    """Where an array lies, 0 for an empty one."""
    return int(array.ctypes.data) if array.size else 0


def _callable(function: Any) -> Callable[..., int]:
    def call(*args: Any) -> int:
        return int(function(*[a.ctypes.data if isinstance(a, np.ndarray) else a for a in args]))

    call.__dict__["address"] = ctypes.cast(function, ctypes.c_void_p).value
    call.__dict__["function"] = function
    return call
