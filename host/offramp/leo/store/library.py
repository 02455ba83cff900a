# SPDX-License-Identifier: Apache-2.0
"""libofframp's C interface for Python: its structures and functions, as declared in ``offramp.h``."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, Final

from offramp.leo.store.build import LIBRARY, built
from offramp_base.errors import OfframpError

ABI: Final = 1
ERROR_BYTES: Final = 256


class ServerSettings(ctypes.Structure):
    """``offramp_server_settings``."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("sync", ctypes.c_uint32),
        ("folder", ctypes.c_char_p),
        ("password", ctypes.c_char_p),
        ("memory", ctypes.c_uint64),
        ("value_bytes", ctypes.c_uint32),
        ("connections", ctypes.c_uint32),
        ("spin_us", ctypes.c_uint32),
        ("cut", ctypes.c_uint32),
        ("eviction", ctypes.c_uint32),
        ("backlog", ctypes.c_uint32),
    )


@cache
def library() -> Any:
    """The library, built and loaded when first needed.

    Raises:
        OfframpError: it cannot be built or loaded, or has another interface.
    """
    path = built(LIBRARY)
    try:
        lib = ctypes.CDLL(str(path))
    except OSError as error:
        raise OfframpError(f"{path}: {error}") from None
    lib.offramp_abi.restype = ctypes.c_uint32
    if (abi := lib.offramp_abi()) < ABI:
        raise OfframpError(f"{path}: interface {abi}, expected {ABI} or later")
    pointer, number, size = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t
    for name, result, arguments in (
        ("server_open", pointer, (ctypes.POINTER(ServerSettings), ctypes.c_char_p)),
        ("server_listen", None, (pointer, number, number)),
        ("server_adopt", None, (pointer, number, number)),
        ("server_join", None, (pointer, *[ctypes.c_uint32] * 2, ctypes.POINTER(ctypes.c_uint16), ctypes.c_char_p)),
        (
            "server_follow",
            number,
            (pointer, ctypes.c_char_p, ctypes.c_uint16, ctypes.c_uint16, ctypes.c_char_p),
        ),
        ("server_run", None, (pointer,)),
        ("server_stop", None, (pointer,)),
        ("server_recovered", None, (pointer, *[ctypes.POINTER(ctypes.c_uint64)] * 3)),
        ("server_close", None, (pointer,)),
        ("client_of", pointer, (number, ctypes.c_char_p)),
        ("submit_encoded", number, (pointer, ctypes.c_char_p, size, size, ctypes.c_uint64, ctypes.c_char_p)),
        ("poll", ctypes.c_int64, (pointer, pointer, size, ctypes.c_char_p)),
        ("wait", number, (pointer, number, ctypes.c_char_p)),
        ("descriptor", number, (pointer,)),
        ("unsent", size, (pointer,)),
        ("close", None, (pointer,)),
    ):
        function = getattr(lib, f"offramp_{name}")
        function.restype, function.argtypes = result, arguments
    return lib


def reason() -> Any:
    """Buffer for the line in which a function reports an error."""
    return ctypes.create_string_buffer(ERROR_BYTES)


def said(buffer: Any) -> str:
    """The line in such a buffer."""
    return str(buffer.value.decode(errors="replace"))
