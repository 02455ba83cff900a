# SPDX-License-Identifier: Apache-2.0
"""The compiled endpoints of SwitchGNN and of all-reduce, ``smartnic/switchgnn``: a library built when first needed."""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from typing import Any, Final

from offramp.cmake import build_once, cpp_sources, kept_folder, own_file, require_tools
from offramp.switchgnn.recovery import Recovery
from offramp.switchgnn.stats import LinkCounts, WorkerStats
from offramp_base.errors import OfframpError
from offramp_base.private_folder import make_cache

LIBRARY: Final = "libofframp-worker.so"
ERROR_BYTES: Final = 512
_OTHERS: Final = ("agent", "cmake", "fuzz", "ports", "store", "tests")
"""Folders beside the sources of the library and the endpoint."""
_LINK_WORDS: Final = len(fields(LinkCounts))
LINK_COUNTS: Final = ("received", "sent", "malformed")
"""Fields of :class:`~offramp_base.transport.base.LinkStats` that the library counts, in its order."""
STATS_WORDS: Final = 2 * _LINK_WORDS + len(fields(WorkerStats)) - 2
"""64-bit numbers of ``offramp::switchgnn::Stats``."""
_LOG: Final = logging.getLogger(__name__)


class WorkerSettings(ctypes.Structure):
    """``offramp_worker_settings``."""

    _fields_ = (
        ("worker", ctypes.c_uint32),
        ("window", ctypes.c_uint32),
        ("retry", ctypes.c_int64),
        ("cap", ctypes.c_int64),
        ("limit", ctypes.c_int64),
        ("tick", ctypes.c_int64),
        ("acks", ctypes.c_uint32),
        ("reupload", ctypes.c_uint32),
    )


class RankSettings(ctypes.Structure):
    """``offramp::allreduce::Settings``."""

    _fields_ = (
        ("rank", ctypes.c_uint32),
        ("ranks", ctypes.c_uint32),
        ("job", ctypes.c_uint32),
        ("pages", ctypes.c_uint32),
        ("segments", ctypes.c_uint32),
        ("flight", ctypes.c_uint32),
        ("first", ctypes.c_uint64),
        ("retry", ctypes.c_int64),
    )


_POINTER, _TEXT, _SIZE, _WORD, _LONG = (
    ctypes.c_void_p,
    ctypes.c_char_p,
    ctypes.c_size_t,
    ctypes.c_uint32,
    ctypes.c_uint64,
)
_OPENED = (ctypes.POINTER(WorkerSettings), _TEXT, _SIZE)
_FUNCTIONS: Final[dict[str, tuple[Any, tuple[Any, ...]]]] = {
    "worker_open": (_POINTER, (*_OPENED, ctypes.c_int, _POINTER, _TEXT)),
    "worker_start": (None, (_POINTER,)),
    "worker_begin": (None, (_POINTER, _WORD, _WORD, _POINTER, _POINTER)),
    "worker_run": (ctypes.c_int, (_POINTER, _TEXT)),
    "worker_stats": (None, (_POINTER, _POINTER)),
    "worker_close": (None, (_POINTER,)),
    "exchange_open": (_POINTER, (*_OPENED, _TEXT)),
    "exchange_start": (None, (_POINTER,)),
    "exchange_begin": (None, (_POINTER, _WORD, _WORD, _POINTER, _POINTER)),
    "exchange_over": (ctypes.c_int, (_POINTER,)),
    "exchange_outgoing": (_SIZE, (_POINTER, _SIZE, _POINTER, _POINTER)),
    "exchange_incoming": (None, (_POINTER, _POINTER, _SIZE, _POINTER, _SIZE)),
    "exchange_tick": (None, (_POINTER, ctypes.c_int64)),
    "exchange_numbers": (None, (_POINTER, _POINTER)),
    "exchange_state": (None, (_POINTER, _TEXT)),
    "exchange_close": (None, (_POINTER,)),
    "rank_open": (_POINTER, (ctypes.POINTER(RankSettings),)),
    "rank_begin": (None, (_POINTER, _WORD, _LONG, _POINTER, _POINTER)),
    "rank_outgoing": (_SIZE, (_POINTER, _SIZE, _POINTER)),
    "rank_incoming": (None, (_POINTER, _POINTER, _SIZE, _POINTER, _SIZE)),
    "rank_exchange": (ctypes.c_int, (_POINTER, ctypes.c_int, _SIZE, _SIZE, ctypes.c_int64, _POINTER)),
    "rank_tick": (None, (_POINTER, ctypes.c_int64)),
    "rank_numbers": (None, (_POINTER, _POINTER)),
    "rank_say": (None, (_POINTER, _WORD, _TEXT, _SIZE)),
    "rank_close": (None, (_POINTER,)),
}
"""Result and arguments of the library's functions, whose names begin with ``offramp_``."""


def settings_for(worker: int, recovery: Recovery | None, **more: int) -> WorkerSettings:
    """Settings of a worker; ``more`` are those that only a worker with a link of its own has."""
    recovery = recovery or Recovery()
    times = round(1e9 * recovery.timeout_s), round(1e9 * recovery.cap_s)
    return WorkerSettings(worker, retry=times[0], cap=times[1], acks=recovery.acks, reupload=recovery.reupload, **more)


def stats_of(counts: Sequence[int]) -> WorkerStats:
    """Counts of a worker, from :data:`STATS_WORDS` numbers of the library."""
    return WorkerStats(
        LinkCounts(*counts[:_LINK_WORDS]),
        LinkCounts(*counts[_LINK_WORDS : 2 * _LINK_WORDS]),
        *counts[2 * _LINK_WORDS :],
    )


@cache
def library() -> Any:
    """The library, built and loaded when first needed.

    Raises:
        OfframpError: it cannot be built or loaded.
    """
    require_tools("the worker's library")
    folder = kept_folder("switchgnn", cpp_sources(), "release", without=_OTHERS)
    make_cache(folder)
    build_once(cpp_sources() / "switchgnn", folder)
    path = own_file(folder / LIBRARY)
    try:
        lib = ctypes.CDLL(str(path))
    except OSError as error:
        raise OfframpError(f"{path}: {error}") from None
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(lib, f"offramp_{name}")
        function.restype, function.argtypes = result, arguments
    return lib


@cache
def available() -> bool:
    """Whether the library is available here; if not, the reason is logged and workers run in Python."""
    try:
        library()
    except OfframpError as error:
        _LOG.info("workers in Python: %s", error)
        return False
    return True
