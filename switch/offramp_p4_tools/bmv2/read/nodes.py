# SPDX-License-Identifier: Apache-2.0
"""Parts of an untrusted JSON document; each knows its path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from offramp_base.errors import OfframpError

MAX_BITS: Final = 1 << 16
"""Widest number in the document, in bits."""
MAX_SIZE: Final = (1 << 31) - 1
"""Largest size of a table or an array, and largest id."""
_HEX: Final = re.compile(r"-?(0x)?[0-9a-fA-F]+")


class JsonError(OfframpError):
    """A fault in a bmv2 JSON document, with the place of the fault in it."""


@dataclass(frozen=True, slots=True)
class JsonNode:
    """A value of the document at ``path``, such as ``pipelines[0].tables[3].key``."""

    value: Any
    path: str

    def fail(self, message: str) -> NoReturn:
        """Raise the error for this part."""
        raise JsonError(f"{self.path or 'the document'}: {message}")

    def __getitem__(self, key: str | int) -> JsonNode:
        if isinstance(key, int):
            if not isinstance(self.value, list) or not 0 <= key < len(self.value):
                self.fail(f"expected a list with more than {key} elements")
            return JsonNode(self.value[key], f"{self.path}[{key}]")
        if not isinstance(self.value, dict):
            self.fail("expected an object")
        if key not in self.value:
            self.fail(f"'{key}' is missing")
        return JsonNode(self.value[key], f"{self.path}.{key}" if self.path else key)

    def __contains__(self, key: str) -> bool:
        """Whether there is something other than null under ``key``."""
        return isinstance(self.value, dict) and self.value.get(key) is not None

    def __iter__(self) -> Iterator[JsonNode]:
        if not isinstance(self.value, list):
            self.fail("expected a list")
        for i, item in enumerate(self.value):
            yield JsonNode(item, f"{self.path}[{i}]")

    def __len__(self) -> int:
        return len(self.value) if isinstance(self.value, list) else self.fail("expected a list")

    def __bool__(self) -> bool:
        return True

    def get(self, key: str) -> JsonNode | None:
        """The node under ``key``; None where it is missing or null."""
        return JsonNode(self.value[key], self[key].path) if key in self else None

    def each(self, key: str) -> Iterator[JsonNode]:
        """The elements of the list under ``key``; none where it is missing."""
        return iter(self[key]) if key in self else iter(())

    @property
    def text(self) -> str:
        """The value as a string."""
        return self.value if isinstance(self.value, str) else self.fail("expected a string")

    @property
    def flag(self) -> bool:
        """The value as true or false."""
        return self.value if isinstance(self.value, bool) else self.fail("expected true or false")

    def number(self, low: int, high: int) -> int:
        """The value as an integer from ``low`` to ``high``."""
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            self.fail("expected a number")
        if not low <= self.value <= high:
            self.fail(f"{self.value} is not in {low}..{high}")
        return self.value

    @property
    def hex(self) -> int:
        """The value of a hexadecimal string."""
        if not _HEX.fullmatch(self.text) or len(self.text) > MAX_BITS // 4:
            self.fail("expected a hexadecimal number")
        return int(self.text, 16)

    def choice(self, *words: str) -> str:
        """The value as one of some words."""
        if self.text not in words:
            self.fail(f"'{self.text[:80]}': expected one of {', '.join(words)}")
        return self.text
