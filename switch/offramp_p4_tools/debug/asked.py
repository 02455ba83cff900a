# SPDX-License-Identifier: Apache-2.0
"""Arguments of a request, checked where they are taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from offramp_base.errors import OfframpError

_MAX_TEXT: Final = 1 << 16
_MAX_LIST: Final = 4096
_MAX_NUMBER: Final = (1 << 31) - 1


class RequestArguments:
    """The arguments of a request; names that are not asked for do not matter.

    Every method raises an OfframpError that names the argument if it is invalid.
    """

    def __init__(self, given: object, path: str = "arguments") -> None:
        if given is None:
            given = {}
        if not isinstance(given, Mapping):
            raise OfframpError(f"{path}: expected an object")
        self._given, self._path = given, path

    def text(self, name: str, default: str | None = None) -> str:
        """A string; required if there is no default."""
        value = self._given.get(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, str) or len(value) > _MAX_TEXT or "\0" in value:
            raise self._expected(name, f"a text of at most {_MAX_TEXT} characters")
        return value

    def number(self, name: str, default: int | None = None, *, least: int = 0, most: int = _MAX_NUMBER) -> int:
        """A whole number; required if there is no default."""
        value = self._given.get(name)
        if value is None and default is not None:
            return default
        if type(value) is not int or not least <= value <= most:
            raise self._expected(name, f"a whole number from {least} to {most}")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        """A boolean."""
        value = self._given.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self._expected(name, "true or false")
        return value

    def object(self, name: str) -> RequestArguments:
        """An object, empty by default."""
        return RequestArguments(self._given.get(name), f"{self._path}.{name}")

    def objects(self, name: str) -> Sequence[RequestArguments]:
        """A list of objects, empty by default."""
        return [RequestArguments(each, f"{self._path}.{name}[{i}]") for i, each in enumerate(self._list(name))]

    def texts(self, name: str) -> Sequence[str]:
        """A list of strings, empty by default."""
        values = self._list(name)
        if not all(isinstance(each, str) and len(each) <= _MAX_TEXT and "\0" not in each for each in values):
            raise self._expected(name, "a list of texts")
        return values

    def _list(self, name: str) -> list[Any]:
        values = self._given.get(name)
        if values is None:
            return []
        if not isinstance(values, list) or len(values) > _MAX_LIST:
            raise self._expected(name, f"a list of at most {_MAX_LIST}")
        return values

    def _expected(self, name: str, what: str) -> OfframpError:
        return OfframpError(f"{self._path}.{name}: expected {what}")
