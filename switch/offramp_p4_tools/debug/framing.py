# SPDX-License-Identifier: Apache-2.0
"""Messages of the Debug Adapter Protocol: ``Content-Length``, an empty line, a JSON object in UTF-8."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, BinaryIO, Final

from offramp_base.errors import OfframpError
from offramp_base.listening.objects import parse_object
from offramp_base.numerals import whole_number

MAX_MESSAGE: Final = 1 << 20
"""Bytes of a message from a client."""
_MAX_LINE, _MAX_LINES = 256, 8


def read_message(stream: BinaryIO) -> dict[str, Any] | None:
    """The next message; None at the end of the stream.

    Raises:
        OfframpError: it is not a message, or longer than :data:`MAX_MESSAGE`.
        OSError: the stream has failed.
    """
    length = _header(stream)
    if length is None:
        return None
    if length > MAX_MESSAGE:
        raise OfframpError(f"a message of {length} bytes: expected at most {MAX_MESSAGE}")
    content = stream.read(length)
    if len(content) < length:
        return None
    return parse_object(content, "message")


def write_message(stream: BinaryIO, message: Mapping[str, Any]) -> None:
    """Send a message.

    Raises:
        OSError: the stream has failed.
    """
    content = json.dumps(message, allow_nan=False).encode()
    stream.write(b"Content-Length: %d\r\n\r\n%b" % (len(content), content))
    stream.flush()


def _header(stream: BinaryIO) -> int | None:
    length = None
    for at in range(_MAX_LINES):
        line = stream.readline(_MAX_LINE)
        if not line:
            return None
        if not line.endswith(b"\n"):
            raise OfframpError(f"a line of a header of more than {_MAX_LINE} bytes, or cut off")
        if not line.strip():
            if length is None:
                raise OfframpError("a message without Content-Length")
            return length
        name, colon, value = line.decode("ascii", "replace").partition(":")
        if not colon:
            raise OfframpError(f"line {at + 1} of a header is not NAME: VALUE")
        if name.strip().lower() == "content-length":
            length = whole_number(value.strip())
            if length is None:
                raise OfframpError("a Content-Length that is not a number")
    raise OfframpError(f"a header of more than {_MAX_LINES} lines")
