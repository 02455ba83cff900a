# SPDX-License-Identifier: Apache-2.0
"""Values from texts, and refusals of what a field does not take."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from offramp_base.settings.error import SettingsError, shown
from offramp_base.settings.field import Declared, declared


def check(settings: Any) -> None:
    """Refuse a dataclass with a value out of its field's choices or range.

    Raises:
        SettingsError: names field, value and what the field takes.
    """
    for each in declared(type(settings)):
        check_field(each, getattr(settings, each.attribute))


def check_field(each: Declared, value: Any) -> None:
    """Refuse the value of a field, or one of the values of a repeated field.

    Raises:
        SettingsError: it is not one of the choices, or out of range.
    """
    many = each.many and value is not None
    for one in () if each.field.item else value if many else (value,):
        if one is not None:
            check_value(each, one)


def check_value(each: Declared, value: Any) -> None:
    """Refuse one value.

    Raises:
        SettingsError: it is not one of the choices, or out of range.
    """
    field = each.field
    if isinstance(value, str):
        if field.choices is not None and field.parse is None:
            expect_choice(each.attribute, value, field.options(), besides=bool(field.besides and field.besides(value)))
    elif isinstance(value, int | float) and not isinstance(value, bool) and not field.holds(value):
        raise SettingsError(each.attribute, f"expected {field.range() or 'a finite number'}", value)


def expect_choice(field: str, value: str, choices: Iterable[str], *, besides: bool = False) -> None:
    """Refuse a value that is not one of ``choices``, unless it is good ``besides``.

    Raises:
        SettingsError: lists the choices.
    """
    known = tuple(choices)
    if value not in known and not besides:
        raise SettingsError(field, f"expected one of {', '.join(known)}", value)


def from_text(each: Declared, text: str) -> Any:
    """The value of a field with a unit or a parser of its own.

    Raises:
        SettingsError: its parser refuses the text.
    """
    parse = each.field.unit.parse if each.field.unit else each.field.parse or each.field.item
    if parse is None:
        return text
    try:
        return parse(text)
    except ValueError as error:
        raise SettingsError(each.attribute, str(error), text) from None


def from_texts(each: Declared, texts: Iterable[Any]) -> Any:
    """The values of a repeated option; anything but a string is taken as a value already.

    Raises:
        SettingsError: a text is refused, or a key of a mapping is given two values.
    """
    values = tuple(from_text(each, text) if isinstance(text, str) else text for text in texts)
    if not each.mapping:
        return values
    by_key: dict[Any, Any] = {}
    for key, value in values:
        if by_key.setdefault(key, value) != value:
            reason = "given twice" if key is None else f"{key} is given twice"
            raise SettingsError(each.attribute, f"{reason}: {shown(by_key[key])} and {shown(value)}")
    return by_key
