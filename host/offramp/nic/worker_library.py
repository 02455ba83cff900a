# SPDX-License-Identifier: Apache-2.0
"""The worker's library (``smartnic/worker``): built when first needed, and its functions for Python."""

from __future__ import annotations

import ctypes
import logging
from functools import cache
from typing import Any, Final

from offramp.cmake import build_once, kept_folder, own_file, require_tools
from offramp.nic.build import source_root
from offramp_base.errors import OfframpError
from offramp_base.private_folder import make_private

LIBRARY: Final = "libofframp-worker.so"
WHY_BYTES: Final = 512
_OTHERS: Final = ("agent", "cmake", "fuzz", "ports", "store", "tests")
"""Folders beside the sources of the library and the endpoint."""
_LOG: Final = logging.getLogger(__name__)


class Settings(ctypes.Structure):
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


@cache
def library() -> Any:
    """The library, built and loaded when first needed.

    Raises:
        OfframpError: it cannot be built or loaded.
    """
    require_tools("the worker's library")
    folder = kept_folder("worker", source_root(), "release", without=_OTHERS)
    make_private(folder)
    build_once(source_root() / "worker", folder)
    path = own_file(folder / LIBRARY)
    try:
        lib = ctypes.CDLL(str(path))
    except OSError as error:
        raise OfframpError(f"{path}: {error}") from None
    pointer, number = ctypes.c_void_p, ctypes.c_uint32
    text = ctypes.c_char_p
    opened = (ctypes.POINTER(Settings), text, ctypes.c_size_t, ctypes.c_int, pointer, text)
    for name, result, arguments in (
        ("open", pointer, opened),
        ("start", None, (pointer,)),
        ("begin", None, (pointer, number, number, pointer, pointer)),
        ("run", ctypes.c_int, (pointer, text)),
        ("stats", None, (pointer, pointer)),
        ("close", None, (pointer,)),
    ):
        function = getattr(lib, f"offramp_worker_{name}")
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
