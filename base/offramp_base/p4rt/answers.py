# SPDX-License-Identifier: Apache-2.0
"""Responses of a gRPC server, as far as they make sense: clients trust servers no more than servers trust them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

_MOST_TEXT: Final = 4096


def one_line(text: str) -> str:
    """A server's text as one line of bounded length, without control characters for a terminal."""
    return "".join(c if c.isprintable() else " " for c in text[:_MOST_TEXT]).strip()


def reader(kind: Any) -> Callable[[bytes], Any]:
    """A deserialiser that gives None for bytes that are no message: gRPC then ends the call, without a traceback."""
    from google.protobuf.message import DecodeError

    def read(raw: bytes) -> Any:
        try:
            return kind.FromString(raw)
        except DecodeError:
            return None

    return read


def details_of(error: Any, status: Any, detail: Any) -> list[Any]:
    """Details of type ``detail`` in a failed call's ``google.rpc.Status``; empty if the server sends something else."""
    from google.protobuf.message import DecodeError

    packed = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin")
    details = []
    try:
        for each in status.FromString(packed).details if packed else ():
            unpacked = detail()
            each.Unpack(unpacked)
            details.append(unpacked)
    except DecodeError:
        return []
    return details
