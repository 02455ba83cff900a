# SPDX-License-Identifier: Apache-2.0
"""Parser of a device's options: ``name=value`` separated by commas."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

from offramp_base.errors import OfframpError

T = TypeVar("T")


def parse(kind: type[T], text: str, device: str, first: str) -> T:
    """Parse a dataclass of numbers and texts; a value without a name is that of the field ``first``.

    Raises:
        OfframpError: an unknown name, or a value of another type or below 0.
    """
    known = {f.name: f.type for f in fields(kind)}  # type: ignore[arg-type]
    given: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        name, equals, value = part.partition("=")
        if not equals:
            name, value = first, name
        if name not in known:
            raise OfframpError(f"device {device}: no option {name}: expected {', '.join(known)}")
        try:
            given[name] = {"int": int, "float": float, "str": str}[str(known[name])](value)
        except ValueError:
            raise OfframpError(f"device {device}: {name}={value}: expected a number") from None
        if not isinstance(given[name], str) and not given[name] >= 0:
            raise OfframpError(f"device {device}: {name}={value}: expected 0 or more")
    return kind(**given)
