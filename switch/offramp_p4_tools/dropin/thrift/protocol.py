# SPDX-License-Identifier: Apache-2.0
"""Thrift's binary protocol: values by their types, messages by their kind.

Types are written as in Thrift's own language: ``i32``, ``binary``, ``list<BmMatchParam>``, or the name of a struct in
:data:`~offramp_p4_tools.dropin.thrift.services.STRUCTS`. A struct is a dictionary by names of fields.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from offramp_base.errors import OfframpError

Fields = Sequence[tuple[int, str, str]]
"""Number, name and type of each field of a struct, or of each argument of a method."""

CALL, REPLY, EXCEPTION = 1, 2, 3
MAX_MESSAGE: Final = 16 << 20
"""Bytes of a message, in either direction of a configuration."""
_VERSION: Final = 0x80010000
_STOP, _BOOL, _STRUCT, _MAP, _SET, _LIST = 0, 2, 12, 13, 14, 15
_SCALARS: Final = {"byte": (3, ">b"), "double": (4, ">d"), "i16": (6, ">h"), "i32": (8, ">i"), "i64": (10, ">q")}
_BYTES: Final = 11
_MAX_DEPTH: Final = 16


class ThriftError(OfframpError):
    """Bytes that are no message of the protocol, or a value that does not fit its type."""


@dataclass(frozen=True)
class ThriftMessage:
    """The head of a message; ``name`` is ``service:method``."""

    name: str
    kind: int
    sequence: int


class ThriftWriter:
    """Writes values."""

    def __init__(self, structs: Mapping[str, Fields]) -> None:
        self._structs = structs
        self.data = bytearray()

    def message(self, head: ThriftMessage) -> None:
        """The head of a message."""
        self._pack(">I", _VERSION | head.kind)
        self._bytes(head.name.encode())
        self._pack(">i", head.sequence)

    def fields(self, fields: Fields, values: Mapping[str, Any]) -> None:
        """The fields of a struct that have a value."""
        for number, name, kind in fields:
            if values.get(name) is not None:
                self._pack(">bh", self._code(kind), number)
                self.value(kind, values[name])
        self.data.append(_STOP)

    def value(self, kind: str, value: Any) -> None:
        """A value of a type."""
        if kind in _SCALARS:
            self._pack(_SCALARS[kind][1], value)
        elif kind == "bool":
            self.data.append(bool(value))
        elif kind in {"string", "binary"}:
            self._bytes(value.encode() if isinstance(value, str) else value)
        elif kind.startswith("list<"):
            inner = kind[5:-1]
            self._pack(">bi", self._code(inner), len(value))
            for item in value:
                self.value(inner, item)
        elif kind.startswith("map<"):
            self._pack(">bbi", _BYTES, _BYTES, len(value))
            for pair in value.items():
                for text in pair:
                    self._bytes(text.encode())
        else:
            self.fields(self._structs[kind], value)

    def _code(self, kind: str) -> int:
        if kind in _SCALARS:
            return _SCALARS[kind][0]
        if kind in {"string", "binary"}:
            return _BYTES
        return (
            _BOOL
            if kind == "bool"
            else _LIST
            if kind.startswith("list<")
            else _MAP
            if kind.startswith("map<")
            else _STRUCT
        )

    def _bytes(self, data: bytes) -> None:
        self._pack(">i", len(data))
        self.data += data

    def _pack(self, form: str, *values: Any) -> None:
        try:
            self.data += struct.pack(form, *values)
        except struct.error as error:
            raise ThriftError(f"Thrift: {error}") from None


class ThriftReader:
    """Reads values from ``take``, which gives as many bytes as asked or raises.

    A message has at most :data:`MAX_MESSAGE` bytes; lengths are checked before anything is allocated.
    """

    def __init__(self, structs: Mapping[str, Fields], take: Callable[[int], bytes]) -> None:
        self._structs = structs
        self._take = take
        self._left = MAX_MESSAGE

    def message(self) -> ThriftMessage:
        """The head of a message.

        Raises:
            ThriftError: the bytes are not a message.
        """
        first = self._unpack(">I")
        if first & 0xFFFF0000 != _VERSION or first & 0xFF not in {CALL, REPLY, EXCEPTION}:
            raise ThriftError("Thrift: the first bytes are no message of the strict binary protocol")
        name = self._bytes(256).decode("utf-8", "replace")
        return ThriftMessage(name, first & 0xFF, self._unpack(">i"))

    def fields(self, fields: Fields, depth: int = 0) -> dict[str, Any]:
        """A struct; unknown fields, and those of another type, are skipped."""
        known = {number: (name, kind) for number, name, kind in fields}
        out: dict[str, Any] = {}
        if depth > _MAX_DEPTH:
            raise ThriftError("Thrift: nested too deeply")
        while (code := self._unpack(">b")) != _STOP:
            number = self._unpack(">h")
            if number in known and self._matches(code, known[number][1]):
                name, kind = known[number]
                out[name] = self.value(kind, depth + 1)
            else:
                self._skip(code, depth + 1)
        return out

    def value(self, kind: str, depth: int = 0) -> Any:
        """A value of a type."""
        if kind in _SCALARS:
            return self._unpack(_SCALARS[kind][1])
        if kind == "bool":
            return bool(self._unpack(">b"))
        if kind == "binary":
            return self._bytes()
        if kind == "string":
            return self._bytes().decode("utf-8", "replace")
        if kind.startswith("list<"):
            code, length = self._unpack(">b"), self._length()
            if length and not self._matches(code, kind[5:-1]):
                raise ThriftError(f"Thrift: a list of another type than {kind[5:-1]}")
            return [self.value(kind[5:-1], depth + 1) for _ in range(length)]
        if kind.startswith("map<"):
            self._unpack(">h")
            return {self.value("string"): self.value("string") for _ in range(self._length())}
        return self.fields(self._structs[kind], depth)

    def _matches(self, code: int, kind: str) -> bool:
        if kind in _SCALARS:
            return code == _SCALARS[kind][0]
        if kind in {"string", "binary"}:
            return code == _BYTES
        if kind == "bool":
            return code == _BOOL
        return code == (_LIST if kind.startswith("list<") else _MAP if kind.startswith("map<") else _STRUCT)

    def _skip(self, code: int, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise ThriftError("Thrift: nested too deeply")
        sizes = {1: 0, _BOOL: 1, **{c: struct.calcsize(f) for c, f in _SCALARS.values()}}
        if code in sizes:
            self._read(sizes[code])
        elif code == _BYTES:
            self._bytes()
        elif code == _STRUCT:
            self.fields((), depth)
        elif code in {_LIST, _SET}:
            inner = self._unpack(">b")
            for _ in range(self._length()):
                self._skip(inner, depth + 1)
        elif code == _MAP:
            key, value = self._unpack(">b"), self._unpack(">b")
            for _ in range(self._length()):
                self._skip(key, depth + 1)
                self._skip(value, depth + 1)
        else:
            raise ThriftError(f"Thrift: unknown type {code}")

    def _length(self) -> int:
        length: int = self._unpack(">i")
        if not 0 <= length <= self._left:
            raise ThriftError(f"Thrift: a list of {length} elements")
        return length

    def _bytes(self, most: int = MAX_MESSAGE) -> bytes:
        length = self._unpack(">i")
        if not 0 <= length <= min(most, self._left):
            raise ThriftError(f"Thrift: a text of {length} bytes")
        return self._read(length)

    def _unpack(self, form: str) -> Any:
        return struct.unpack(form, self._read(struct.calcsize(form)))[0]

    def _read(self, size: int) -> bytes:
        self._left -= size
        if self._left < 0:
            raise ThriftError(f"Thrift: a message of more than {MAX_MESSAGE} bytes")
        return self._take(size) if size else b""
