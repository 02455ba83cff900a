# SPDX-License-Identifier: Apache-2.0
"""Records: named words at fixed offsets, in memory that compiled Python and NumPy share.

A record is a class whose annotations are its words, one behind the other::

    class Queue(Record):
        packets: int                  # a word
        deficit: float                # a double
        head: At[Frame]               # a word: the address of a record
        lengths: Ints                 # a word: the address of elements
        free: Annotated[Words, 64]    # sixty-four words in place
        out: Buffer                   # another record in place
        rows: Within[Row]             # a word: the offset, in words from the beginning of this record

Compiled code reads and writes ``queue.packets``; ``queue.rows[n]`` and ``queue + n`` are the n-th record behind.
A subclass begins with the words of its base, so functions that take the base take it too.

Python sees the same layout: ``Queue.packets`` is the index of the word, :func:`offset` gives that of a field of any
type, ``Queue.WORDS`` is the size, and ``Queue(array)`` reads and writes an array by the names.
"""

from __future__ import annotations

import inspect
import struct
import sys
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Self, TypeVar, get_args, get_origin

from offramp_base.native.subset import Pointer

_T = TypeVar("_T")
_ADDRESS: Final = "address"
_WITHIN: Final = "within"

At = Annotated[_T, _ADDRESS]
"""The address of a record."""
Within = Annotated[_T, _WITHIN]
"""The offset of a record or of elements from the beginning of the record that holds this word."""


@dataclass(frozen=True, slots=True)
class FieldPlace:
    """The place of a field in its record.

    Attributes:
        offset: words from the beginning of the record.
        words: its size.
        kind: what is there or, of an address or offset, what that leads to: ``int``, ``float``, the name of a pointer
            of the subset, or a record.
        via: how to come there: ``""`` in place, ``"address"`` or ``"within"``.
    """

    offset: int
    words: int
    kind: str | type[Record]
    via: str = ""


class Offset(int):
    """The index of a word in a record; attributes are the words of a record in place."""

    place: FieldPlace

    def __getattr__(self, name: str) -> Offset:
        kind = self.place.kind
        if not isinstance(kind, str) and not self.place.via and name in kind.PLACES:
            return _offset(int(self) + kind.PLACES[name].offset, kind.PLACES[name])
        raise AttributeError(name)


def _offset(index: int, place: FieldPlace) -> Offset:
    offset = Offset(index)
    offset.place = place
    return offset


class _FieldDescriptor:
    """The descriptor of a field."""

    def __init__(self, place: FieldPlace) -> None:
        self._place = place
        self._offset = _offset(place.offset, place)

    def __get__(self, instance: Record | None, owner: type[Record]) -> Any:
        place = self._place
        if instance is None:
            return self._offset
        if (place.words == 1 and isinstance(place.kind, str)) or place.via:
            word = int(instance.words[place.offset])
            return struct.unpack("d", struct.pack("q", word))[0] if place.kind == "float" else word
        inside = instance.words[place.offset : place.offset + place.words]
        return inside if isinstance(place.kind, str) else place.kind(inside)

    def __set__(self, instance: Record, value: Any) -> None:
        place = self._place
        word = struct.unpack("q", struct.pack("d", value))[0] if place.kind == "float" else value
        instance.words[place.offset : place.offset + place.words] = word


class Record:
    """Named words; see the module.

    Attributes:
        WORDS: the size.
        PLACES: where each field is, by name.
        words: the array, of one that Python made.
    """

    WORDS: ClassVar[int] = 0
    PLACES: ClassVar[dict[str, FieldPlace]] = {}

    def __init__(self, words: Any) -> None:
        self.words = words[: self.WORDS]

    def __init_subclass__(cls) -> None:
        names = vars(sys.modules[cls.__module__]) | {cls.__name__: cls}
        cls.PLACES = dict(cls.PLACES)
        for name, hint in inspect.get_annotations(cls, globals=names, eval_str=True).items():
            place = cls.PLACES[name] = _place(hint, cls.WORDS)
            cls.WORDS += place.words
            setattr(cls, name, _FieldDescriptor(place))

    def __getitem__(self, index: int) -> Self:
        raise NotImplementedError

    def __add__(self, records: int) -> Self:
        raise NotImplementedError

    def __int__(self) -> int:
        raise NotImplementedError


def _place(hint: Any, offset: int) -> FieldPlace:
    if get_origin(hint) is Annotated:
        inner, mark = get_args(hint)
        if isinstance(mark, int):
            return FieldPlace(offset, mark, inner.__name__)
        return FieldPlace(offset, 1, inner if issubclass(inner, Record) else inner.__name__, mark)
    if issubclass(hint, Record):
        return FieldPlace(offset, hint.WORDS, hint)
    return FieldPlace(offset, 1, hint.__name__, _ADDRESS if issubclass(hint, Pointer) else "")


def offset(field: object) -> int:
    """The index of a field's first word: ``offset(Context.out)``; an index is returned as it is."""
    assert isinstance(field, int), field
    return int(field)
