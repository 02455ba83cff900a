# SPDX-License-Identifier: Apache-2.0
"""Objects as messages between ranks: typed, and encoded without code.

A message is a header, a tree in JSON, and arrays as they lie in memory. The receiver names the type that it expects and
builds nothing else: the type hints of that class say what each field may be, and only classes marked with
:func:`sendable` travel at all. No class, function or module is ever named on the wire.
"""

from __future__ import annotations

import json
import struct
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, TypeVar, Union, cast, get_args, get_origin
from typing import get_type_hints as hints_of

import numpy as np

from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    import numpy.typing as npt
    import scipy.sparse as sp

_MAGIC: Final = b"OFob"
_VERSION: Final = 1
_HEADER: Final = struct.Struct("<4sIQQ")
"""Magic, version, bytes of the tree, bytes of the arrays."""

MOST_TREE: Final = 64 << 20
"""Bytes of a tree."""

_MOST_CONTAINERS, _MOST_ENTRIES = 1 << 22, 1 << 24
"""Most containers and entries of a tree: small ones take many times their encoded size in memory."""

_DEEPEST: Final = 64
"""Levels of a value without a type of its own."""

_MOST_AXES: Final = 8
_ALIGNED: Final = 8
_DTYPES: Final = {
    np.dtype(name).str: np.dtype(name)
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64"),
    )
}
_INTEGERS: Final = range(-(1 << 63), 1 << 64)

T = TypeVar("T")
C = TypeVar("C", bound=type)
_SENDABLE: Final[set[type]] = set()


def sendable(cls: C) -> C:
    """Mark a dataclass or named tuple as one that messages may hold."""
    _SENDABLE.add(cls)
    return cls


class _MalformedError(Exception):
    """A part of a message does not have the declared type."""


class _Codec(NamedTuple):
    """A type's way into the tree, and out of it."""

    encode: Callable[[Any, _MessageWriter], Any]
    decode: Callable[[Any, _Arrays], Any]
    accepts: Callable[[Any], bool]


def pack(value: Any, kind: Any) -> bytearray:
    """A value of type ``kind`` as bytes.

    Raises:
        OfframpError: it is not of that type, or the type does not travel.
    """
    writer = _MessageWriter()
    try:
        tree = [_name(kind), _codec(kind).encode(value, writer)]
    except _MalformedError as fault:
        raise OfframpError(f"message of {_name(kind)}: {fault}") from None
    text = json.dumps([*tree, writer.table], separators=(",", ":")).encode()
    if len(text) > MOST_TREE:
        raise OfframpError(f"message of {_name(kind)}: {len(text)} bytes without arrays, expected at most {MOST_TREE}")
    message = bytearray(_HEADER.size + _rounded(len(text)) + writer.size)
    _HEADER.pack_into(message, 0, _MAGIC, _VERSION, len(text), writer.size)
    message[_HEADER.size : _HEADER.size + len(text)] = text
    at = _HEADER.size + _rounded(len(text))
    for array in writer.arrays:
        raw = np.frombuffer(message, np.uint8, array.nbytes, at)
        raw[:] = array.reshape(-1, order="A").view(np.uint8)
        at += _rounded(array.nbytes)
    return message


def unpack(message: bytes | bytearray | memoryview, kind: Any, sender: str) -> Any:
    """The value of type ``kind`` that :func:`pack` made; its arrays are parts of ``message``.

    Raises:
        OfframpError: anything else; the line names the ``sender``.
    """
    try:
        return _unpacked(message, kind)
    except _MalformedError as fault:
        raise OfframpError(f"{sender} sent no message of {_name(kind)}: {fault}") from None
    except OfframpError as fault:  # a class that checks its values
        raise OfframpError(f"{sender} sent a message of {_name(kind)} that cannot be: {fault}") from None


def _unpacked(message: bytes | bytearray | memoryview, kind: Any) -> Any:
    if len(message) < _HEADER.size:
        _fail(f"{len(message)} bytes")
    magic, version, tree_bytes, array_bytes = _HEADER.unpack_from(message)
    if magic != _MAGIC:
        _fail("it begins otherwise")
    if version != _VERSION:
        _fail(f"version {version}, expected {_VERSION}")
    if tree_bytes > MOST_TREE or _HEADER.size + _rounded(tree_bytes) + array_bytes != len(message):
        _fail(f"{len(message)} bytes, its header says {tree_bytes} and {array_bytes}")
    try:
        text = bytes(memoryview(message)[_HEADER.size : _HEADER.size + tree_bytes]).decode()
        if text.count("[") + text.count("{") > _MOST_CONTAINERS or text.count(",") > _MOST_ENTRIES:
            _fail("too many entries")
        tree = json.loads(text)
    except (ValueError, RecursionError):
        _fail("no tree")
    if not isinstance(tree, list) or len(tree) != len(_PARTS):
        _fail("no tree")
    name, value, table = tree
    if name != _name(kind):
        _fail(f"it is one of {_shown(name)}")
    arrays = _Arrays(memoryview(message)[_HEADER.size + _rounded(tree_bytes) :], table)
    return _codec(kind).decode(value, arrays)


_PARTS: Final = ("kind", "value", "arrays")


def _rounded(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


def _fail(text: str) -> NoReturn:
    raise _MalformedError(text)


def _shown(value: Any) -> str:
    return ascii(value)[:60] if isinstance(value, str | int | float | None) else type(value).__name__


def _is_text(value: str) -> bool:
    """Whether the text can be encoded: JSON may hold unpaired surrogates."""
    return value.isascii() or value == value.encode(errors="replace").decode()


def _name(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind)


class _MessageWriter:
    """The arrays of a message; one that is met twice travels once."""

    def __init__(self) -> None:
        self.arrays: list[npt.NDArray[Any]] = []
        self.table: list[list[Any]] = []
        self.size = 0
        self._places: dict[int, int] = {}
        self._alive: list[Any] = []

    def add(self, array: npt.NDArray[Any]) -> int:
        """The array's place in the table."""
        if id(array) not in self._places:
            by_columns = array.flags.f_contiguous and not array.flags.c_contiguous
            dense = array if by_columns else np.ascontiguousarray(array)
            dense = dense.astype(dense.dtype.newbyteorder("<"), copy=False)
            if dense.dtype.str not in _DTYPES:
                _fail(f"an array of {array.dtype} does not travel")
            self._places[id(array)] = len(self.arrays)
            self._alive.append(array)
            self.arrays.append(dense)
            self.table.append([dense.dtype.str, list(array.shape), "F" if by_columns else "C"])
            self.size += _rounded(dense.nbytes)
        return self._places[id(array)]


class _Arrays:
    """The arrays of a received message, each checked before it is made."""

    def __init__(self, raw: memoryview, table: Any) -> None:
        if not isinstance(table, list):
            _fail("no table of arrays")
        self._arrays: list[npt.NDArray[Any]] = []
        at = 0
        for row in table:
            array = self._one(raw[at:], row)
            at += _rounded(array.nbytes)
            self._arrays.append(array)
        if at != len(raw):
            _fail(f"arrays of {at} bytes in {len(raw)}")

    @staticmethod
    def _one(raw: memoryview, row: Any) -> npt.NDArray[Any]:
        if not isinstance(row, list) or len(row) != len(("dtype", "shape", "order")):
            _fail("no array")
        name, shape, order = row
        dtype = _DTYPES.get(name) if isinstance(name, str) else None
        if dtype is None or order not in ("C", "F") or not isinstance(shape, list) or len(shape) > _MOST_AXES:
            _fail("no array")
        if not all(type(length) is int and 0 <= length <= sys.maxsize for length in shape):
            _fail("an array of no such shape")
        size = prod(shape) * dtype.itemsize
        if _rounded(size) > len(raw) or prod(max(1, length) for length in shape) > sys.maxsize:
            _fail(f"an array of {size} bytes in {len(raw)}")
        array = np.frombuffer(raw, dtype, prod(shape)).reshape(shape, order=order)
        if dtype.kind == "b" and (array.view(np.uint8) > 1).any():
            _fail("an array of truth values with others in it")
        return array

    def __getitem__(self, place: Any) -> npt.NDArray[Any]:
        if type(place) is not int or not 0 <= place < len(self._arrays):
            _fail(f"no array {_shown(place)}")
        return self._arrays[place]


@cache
def _codec(kind: Any) -> _Codec:
    """The codec of a type hint."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind in _SCALARS:
        return _SCALARS[kind]
    if kind is Any:
        return _Codec(lambda value, _: _plain(value), lambda value, _: _plain(value), lambda _: True)
    if origin in (Union, types.UnionType):
        return _union([_codec(arm) for arm in arguments])
    if origin is np.ndarray:
        (scalar,) = get_args(arguments[1])
        return _array(np.generic if scalar is Any else scalar)
    if origin is tuple and arguments[-1] is not Ellipsis:
        return _tuple([_codec(each) for each in arguments])
    if origin in (list, tuple, Sequence):
        return _sequence(tuple if origin is tuple else list, arguments[0])
    if origin in (dict, Mapping):
        return _mapping(*arguments)
    if kind is range:
        return _Codec(
            lambda value, _: [value.start, value.stop, value.step], lambda value, _: _range(value), _is(range)
        )
    if getattr(kind, "__module__", "").startswith("scipy.sparse") and kind.__name__ == "csr_matrix":
        return _csr()
    if kind in _SENDABLE:
        return _record(kind)
    raise OfframpError(f"{_name(kind)} does not travel between ranks")


def _is(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kinds)


def _scalar(python: type, accepted: tuple[type, ...], check: Callable[[Any], bool]) -> _Codec:
    def accepts(value: Any) -> bool:
        return isinstance(value, accepted) and not (isinstance(value, bool) and python is not bool)

    def encode(value: Any, _: _MessageWriter) -> Any:
        if not accepts(value):
            _fail(f"{_shown(value)}, expected {python.__name__}")
        return decode(python(value), None)

    def decode(value: Any, _: _Arrays | None) -> Any:
        if python is float and type(value) is int:
            value = float(value) if value in _INTEGERS else _fail("a number too large")
        if type(value) is not python or not check(value):
            _fail(f"{_shown(value)}, expected {python.__name__}")
        return value

    return _Codec(encode, decode, accepts)


def _nothing(value: Any, _: object) -> None:
    if value is not None:
        _fail(f"{_shown(value)}, expected nothing")


_SCALARS: Final[dict[Any, _Codec]] = {
    bool: _scalar(bool, (bool, np.bool_), lambda _: True),
    int: _scalar(int, (int, np.integer), _INTEGERS.__contains__),
    float: _scalar(float, (float, int, np.floating), lambda _: True),
    str: _scalar(str, (str,), _is_text),
    type(None): _Codec(_nothing, _nothing, lambda value: value is None),
}


def _plain(value: Any, depth: int = 0) -> Any:
    """A JSON value as plain Python; mappings have string keys."""
    if depth > _DEEPEST:
        _fail("values inside each other, too deep")
    if value is None or isinstance(value, bool | str | float) or (isinstance(value, int) and value in _INTEGERS):
        return value
    if isinstance(value, list | tuple):
        return [_plain(each, depth + 1) for each in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(each, depth + 1) for key, each in value.items()}
    _fail(f"{type(value).__name__} does not travel")


def _list(value: Any, length: int | None = None) -> list[Any]:
    if not isinstance(value, list) or (length is not None and len(value) != length):
        _fail(f"expected a list{f' of {length}' if length is not None else ''}")
    return value


def _range(value: Any) -> range:
    integers = [_SCALARS[int].decode(each, cast("_Arrays", None)) for each in _list(value, 3)]
    return range(*integers) if integers[2] else _fail("a range without steps")


def _union(arms: Sequence[_Codec]) -> _Codec:
    def encode(value: Any, writer: _MessageWriter) -> Any:
        for number, arm in enumerate(arms):
            if arm.accepts(value):
                return [number, arm.encode(value, writer)]
        _fail(f"{type(value).__name__}, which is none of the allowed types")

    def decode(value: Any, arrays: _Arrays) -> Any:
        number, inner = _list(value, 2)
        if type(number) is not int or not 0 <= number < len(arms):
            _fail(f"{_shown(number)}, expected one of {len(arms)} types")
        return arms[number].decode(inner, arrays)

    return _Codec(encode, decode, lambda value: any(arm.accepts(value) for arm in arms))


def _array(scalar: Any) -> _Codec:
    def check(array: Any) -> npt.NDArray[Any]:
        if not isinstance(array, np.ndarray) or not np.issubdtype(array.dtype, scalar):
            _fail(f"{getattr(array, 'dtype', type(array).__name__)}, expected an array of {scalar.__name__}")
        return array

    return _Codec(
        lambda value, writer: writer.add(check(value)),
        lambda value, arrays: check(arrays[value]),
        lambda value: isinstance(value, np.ndarray) and np.issubdtype(value.dtype, scalar),
    )


def _csr() -> _Codec:
    import scipy.sparse as sp

    def encode(value: sp.csr_matrix, writer: _MessageWriter) -> Any:
        if not sp.issparse(value) or value.format != "csr":
            _fail(f"{type(value).__name__}, expected a CSR matrix")
        return [list(map(int, value.shape)), *(writer.add(part) for part in (value.data, value.indices, value.indptr))]

    def decode(value: Any, arrays: _Arrays) -> sp.csr_matrix:
        shape, *places = _list(value, 4)
        rows, columns = (_SCALARS[int].decode(each, arrays) for each in _list(shape, 2))
        data, indices, indptr = (arrays[place] for place in places)
        flat = data.ndim == indices.ndim == indptr.ndim == 1
        kinds = {indices.dtype, indptr.dtype}
        if not flat or kinds - {np.dtype(np.int32), np.dtype(np.int64)} or len(indptr) != rows + 1 or columns < 0:
            _fail("no CSR matrix")
        if not len(data) == len(indices) == indptr[-1]:
            _fail(f"no CSR matrix: {len(data)} values, {len(indices)} columns, {indptr[-1]} announced")
        try:
            matrix = sp.csr_matrix((data, indices, indptr), shape=(rows, columns))
            matrix.check_format(full_check=True)
        except (ValueError, OverflowError, TypeError) as fault:
            _fail(f"no CSR matrix: {fault}")
        return matrix

    return _Codec(encode, decode, lambda value: sp.issparse(value) and value.format == "csr")


def _tuple(parts: Sequence[_Codec]) -> _Codec:
    def encode(value: Any, writer: _MessageWriter) -> Any:
        if not isinstance(value, tuple) or len(value) != len(parts):
            _fail(f"{type(value).__name__}, expected a tuple of {len(parts)}")
        return [part.encode(each, writer) for part, each in zip(parts, value, strict=True)]

    def decode(value: Any, arrays: _Arrays) -> Any:
        return tuple(p.decode(each, arrays) for p, each in zip(parts, _list(value, len(parts)), strict=True))

    return _Codec(encode, decode, _is(tuple))


def _sequence(make: Callable[[Iterable[Any]], Any], inner: Any) -> _Codec:
    def encode(value: Any, writer: _MessageWriter) -> Any:
        if not isinstance(value, list | tuple):
            _fail(f"{type(value).__name__}, expected a sequence")
        return [_codec(inner).encode(each, writer) for each in value]

    def decode(value: Any, arrays: _Arrays) -> Any:
        return make(_codec(inner).decode(each, arrays) for each in _list(value))

    return _Codec(encode, decode, _is(list, tuple))


def _mapping(key: Any, inner: Any) -> _Codec:
    def encode(value: Any, writer: _MessageWriter) -> Any:
        if not isinstance(value, Mapping):
            _fail(f"{type(value).__name__}, expected a mapping")
        return [[_codec(key).encode(k, writer), _codec(inner).encode(v, writer)] for k, v in value.items()]

    def decode(value: Any, arrays: _Arrays) -> Any:
        pairs = [_list(pair, 2) for pair in _list(value)]
        mapping = {_codec(key).decode(k, arrays): _codec(inner).decode(v, arrays) for k, v in pairs}
        return mapping if len(mapping) == len(pairs) else _fail("a key twice")

    return _Codec(encode, decode, _is(Mapping))


def _record(kind: Any) -> _Codec:
    names = tuple(f.name for f in fields(kind) if f.init) if is_dataclass(kind) else kind._fields
    hints = hints_of(kind)

    def encode(value: Any, writer: _MessageWriter) -> Any:
        if type(value) is not kind:
            _fail(f"{type(value).__name__}, expected {kind.__name__}")
        fields = {}
        for name in names:
            with _inside(kind, name):
                fields[name] = _codec(hints[name]).encode(getattr(value, name), writer)
        return fields

    def decode(value: Any, arrays: _Arrays) -> Any:
        if not isinstance(value, dict) or value.keys() != set(names):
            _fail(f"not the fields of {kind.__name__}")
        fields = {}
        for name in names:
            with _inside(kind, name):
                fields[name] = _codec(hints[name]).decode(value[name], arrays)
        return kind(**fields)

    return _Codec(encode, decode, lambda value: type(value) is kind)


class _inside:  # noqa: N801 - a context manager, read as a function
    """Adds the field's name to errors raised inside."""

    def __init__(self, kind: type, name: str) -> None:
        self._where = f"{kind.__name__}.{name}"

    def __enter__(self) -> None:
        pass

    def __exit__(self, error: type[BaseException] | None, fault: BaseException | None, _: object) -> None:
        if isinstance(fault, _MalformedError):
            raise _MalformedError(f"{self._where}: {fault}") from None
