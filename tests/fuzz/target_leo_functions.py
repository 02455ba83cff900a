# SPDX-License-Identifier: Apache-2.0
"""LEO's compiled functions: any message in any memory; nothing is read or written beyond what each was given."""

from __future__ import annotations

import random
import struct
from typing import Any

import numpy as np

from leo_hostile import word
from offramp.device import Status
from offramp.leo.devices.software import EBS_LAYOUT
from offramp.leo.functions import ebs, kvs
from offramp.leo.memory import HostMemory
from offramp.leo.native import ebs as native_ebs
from offramp.leo.native import functions as native_functions
from offramp.leo.native.call import Arguments
from offramp.leo.native.journal import MOST_WRITE, Journal
from offramp.leo.native.machine import address

NAME = "LEO's compiled functions"
_CANARY = 0x5A
_GUARD = 512
_HOST = 1 << 14


class _Guarded:
    """Bytes between others that nobody may change."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.whole = np.full(-(-size // 8) * 8 + 2 * _GUARD, _CANARY, np.uint8)
        self.inner = self.whole[_GUARD : _GUARD + size]

    @property
    def address(self) -> int:
        return int(self.inner.ctypes.data)

    def check(self, what: str) -> None:
        if (self.whole[:_GUARD] != _CANARY).any() or (self.whole[_GUARD + self.size :] != _CANARY).any():
            raise AssertionError(f"{what} was written beyond its {self.size} bytes")


def run(rng: random.Random) -> None:
    """One call."""
    name = rng.choice([*native_functions.NATIVE])
    host = _Guarded(_HOST)
    host.inner[:] = 1
    length = rng.choice([0, 7, 8, 9, 12, 15, 16, 17, 24, 72, 4096, MOST_WRITE + 8, MOST_WRITE + 9])
    if rng.random() < 0.2:
        length = rng.randrange(5000)
    message = _Guarded(length)
    message.inner[:] = np.frombuffer(_content(rng, length), np.uint8)
    reply = _Guarded(rng.choice([0, 3, 4, 7, 8, 15, 16, 64, 4096]))
    log = np.full(Journal.WORDS + 64, _CANARY, np.int64)
    log[Journal.length] = 0
    context, keep = _context(rng, name, host)
    arguments = np.zeros(64, np.int64)
    arguments[Arguments.message], arguments[Arguments.message_bytes] = message.address, length
    arguments[Arguments.reply], arguments[Arguments.reply_bytes] = reply.address, reply.size
    arguments[Arguments.log], arguments[Arguments.own] = address(log), address(context)
    arguments[Arguments.host], arguments[Arguments.host_bytes] = host.address, host.size
    status = Status(native_functions.addresses()[name][1](arguments))
    del keep
    for guarded, what in ((host, "the host's memory"), (message, "the message"), (reply, "the reply")):
        guarded.check(what)
    if (host.inner != 1).any():
        raise AssertionError("the host's memory was written without the log")
    if (log[Journal.WORDS :] != _CANARY).any():
        raise AssertionError("the log was written beyond its end")
    used = int(arguments[Arguments.reply_bytes])
    if status is Status.OK and not 0 <= used <= reply.size:
        raise AssertionError(f"{name}: a reply of {used} bytes where {reply.size} are")
    _check_log(name, log, status)


def _check_log(name: str, log: np.ndarray[Any, Any], status: Status) -> None:
    size, offset = int(log[Journal.length]), int(log[Journal.offset])
    if size and (status is not Status.OK or not 0 <= offset <= _HOST - size or not 0 < size <= MOST_WRITE):
        raise AssertionError(f"{name}: logs {size} bytes at {offset}, status {status.name}")
    if size and (log[Journal.content + -(-size // 8) : Journal.WORDS] != _CANARY).any():
        raise AssertionError(f"{name}: more than {size} bytes in the log")


def _content(rng: random.Random, length: int) -> bytes:
    words = [word(rng) if rng.random() < 0.5 else 8 * rng.randrange(_HOST // 4) for _ in range(-(-length // 8))]
    content = struct.pack(f"<{len(words)}q", *words)[:length]
    if length == ebs.REQUEST.size and rng.random() < 0.8:
        blocks = rng.choice([0, 1, 16, 512, 513, (1 << 32) - 1])
        start = rng.choice([0, 511, 512, 1023, 1 << 40, (1 << 64) - 1])
        content = ebs.REQUEST.pack(rng.randrange(66), blocks, start, rng.randrange(1 << 64))
    return content


def _context(rng: random.Random, name: str, host: _Guarded) -> tuple[np.ndarray[Any, Any], Any]:
    if name == ebs.NAME:
        layout = ebs.TableLayout(*EBS_LAYOUT)
        memory = HostMemory(layout.size)
        tables = ebs.EbsTables(memory, layout)
        tables.add_volume(1, 1024, 1 << 20, 1 << 20)
        tables.map(1, 0, 2, 3, 4096)
        words = np.frombuffer(memory.view, np.int64)
        words[8 + rng.randrange(8)] = word(rng) if rng.random() < 0.5 else words[8]
        return native_ebs.context(words, layout), (memory, words)
    if name == kvs.NAME:
        index = np.array([word(rng) for _ in range(8 * 16)], np.int64)
        return native_functions.kvs_context(index, 16, 0), index
    size = rng.choice([0, 8, 64, MOST_WRITE, MOST_WRITE + 8])
    index = host.inner[: _HOST // 8 * 8].view(np.int64)
    return native_functions.kvs_context(index, 1, size), index
