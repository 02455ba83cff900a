# SPDX-License-Identifier: Apache-2.0
"""The part of the run-time system that the control plane calls: updates of look-up structures."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, Final

from offramp_base.native.library import machine_code
from offramp_p4.native.runtime import blocksets, hashtable, masks, patterns, prefixes

_EXPORTED: Final = (
    hashtable.insert_all,
    hashtable.insert_new,
    hashtable.remove_all,
    hashtable.count_keys,
    hashtable.rehash,
    hashtable.lookup,
    prefixes.add_prefixes,
    prefixes.drop_prefixes,
    patterns.fill_tuple,
    patterns.add_patterns,
    patterns.drop_pattern,
    blocksets.fill_block,
    masks.choose_mask,
)


class Updates:
    """Functions of the run-time system by name. Arguments are addresses, words and doubles; results are words."""

    def __init__(self) -> None:
        self._code = machine_code(_EXPORTED)
        for function in _EXPORTED:
            notes = [note for name, note in function.__annotations__.items() if name != "return"]
            params = [ctypes.c_double if note == "float" else ctypes.c_int64 for note in notes]
            setattr(self, function.__name__, self._code.function(f"rt.{function.__name__}", ctypes.c_int64, *params))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


@cache
def updates() -> Updates:
    """The functions, compiled once."""
    return Updates()
