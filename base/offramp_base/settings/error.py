# SPDX-License-Identifier: Apache-2.0
"""An error about a setting, phrased in terms of the field; the caller names flag or file."""

from __future__ import annotations

import re
from collections.abc import Callable

from offramp_base.errors import OfframpError, printable

_REFERENCE = re.compile(r"\{([a-z][a-z0-9_]*)\}")


class SettingsError(OfframpError):
    """A field whose value is refused.

    Args:
        field: attribute of the settings.
        problem: the problem, as what was expected; ``{other}`` in it stands for the field ``other``.
        value: the value that was refused; None where the field alone says it.
    """

    def __init__(self, field: str, problem: str, value: object = None) -> None:
        super().__init__(field, problem, value)
        self.field, self.problem, self.value = field, problem, value

    def __str__(self) -> str:
        return self.line(plain)

    def line(self, name: Callable[[str, object], str]) -> str:
        """The line, with each field as ``name(field, value)`` calls it.

        Examples:
            >>> SettingsError("racks", "expected at most one for each of {workers}", 5).line(plain)
            'racks 5: expected at most one for each of workers'
        """
        rest = _REFERENCE.sub(lambda match: name(match[1], None), self.problem)
        return printable(f"{name(self.field, self.value)}: {rest}")


def plain(field: str, value: object) -> str:
    """A field by its own name, with its value."""
    return field if value is None else f"{field} {shown(value)}"


def shown(value: object) -> str:
    """A value as a user writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return ",".join(map(shown, value)) if isinstance(value, list | tuple) else str(value)
