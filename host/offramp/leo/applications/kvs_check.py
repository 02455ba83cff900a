# SPDX-License-Identifier: Apache-2.0
"""A check of the store's answers that costs little compared with serving them.

Written in the part of Python that :mod:`offramp_base.native` compiles.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

from offramp.device import Status
from offramp.leo.applications.kvs_store import LAST, MIX, VALUE_BYTES
from offramp.leo.native.batch import LENGTH, ROW, STATUS, USER
from offramp.leo.native.machine import machine
from offramp_base.native.subset import Bytes, Words, native

PUT: Final = 1
_OK = int(Status.OK)


@native
def wrong_values(
    count: int,
    words: Words,
    answers: Bytes,
    stride: int,
    keys: Words,
    types: Words,
    mask: int,
) -> int:
    """Number of answers that are not the key's whole value, or not a successful write; ``words`` are a completion's."""
    rows = words + ROW * count
    users = words + USER * count
    statuses = words + STATUS * count
    lengths = words + LENGTH * count
    wrong = 0
    for i in range(count):
        at = users[i] & mask
        place = answers + rows[i] * stride
        value = Words(int(place))
        good = statuses[i] == _OK and lengths[i] == (4 if types[at] == PUT else VALUE_BYTES)
        if good and types[at] == PUT:
            good = place[0] == 1
        elif good:
            mixed = keys[at] * MIX
            good = value[0] == keys[at]
            for word in range(2, LAST + 1):
                good = good and value[word] == mixed ^ (value[1] + word - 2)
        if not good:
            wrong += 1
    return wrong


@cache
def check_values() -> Callable[..., int]:
    """:func:`wrong_values` in machine code."""
    return machine(wrong_values)["wrong_values"]
