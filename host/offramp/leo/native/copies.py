# SPDX-License-Identifier: Apache-2.0
"""Copies of a store's values in the host's memory, where a device's look-up says that they are.

A copy is three words (its key, its length, whether it is valid) and the value, in :data:`COPY_BYTES`. A request that
finds none, or another key's, goes to the store: its look-up may be long ago.

Written in the part of Python that :mod:`offramp_base.native` compiles.
"""

from __future__ import annotations

from typing import Final

from offramp.device import Status
from offramp.leo.native.call import Arguments
from offramp.leo.native.serve import ELSEWHERE
from offramp_base.native.records import Record
from offramp_base.native.subset import Words, copy, native

COPY_BYTES: Final = 128
HEAD_BYTES: Final = 24
MOST_VALUE: Final = COPY_BYTES - HEAD_BYTES
"""Bytes of the longest value that is copied."""
_OK = int(Status.OK)
_LENGTH = int(Status.BAD_LENGTH)


class CopyHeader(Record):
    """Header of a copy, in front of the value."""

    key: int
    length: int
    there: int


@native
def read_copy(arguments: Arguments) -> int:
    """``store.read`` (:mod:`offramp.leo.devices.store`) of a key of eight bytes, served from its copy."""
    if arguments.message_bytes != 16:
        return _LENGTH
    asked = Words(int(arguments.message))
    place = asked[0]
    if place <= 0 or place > arguments.host_bytes - COPY_BYTES:
        return ELSEWHERE
    held = CopyHeader(Words(arguments.host + place))
    length = held.length
    # The place is the requester's word: what lies there need not be a copy.
    if held.there == 0 or held.key != asked[1] or length < 0 or length > min(arguments.reply_bytes, MOST_VALUE):
        return ELSEWHERE
    copy(arguments.reply, arguments.host + place + HEAD_BYTES, length)
    arguments.reply_bytes = length
    return _OK
