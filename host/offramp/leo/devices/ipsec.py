# SPDX-License-Identifier: Apache-2.0
"""``ipsec:``: authentication codes by Intel's multi-buffer library (Debian's libipsec-mb1), many at a time.

A thread takes all waiting messages, and the library works on as many of them at once as the processor's vectors have
room for: units that one code leaves idle while a block waits for the previous one are used by others. Everything but
``cmac``, and ``cmac`` of more than 65,520 bytes, is computed as by ``cpu:1``. The library is loaded where it is
present; its calls release Python's lock.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from offramp.device import Completion, Status
from offramp.leo.devices.cpu import CpuDevice, CpuOptions, WaitingRequest
from offramp.leo.devices.options import parse
from offramp.leo.functions.mac import KEY_BYTES, MAC, TAG_BYTES, cmac
from offramp_base.errors import OfframpError

_NAME: Final = "libIPSec_MB.so.1"
_ALIGNED: Final = 64
_ROUND_KEYS: Final = 11 * 16
_MOST: Final = (1 << 16) - 16
"""Longest content in bytes that the library takes; longer ones are computed one at a time."""
_LEVELS: Final = {2: "sse", 3: "avx", 4: "avx2", 5: "avx512"}
"""Processor generations by the library's number (``IMB_ARCH``)."""
_NO_CIPHER, _CMAC, _ENCRYPT, _HASH_FIRST, _COMPLETED = 3, 12, 1, 2, 3


class _MacJob(ctypes.Structure):
    """The beginning of ``IMB_JOB`` (intel-ipsec-mb.h)."""

    _fields_ = (
        ("enc_keys", ctypes.c_void_p),
        ("dec_keys", ctypes.c_void_p),
        ("key_bytes", ctypes.c_uint64),
        ("src", ctypes.c_void_p),
        ("dst", ctypes.c_void_p),
        ("cipher_offset", ctypes.c_uint64),
        ("cipher_bytes", ctypes.c_uint64),
        ("hash_offset", ctypes.c_uint64),
        ("hash_bytes", ctypes.c_uint64),
        ("iv", ctypes.c_void_p),
        ("iv_bytes", ctypes.c_uint64),
        ("tag", ctypes.c_void_p),
        ("tag_bytes", ctypes.c_uint64),
        ("round_keys", ctypes.c_void_p),
        ("subkey1", ctypes.c_void_p),
        ("subkey2", ctypes.c_void_p),
        ("status", ctypes.c_int),
        ("cipher_mode", ctypes.c_int),
        ("direction", ctypes.c_int),
        ("hash_algorithm", ctypes.c_int),
        ("order", ctypes.c_int),
        ("user", ctypes.c_void_p),
    )


@dataclass(frozen=True)
class IpsecOptions:
    """Most requests that may be outstanding, and most requests that the library gets together."""

    depth: int = 256
    batch: int = 64


def open_device(options: str, name: str) -> IpsecDevice:
    """The device of these options; the first may be ``depth`` alone."""
    return IpsecDevice(parse(IpsecOptions, options, f"ipsec:{options}", "depth"), name)


@cache
def library() -> Any:
    """Load the library.

    Raises:
        OfframpError: this machine has none.
    """
    try:
        loaded = ctypes.CDLL(_NAME)
    except OSError:
        raise OfframpError(
            "device ipsec: the multi-buffer library is not installed: apt-get install libipsec-mb1"
        ) from None
    loaded.alloc_mb_mgr.restype = ctypes.c_void_p
    return loaded


class IpsecState:
    """The library's state for one thread.

    Raises:
        OfframpError: there is no such library, the processor has no AES, or the library has another interface.
    """

    def __init__(self) -> None:
        self._library = library()
        self._manager = ctypes.c_void_p(self._library.alloc_mb_mgr(ctypes.c_uint64(0)))
        level = ctypes.c_int()
        self._library.init_mb_mgr_auto(self._manager, ctypes.byref(level))
        if level.value not in _LEVELS:
            raise OfframpError("device ipsec: the processor has no instructions for AES")
        kind = _LEVELS[level.value]
        self._next, self._submit, self._flush = (
            self._returning(f"{each}_{kind}") for each in ("get_next_job", "submit_job", "flush_job")
        )
        self._expand = getattr(self._library, f"aes_keyexp_128_{kind}")
        self._subkeys = getattr(self._library, f"aes_cmac_subkey_gen_{kind}")
        probe = [bytes(range(KEY_BYTES)) + bytes(range(length)) for length in (0, 1, 16, 40, 255)]
        if self.cmac(probe) != [cmac(each) for each in probe]:
            raise OfframpError(f"device ipsec: {_NAME} has an interface other than that of version 1.3")

    def _returning(self, name: str) -> Any:
        function = getattr(self._library, name)
        function.restype, function.argtypes = ctypes.POINTER(_MacJob), (ctypes.c_void_p,)
        return function

    def cmac(self, messages: Sequence[bytes]) -> list[bytes]:
        """Authentication code of each message, whose first 16 bytes are the key."""
        count = len(messages)
        tags = ctypes.create_string_buffer(count * TAG_BYTES)
        keys = [_Keys(self, message) for message in messages]
        done = 0
        for number, message in enumerate(messages):
            job = self._next(self._manager)
            fields = job.contents
            ctypes.memset(job, 0, ctypes.sizeof(_MacJob))
            fields.src, fields.hash_offset = _address(message), KEY_BYTES
            fields.hash_bytes = len(message) - KEY_BYTES
            fields.tag, fields.tag_bytes = ctypes.addressof(tags) + number * TAG_BYTES, TAG_BYTES
            fields.round_keys, fields.subkey1, fields.subkey2 = keys[number].places
            fields.cipher_mode, fields.direction = _NO_CIPHER, _ENCRYPT
            fields.hash_algorithm, fields.order = _CMAC, _HASH_FIRST
            done += self._ended(self._submit(self._manager))
        while done < count and (job := self._flush(self._manager)):
            done += self._ended(job)
        if done < count:
            raise OfframpError(f"cmac: the library refuses {count - done} of {count} messages")
        return [tags.raw[at : at + TAG_BYTES] for at in range(0, count * TAG_BYTES, TAG_BYTES)]

    @staticmethod
    def _ended(job: Any) -> bool:
        return bool(job) and job.contents.status == _COMPLETED

    def expand(self, key: int, round_keys: int, subkey1: int, subkey2: int) -> None:
        """Expand a key into round keys and subkeys; all four arguments are addresses."""
        unused = ctypes.create_string_buffer(_ROUND_KEYS + _ALIGNED)
        pointer = ctypes.c_void_p
        self._expand(pointer(key), pointer(round_keys), pointer(_aligned(unused)))
        self._subkeys(pointer(round_keys), pointer(subkey1), pointer(subkey2))


class _Keys:
    """A message's expanded key, at aligned addresses."""

    def __init__(self, engine: IpsecState, message: bytes) -> None:
        self._room = ctypes.create_string_buffer(_ROUND_KEYS + 2 * TAG_BYTES + _ALIGNED)
        at = _aligned(self._room)
        self.places = at, at + _ROUND_KEYS, at + _ROUND_KEYS + TAG_BYTES
        engine.expand(_address(message), *self.places)


def _address(content: bytes) -> int:
    return ctypes.cast(ctypes.c_char_p(content), ctypes.c_void_p).value or 0


def _aligned(room: Any) -> int:
    return -(-ctypes.addressof(room) // _ALIGNED) * _ALIGNED


class IpsecDevice(CpuDevice):
    """See the module; a :class:`offramp.device.Device`.

    Raises:
        OfframpError: no such library, or options out of range.
    """

    def __init__(self, options: IpsecOptions, name: str = "ipsec") -> None:
        if options.batch < 1:
            raise OfframpError(f"device {name}: batch {options.batch}: expected at least 1")
        self._engine, self._batch = IpsecState(), options.batch
        super().__init__(CpuOptions(depth=options.depth), name)

    def _work(self) -> None:
        while (jobs := self.together(self._batch)) is not None:
            codes = []
            for job in jobs:
                if job.function == MAC and KEY_BYTES <= len(job.message) <= KEY_BYTES + _MOST:
                    codes.append(job)
                elif job.era == self._era:
                    begun = time.monotonic_ns()
                    status, answer = self.call(job.function, job.message)
                    self._complete(job, Completion(job.request, status, answer, time.monotonic_ns() - begun))
            self._answer([job for job in codes if job.era == self._era])

    def _answer(self, jobs: Sequence[WaitingRequest]) -> None:
        begun = time.monotonic_ns()
        answers = self._engine.cmac([job.message for job in jobs])
        busy_ns = (time.monotonic_ns() - begun) // max(len(jobs), 1)
        for job, answer in zip(jobs, answers, strict=True):
            self._complete(job, Completion(job.request, Status.OK, answer, busy_ns))
