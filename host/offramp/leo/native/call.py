# SPDX-License-Identifier: Apache-2.0
"""Calling convention of compiled loops: ``status = f(arguments)``, an address and one record."""

from __future__ import annotations

from typing import Annotated

from offramp.leo.native.journal import Journal
from offramp_base.native.records import At, Record
from offramp_base.native.subset import Bytes, Words


class Arguments(Record):
    """Arguments of a function, and the length of its answer."""

    message: Bytes
    message_bytes: int
    reply: Bytes
    reply_bytes: int  # bytes that may be used, then bytes that were
    log: At[Journal]  # takes what is to be written
    host: Bytes  # the host's memory
    host_bytes: int
    own: Words  # the function's context
    scratch: Annotated[Words, 8]
