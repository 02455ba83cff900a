# SPDX-License-Identifier: Apache-2.0
"""The common base of the handlers of all kinds of entities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, Protocol, TypeVar

from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.status import Code, RpcError
from offramp_base.p4rt.values import OutOfRangeError
from offramp_p4.state import StateError

T = TypeVar("T")
INSERT, MODIFY, DELETE = v1.Update.INSERT, v1.Update.MODIFY, v1.Update.DELETE

_CODES = {
    "not_found": Code.NOT_FOUND,
    "already_exists": Code.ALREADY_EXISTS,
    "invalid": Code.INVALID_ARGUMENT,
    "exhausted": Code.RESOURCE_EXHAUSTED,
    "permission_denied": Code.PERMISSION_DENIED,
}


class Handler(Protocol):
    """Writes and reads the entities of one kind; both raise RpcError or StateError."""

    def write(self, kind: int, entry: Any) -> None:
        """Apply one update; ``kind`` is INSERT, MODIFY or DELETE."""

    def read(self, wanted: Any) -> Iterator[Any]:
        """The ``p4.v1.Entity`` messages that match ``wanted``."""


def invalid(message: str) -> RpcError:
    """An INVALID_ARGUMENT error."""
    return RpcError(Code.INVALID_ARGUMENT, message)


def copied(message: Any) -> Any:
    """A copy that keeps nothing else of the request alive."""
    duplicate = type(message)()
    duplicate.CopyFrom(message)
    return duplicate


def as_rpc_error(error: Exception) -> RpcError:
    """Any failure of a handler as a status."""
    if isinstance(error, RpcError):
        return error
    if isinstance(error, StateError):
        return RpcError(_CODES[error.kind], str(error))
    if isinstance(error, OutOfRangeError):
        return RpcError(Code.OUT_OF_RANGE, str(error))
    return RpcError(Code.INVALID_ARGUMENT, str(error))


def modify_only(kind: int, what: str) -> None:
    """Refuse INSERT and DELETE for entities that always exist."""
    if kind != MODIFY:
        raise invalid(f"{what} can only be modified")


def cells(entry: Any, size: int, what: str) -> range:
    """The indices that an entry with an optional ``index`` names.

    Raises:
        RpcError: negative (INVALID_ARGUMENT) or beyond the array (OUT_OF_RANGE).
    """
    if not entry.HasField("index"):
        return range(size)
    index = entry.index.index
    if index < 0:
        raise invalid(f"{what}: index {index} is negative")
    if index >= size:
        raise RpcError(Code.OUT_OF_RANGE, f"{what}: index {index} is outside 0..{size - 1}")
    return range(index, index + 1)


class ById(Generic[T]):
    """The objects of one kind by P4Runtime id."""

    def __init__(self, word: str, objects: dict[int, T]) -> None:
        self.word = word
        self.objects = objects

    def get(self, identifier: int) -> T:
        """The object with an id.

        Raises:
            RpcError: there is none.
        """
        try:
            return self.objects[identifier]
        except KeyError:
            raise invalid(f"no {self.word} has id {identifier:#010x}") from None

    def select(self, identifier: int) -> list[tuple[int, T]]:
        """One object, or all of them for id 0, each with its id."""
        return [(identifier, self.get(identifier))] if identifier else list(self.objects.items())


def by_id(word: str, infos: Any, states: Callable[[str], T]) -> ById[T]:
    """Pair the objects of a P4Info field with the state of the same name."""
    return ById(word, {info.preamble.id: states(info.preamble.name) for info in infos})
