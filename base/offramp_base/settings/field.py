# SPDX-License-Identifier: Apache-2.0
"""Declaration of fields in dataclasses: ``epochs: Annotated[int, Field("Full-batch steps.", least=1)] = 60``."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

from offramp_base.settings.units import Unit

Choices = Mapping[str, str] | Sequence[str]
REQUIRED: Final = dataclasses.MISSING


@dataclass(frozen=True, slots=True)
class Field:
    """The meaning of a setting and the values it takes; command line, checks, files and JSON Schema come from it.

    Attributes:
        help: a sentence.
        key: name of option and key, where it is not the attribute's.
        least, most, above, below: bounds; the last two are not reached.
        unit: unit of a number that may be written with one, as ``4MB``.
        choices: choices of a text, or a function that lists them; a mapping says what each means.
        besides: whether a text that is no choice is good all the same.
        parse: makes the value from text; a ValueError says what was expected.
        item: makes each value of a repeated option from text, or key and value where the field is a mapping.
        metavar: the placeholder of the value in the help.
        group: heading in help, of this field and those after it.
        short: a flag of one letter.
        aliases: older names, which work and are not shown.
        position: it is an argument of the command, not an option.
        shown_default: text that the help shows in place of the default; empty for nothing.
        hidden: help does not show it.
        rare: help shows it only with ``--help-all``.
        written: the file is written at the end: the adapter checks before the work that it can be.
        filled: the same of a folder that is made where there is none.
        url: it may also be the URL of a place on another machine, which fsspec opens.
    """

    help: str
    _: KW_ONLY
    key: str | None = None
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    unit: Unit | None = None
    choices: Choices | Callable[[], Choices] | None = None
    besides: Callable[[str], bool] | None = None
    parse: Callable[[str], Any] | None = None
    item: Callable[[str], Any] | None = None
    metavar: str | None = None
    group: str | None = None
    short: str | None = None
    aliases: tuple[str, ...] = ()
    position: bool = False
    shown_default: str | None = None
    hidden: bool = False
    rare: bool = False
    written: bool = False
    filled: bool = False
    url: bool = False

    def options(self) -> dict[str, str]:
        """Each choice and what it means; empty without choices."""
        choices = self.choices() if callable(self.choices) else self.choices or ()
        return dict(choices) if isinstance(choices, Mapping) else dict.fromkeys(choices, "")

    def range(self) -> str:
        """The bounds in words; empty without any."""

        def said(bound: float) -> str:
            return self.unit.shown(bound) if self.unit and bound >= 1000 else f"{bound:g}"

        low = f"at least {said(self.least)}" if self.least is not None else ""
        low = f"more than {said(self.above)}" if self.above is not None else low
        high = f"at most {said(self.most)}" if self.most is not None else ""
        high = f"below {said(self.below)}" if self.below is not None else high
        if self.least is not None and self.most is not None:
            return f"{said(self.least)} to {said(self.most)}"
        return f"{low} and {high}" if low and high else low or high

    def holds(self, number: float) -> bool:
        """Whether a number is within the bounds; infinities and NaN never are."""
        return (
            abs(number) < float("inf")
            and (self.least is None or number >= self.least)
            and (self.above is None or number > self.above)
            and (self.most is None or number <= self.most)
            and (self.below is None or number < self.below)
        )


@dataclass(frozen=True, slots=True)
class Declared:
    """A field of a class of settings.

    Attributes:
        attribute, key: its name in Python, and that of option and key.
        group: heading in help.
        kind: type of a value, or of each of ``many``; text where ``item`` makes them.
        mapping: the many are a mapping.
        optional: None is a value.
        default: :data:`REQUIRED` without one.
    """

    attribute: str
    key: str
    field: Field
    group: str | None
    kind: type
    many: bool
    mapping: bool
    optional: bool
    default: Any


def declared(settings: type) -> tuple[Declared, ...]:
    """The fields of a class of settings that :class:`Field` describes, in its order."""
    if settings not in _KNOWN:
        _KNOWN[settings] = tuple(_fields(settings))
    return _KNOWN[settings]


_KNOWN: dict[type, tuple[Declared, ...]] = {}


def _fields(settings: type) -> Iterator[Declared]:
    hints = get_type_hints(settings, include_extras=True)
    group = None
    for each in dataclasses.fields(settings):
        for note in getattr(hints[each.name], "__metadata__", ()):
            if isinstance(note, Field):
                group = note.group or group
                yield _declared(each, hints[each.name], note, group)


def _declared(each: dataclasses.Field[Any], hint: Any, field: Field, group: str | None) -> Declared:
    kind = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    optional = get_origin(kind) in (Union, UnionType) and NoneType in get_args(kind)
    if optional:
        kind = next(part for part in get_args(kind) if part is not NoneType)
    mapping = get_origin(kind) is Mapping
    many = mapping or get_origin(kind) in (tuple, list)
    default = each.default if each.default_factory is dataclasses.MISSING else each.default_factory()
    kind = str if field.item else get_args(kind)[0] if many else kind
    return Declared(each.name, field.key or each.name, field, group, kind, many, mapping, optional, default)
