# SPDX-License-Identifier: Apache-2.0
"""``cmac``: AES-CMAC (RFC 4493) with 128 bits: a message's authentication code, 16 bytes.

Request: the key, 16 bytes, and the content. Each AES block waits for the previous one, so a processor that computes one
code at a time leaves most of its units idle. Computed by OpenSSL without Python's lock.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from functools import cache
from typing import Any, Final

from offramp.device import Message
from offramp.leo.functions.registry import FUNCTIONS, Function, counted_bytes
from offramp_base.errors import OfframpError

MAC: Final = "cmac"
KEY_BYTES: Final = 16
TAG_BYTES: Final = 16


@cache
def _library() -> Any:
    name = ctypes.util.find_library("crypto")
    crypto = ctypes.CDLL(name) if name is not None else None
    if not hasattr(crypto, "EVP_Q_mac"):
        raise OfframpError("cmac: OpenSSL 3 is not installed: apt-get install libssl3")
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    text = ctypes.c_char_p
    crypto.EVP_Q_mac.restype = pointer  # type: ignore[union-attr]
    crypto.EVP_Q_mac.argtypes = [  # type: ignore[union-attr]
        *(pointer, text, text, text, pointer),
        *(text, size, text, size, text, size, ctypes.POINTER(size)),
    ]
    return crypto


def cmac(message: Message) -> bytes:
    """Authentication code of the content that follows the key.

    Raises:
        OfframpError: no key, or this machine has no OpenSSL 3.
    """
    content = bytes(message)
    if len(content) < KEY_BYTES:
        raise OfframpError(f"cmac: {len(content)} bytes: expected a key of {KEY_BYTES}")
    out, length = ctypes.create_string_buffer(TAG_BYTES), ctypes.c_size_t()
    key, content = content[:KEY_BYTES], content[KEY_BYTES:]
    written = _library().EVP_Q_mac(
        *(None, b"CMAC", None, b"AES-128-CBC", None),
        *(key, KEY_BYTES, content, len(content), out, TAG_BYTES, ctypes.byref(length)),
    )
    if not written or length.value != TAG_BYTES:
        raise OfframpError(f"cmac: OpenSSL refuses {len(content)} bytes")
    return out.raw


FUNCTIONS.register(MAC)(Function(cmac, lambda size, variant: counted_bytes(max(size, KEY_BYTES), variant)))
