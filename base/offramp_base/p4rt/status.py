# SPDX-License-Identifier: Apache-2.0
"""Errors of P4Runtime calls: canonical codes, and one error for each update of a batch (section 10)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from offramp_base.errors import MultilineError


class Code(IntEnum):
    """Canonical codes of google.rpc."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class RpcError(MultilineError):
    """A P4Runtime call that failed.

    Attributes:
        code: canonical code of the call.
        message: the server's message.
        errors: for a batch, one ``p4.v1.Error`` for each update or entity, else empty.
    """

    def __init__(self, code: Code, message: str, errors: Sequence[Any] = ()) -> None:
        self.code = code
        self.message = message
        self.errors = list(errors)
        super().__init__(message if code is Code.UNAVAILABLE else f"{code.name}: {message}")


def code_of(number: int) -> Code:
    """The code of a number; an unassigned number is UNKNOWN."""
    try:
        return Code(number)
    except ValueError:
        return Code.UNKNOWN
