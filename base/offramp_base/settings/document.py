# SPDX-License-Identifier: Apache-2.0
"""Settings from a file of YAML or TOML: flat, a key for each field."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from offramp_base.documents import is_number
from offramp_base.errors import OfframpError
from offramp_base.settings.check import check_value, from_text, from_texts
from offramp_base.settings.error import SettingsError, shown
from offramp_base.settings.field import REQUIRED, Declared, declared
from offramp_base.settings.source import Place, SourceFile, read_source

T = TypeVar("T")


class Given(NamedTuple):
    """A value, and its position: ``run.yaml:12``."""

    value: Any
    place: str


def read_settings(path: Path, classes: Sequence[type]) -> dict[str, Given]:
    """The values of a file of settings by attribute; its keys are fields of any of the ``classes``.

    Raises:
        OfframpError: it cannot be read, has an unknown key, or a value that its field does not take; names file, line
            and key.
    """
    source = read_source(path)
    if source.data is None:
        return {}
    if not isinstance(source.data, dict):
        raise source.error((), "expected a key and a value in each line")
    known = {each.key: each for each in (each for one in classes for each in declared(one))}
    return {
        known[key].attribute: Given(_taken(source, known[key], value), f"{source.name}:{source.line((key,))}")
        for key, value in source.data.items()
        if key in known or _unknown(source, key, known)
    }


def read_record(source: SourceFile, place: Place, kind: type[T], row: object) -> T:
    """An object of a settings class from the fields at a place of a file.

    Args:
        source: the file.
        place: place of the fields in it, for messages.
        kind: a dataclass whose fields are declared (:class:`~offramp_base.settings.field.Field`).
        row: what is there.

    Raises:
        OfframpError: no fields, an unknown key, one that is missing, or a value that its field does not take; names
            file, line and key.
    """
    if not isinstance(row, dict):
        raise source.error(place, "expected fields by name")
    known = {each.key: each for each in declared(kind)}
    values: dict[str, Any] = {}
    for key, value in row.items():
        if key not in known:
            raise source.error((*place, key), f"no such field; expected one of {', '.join(known)}")
        try:
            values[known[key].attribute] = from_document(known[key], value)
        except SettingsError as error:
            prefix = "" if error.value is None else f"{shown(error.value)}: "
            raise source.error((*place, key), f"{prefix}{error.problem}") from None
    for each in known.values():
        if each.default is REQUIRED and each.attribute not in values:
            raise source.error(place, f"expected {each.key}")
    return kind(**values)


def _unknown(source: SourceFile, key: str, known: dict[str, Declared]) -> bool:
    near = get_close_matches(key, list(known), 1, 0.0)
    raise source.error((key,), "no such field" + (f"; the nearest is {near[0]}" if near else ""))


def _taken(source: SourceFile, each: Declared, value: Any) -> Any:
    try:
        return from_document(each, value)
    except SettingsError as error:
        head = each.key if error.value is None else f"{each.key} {shown(error.value)}"
        raise OfframpError(f"{source.name}:{source.line((each.key,))}: {head}: {error.problem}") from None


def from_document(each: Declared, value: Any) -> Any:
    """The value of a field that a document gives: a text with a unit is parsed, a list stays one.

    Raises:
        SettingsError: it is of another kind, none of the choices, or out of range.
    """
    if value is None and each.optional:
        return None
    if each.many and each.field.parse is None:
        if not isinstance(value, list):
            raise SettingsError(each.attribute, f"expected a list of {_KINDS[each.kind]}", value)
        return from_texts(each, [_one(each, item) for item in value])
    if each.many and isinstance(value, list):
        if not value and each.default == ():
            return ()
        value = ",".join(map(str, value))  # as on the command line
    return _one(each, value)


def _one(each: Declared, value: Any) -> Any:
    field = each.field
    if isinstance(value, str) and (field.parse or field.unit):
        return from_text(each, value)
    if (field.parse or (field.unit and field.unit.bare > 1)) and is_number(value):
        return from_text(each, str(value))
    fits = {
        bool: isinstance(value, bool),
        int: isinstance(value, int) and not isinstance(value, bool),
        float: is_number(value),
        str: isinstance(value, str),
        Path: isinstance(value, str),
    }.get(each.kind, False)
    if not fits:
        raise SettingsError(each.attribute, f"expected {_KINDS.get(each.kind, 'text')}", value)
    converted = each.kind(value)
    check_value(each, converted)
    return converted


_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text", Path: "the name of a file"}
