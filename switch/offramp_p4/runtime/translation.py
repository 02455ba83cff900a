# SPDX-License-Identifier: Apache-2.0
"""Values that controllers name otherwise than the data plane: ``@p4runtime_translation`` (sections 10.4.6 and 20)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from offramp_base.errors import OfframpError
from offramp_base.p4rt.status import Code, RpcError
from offramp_base.p4rt.values import OutOfRangeError, decode, encode
from offramp_p4.types import Bits, Newtype, strip

if TYPE_CHECKING:
    from offramp_p4.ir import Program

MAX_STRINGS = 65536
"""Strings that one type may name; each is kept for the life of the switch."""


class TranslationCodec(Protocol):
    """The translation of one type's values between controller and data plane.

    ``plain`` says that both sides use the same numbers, so that masks, prefixes and ranges have a meaning.
    """

    plain: bool

    def decode(self, data: bytes, what: str) -> int:
        """The data plane's value; OfframpError if it is none."""

    def encode(self, value: int) -> bytes:
        """The controller's value."""


class Plain:
    """Untranslated numbers; ``width`` 0 is any width."""

    plain = True

    def __init__(self, width: int) -> None:
        self.width = width or None

    def decode(self, data: bytes, what: str) -> int:
        """The number in a bytestring (section 10.3)."""
        return decode(data, self.width, what)

    def encode(self, value: int) -> bytes:
        """The shortest bytestring."""
        return encode(value)


class Renumbered:
    """``sdn_bitwidth``: the controller's numbers have ``width`` bits, those of the data plane ``inner``.

    Without a table the numbers are the same; with one only the numbers in it exist.
    """

    def __init__(self, width: int, inner: int, table: Mapping[int, int]) -> None:
        self._width, self._inner = width, inner
        self.plain = not table and width == inner
        self._inward = dict(table)
        self._outward = {mine: theirs for theirs, mine in table.items()}

    def decode(self, data: bytes, what: str) -> int:
        """The data plane's number."""
        number = decode(data, self._width, what)
        if not self._inward:
            if number >> self._inner:
                raise OutOfRangeError(f"{what}: {number:#x} does not fit the {self._inner} bits of the data plane")
            return number
        if number not in self._inward:
            raise OfframpError(f"{what}: {number} is translated to nothing")
        return self._inward[number]

    def encode(self, value: int) -> bytes:
        """The controller's number; what has none keeps the data plane's."""
        return encode(self._outward.get(value, value))


class StringTranslation:
    """``sdn_string``: a string gets its number from the table, or the lowest free one when it is first used.

    A number of the data plane that no controller has named is called by its decimal digits.
    """

    plain = False

    def __init__(self, inner: int, table: Mapping[str, int]) -> None:
        self._numbers = dict(table)
        self._names = {number: name for name, number in table.items()}
        self._limit = min(1 << inner, MAX_STRINGS)
        self._next = 0

    def decode(self, data: bytes, what: str) -> int:
        """The number of a name, new or known."""
        try:
            name = data.decode("utf-8")
        except UnicodeDecodeError:
            raise OfframpError(f"{what}: expected a string in UTF-8") from None
        if not name:
            raise OfframpError(f"{what}: an empty string is not a value")
        if name not in self._numbers:
            self._bind(name, self._free(what))
        return self._numbers[name]

    def encode(self, value: int) -> bytes:
        """The name of a number."""
        if value not in self._names:
            name = str(value)
            while name in self._numbers:  # a controller's name that looks like a number
                name = f"#{name}"
            self._bind(name, value)
        return self._names[value].encode()

    def _bind(self, name: str, number: int) -> None:
        self._names[number] = name
        self._numbers[name] = number

    def _free(self, what: str) -> int:
        while self._next in self._names:
            self._next += 1
        if self._next >= self._limit:
            raise RpcError(Code.RESOURCE_EXHAUSTED, f"{what}: all {self._limit} values have names")
        return self._next


class Translations:
    """The translated types of a device; they last longer than its pipelines.

    Args:
        tables: for a type's name, the controller's value to the data plane's; types left out follow the rules of
            :class:`Renumbered` and :class:`StringTranslation`.
    """

    def __init__(self, tables: Mapping[str, Mapping[str, int]] | None = None) -> None:
        self._tables = dict(tables or {})
        self._named: dict[tuple[str, int], StringTranslation] = {}

    def codec(self, program: Program, info: Any, type_name: str, width: int) -> TranslationCodec:
        """The codec of a match field, parameter or metadata with this ``type_name`` and ``bitwidth`` in P4Info.

        Raises:
            OfframpError: the table given for the type does not fit it.
        """
        spec = info.type_info.new_types.get(type_name)
        if spec is None or spec.WhichOneof("representation") != "translated_type":
            return Plain(width)
        inner = _inner_width(program, type_name)
        table = self._tables.get(type_name, {})
        outside = [name for name, value in table.items() if not 0 <= value < 1 << inner]
        if outside:
            raise OfframpError(f"translation of {type_name}: the value of {outside[0]!r} does not fit {inner} bits")
        if len(set(table.values())) != len(table):
            raise OfframpError(f"translation of {type_name}: two names have one value")
        if spec.translated_type.WhichOneof("sdn_type") == "sdn_string":
            key = type_name, inner
            if key not in self._named:
                self._named[key] = StringTranslation(inner, table)
            return self._named[key]
        return Renumbered(width, inner, _numbers(type_name, table))


def read_tables(path: Path) -> dict[str, dict[str, int]]:
    """The tables of a JSON file such as ``{"port_id_t": {"Ethernet0": 1}}``.

    Raises:
        OfframpError: it cannot be read or has another form.
    """
    from offramp_base.documents import parse_json, read_text

    try:
        raw = parse_json(read_text(path))
    except OfframpError as error:
        raise OfframpError(f"{path}: {error}") from None
    tables = raw.values() if isinstance(raw, dict) else [None]
    if not all(isinstance(t, dict) and all(type(value) is int for value in t.values()) for t in tables):
        raise OfframpError(f'{path}: expected a table for each type, {{"TYPE": {{"VALUE": NUMBER}}}}')
    return dict(raw)


def data_width(program: Program, info: Any, field: Any) -> int:
    """The bits in the data plane of a match field, parameter or metadata of P4Info."""
    name = field.type_name.name
    if name in info.type_info.new_types and info.type_info.new_types[name].HasField("translated_type"):
        return _inner_width(program, name)
    return int(field.bitwidth)


def _inner_width(program: Program, type_name: str) -> int:
    declared = program.types.get(type_name)
    if declared is None:
        raise OfframpError(f"type {type_name}: the program has no such type")
    bare = strip(declared) if isinstance(declared, Newtype) else declared
    if not isinstance(bare, Bits):
        raise OfframpError(f"type {type_name}: only bit<W> can be translated")
    return bare.width


def _numbers(type_name: str, table: Mapping[str, int]) -> dict[int, int]:
    try:
        return {int(name, 0): value for name, value in table.items()}
    except ValueError:
        raise OfframpError(f"translation of {type_name}: the controller's values are numbers") from None
