# SPDX-License-Identifier: Apache-2.0
"""JSON objects from a peer, read and checked before anything is made of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from offramp_base.errors import OfframpError

Check = Callable[[Any], Any]
"""Returns a value that it has checked; raises ValueError, whose text is what was expected."""


def parse_object(raw: bytes, what: str) -> dict[str, Any]:
    """Read one JSON object.

    Raises:
        OfframpError: not JSON in UTF-8, no object, a name given twice, NaN or an infinity, or nested too deeply.
    """
    try:
        value = json.loads(raw.decode(), object_pairs_hook=_once, parse_constant=_constant)
    except (ValueError, RecursionError):
        raise OfframpError(f"{what}: expected a JSON object") from None
    if not isinstance(value, dict):
        raise OfframpError(f"{what}: expected a JSON object")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name given twice")
    return members


def _constant(name: str) -> Any:
    raise ValueError(name)


def check_object(members: Mapping[str, Any], fields: Mapping[str, Check], what: str) -> dict[str, Any]:
    """Return the fields that are described, each checked; others are refused.

    Raises:
        OfframpError: a field is missing, unknown or not what it should be; the error names it.
    """
    for name in members:
        if name not in fields:
            raise OfframpError(f"{what}: unknown field {name[:40]!r}")
    checked = {}
    for name, check in fields.items():
        try:
            checked[name] = check(members.get(name))
        except ValueError as error:
            raise OfframpError(f"{what}: field {name}: expected {error}") from None
    return checked


def integer(least: int, most: int) -> Check:
    """A check for a whole number from ``least`` to ``most``."""

    def check(value: Any) -> int:
        if type(value) is not int or not least <= value <= most:
            raise ValueError(f"a whole number from {least} to {most}")
        return value

    return check


def number(least: float, most: float) -> Check:
    """A check for a finite number from ``least`` to ``most``."""

    def check(value: Any) -> float:
        if type(value) not in (int, float) or not least <= value <= most:
            raise ValueError(f"a number from {least:g} to {most:g}")
        return float(value)

    return check


def text(most: int) -> Check:
    """A check for a string of at most ``most`` characters, all printable."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or len(value) > most or not value.isprintable():
            raise ValueError(f"at most {most} printable characters")
        return value

    return check


def choice(*values: str) -> Check:
    """A check for one of the ``values``."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in values:
            raise ValueError(f"one of {', '.join(values)}")
        return value

    return check


def array(item: Check, most: int) -> Check:
    """A check for a list of at most ``most`` items, each of which ``item`` checks."""

    def check(value: Any) -> list[Any]:
        if not isinstance(value, list) or len(value) > most:
            raise ValueError(f"a list of at most {most}")
        return [item(v) for v in value]

    return check


def optional(inner: Check) -> Check:
    """A check that accepts null (None), or else what ``inner`` accepts."""

    def check(value: Any) -> Any:
        return None if value is None else inner(value)

    return check
