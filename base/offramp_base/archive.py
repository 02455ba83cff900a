# SPDX-License-Identifier: Apache-2.0
"""Arrays from ``.npz`` and ``.npy`` files that someone else may have written: each is checked before it is read."""

from __future__ import annotations

import math
import os
import shutil
import struct
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from offramp_base.documents import open_regular
from offramp_base.errors import OfframpError, first_line
from offramp_base.memory import check_memory

Arrays = Mapping[str, npt.NDArray[Any]]
"""Arrays by name."""

_DEFLATE_RATIO = 1040  # a deflated byte stands for at most 1032
_TEXT_BYTES = 1 << 20  # of one string: they are names and settings
_LOCAL_HEADER = "<26xHH"  # of a member of a zip file: the lengths of its name and of what else is before its bytes
_PIECE = 1 << 24


class Archive:
    """An open ``.npz`` file; every error names the file and the field."""

    def __init__(self, path: Path, members: zipfile.ZipFile) -> None:
        self.path = path
        self._zip = members
        self._fields = {info.filename.removesuffix(".npy"): info for info in members.infolist()}

    def __contains__(self, field: str) -> bool:
        return field in self._fields

    def __iter__(self) -> Iterator[str]:
        """The names of the fields."""
        return iter(self._fields)

    def header(self, field: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Shape and type of a field; its values are not read, but the file is checked to hold all their bytes.

        Raises:
            OfframpError: it is missing or damaged.
        """
        where = f"{self.path}: {field}"
        if field not in self._fields:
            raise OfframpError(f"{where}: missing")
        info = self._fields[field]
        if info.file_size > _DEFLATE_RATIO * (info.compress_size + 1):
            raise OfframpError(f"{where}: cannot be read: {info.compress_size} bytes cannot hold {info.file_size}")
        with _readable(where), self._zip.open(info) as member:
            return _header(member, info.file_size)

    def values(self, field: str) -> npt.NDArray[Any]:
        """The values of a field whose :meth:`header` is as the caller expects.

        Raises:
            OfframpError: it is missing, damaged or beyond memory.
        """
        self.header(field)
        where, info = f"{self.path}: {field}", self._fields[field]
        check_memory(2 * info.file_size, where)
        with _readable(where), self._zip.open(info) as member:
            return _array(member)

    def read(self, field: str, kinds: str, dimensions: int) -> npt.NDArray[Any]:
        """Field ``field``, whose dtype kind is one of ``kinds`` (NumPy's letters).

        Raises:
            OfframpError: it is missing, damaged, beyond memory, or of another type or number of dimensions.
        """
        self._expect(field, kinds, dimensions)
        return self.values(field)

    def mapped(self, field: str, kinds: str, dimensions: int) -> npt.NDArray[Any]:
        """As :meth:`read`, but mapped and read-only, so that it may be larger than memory.

        A field that is compressed is first written to a file without a name in the folder of temporary files.

        Raises:
            OfframpError: as :meth:`read`, but for memory; or the file system has no room.
        """
        if not self._expect(field, kinds, dimensions).isnative:  # as few programs write: nobody else reads it in place
            return self.values(field)
        where, info = f"{self.path}: {field}", self._fields[field]
        if info.compress_type == zipfile.ZIP_STORED:
            with _readable(where), open_regular(self.path) as file:
                file.seek(info.header_offset)
                file.seek(sum(struct.unpack(_LOCAL_HEADER, file.read(struct.calcsize(_LOCAL_HEADER)))), os.SEEK_CUR)
                return _map(file, info.file_size)
        with _readable(where), self._zip.open(info) as member, tempfile.TemporaryFile() as file:
            system = os.fstatvfs(file.fileno())
            needed, free = info.file_size / 1e9, system.f_bavail * system.f_frsize / 1e9
            if needed > free:
                raise OfframpError(f"{where}: needs {needed:.1f} GB among temporary files, {free:.1f} GB are free")
            shutil.copyfileobj(member, file, _PIECE)
            file.seek(0)
            return _map(file, info.file_size)

    def _expect(self, field: str, kinds: str, dimensions: int) -> np.dtype[Any]:
        shape, dtype = self.header(field)
        where = f"{self.path}: {field}"
        if dtype.kind not in kinds or len(shape) != dimensions:
            raise OfframpError(
                f"{where}: expected {dimensions} dimensions of kind {'/'.join(kinds)}, got {len(shape)} of {dtype}"
            )
        if dtype.kind in "US" and dtype.itemsize > _TEXT_BYTES:
            raise OfframpError(f"{where}: {dtype.itemsize} bytes of text, expected at most {_TEXT_BYTES}")
        return dtype

    def integers(self, field: str, dimensions: int = 1) -> npt.NDArray[np.int64]:
        """Integer field as int64.

        Raises:
            OfframpError: as :meth:`read`, or a number beyond int64.
        """
        array = self.read(field, "iu", dimensions)
        if array.dtype.kind == "u" and array.size and int(array.max()) >= 1 << 63:
            raise OfframpError(f"{self.path}: {field}: expected integers below 2**63")
        return array.astype(np.int64)

    def scalar(self, field: str) -> int:
        """Integer field without dimensions."""
        return int(self.read(field, "iu", 0))


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open an ``.npz`` file without unpickling anything.

    Raises:
        OfframpError: no such file, or not an ``.npz`` file.
    """
    with _opened(path) as file:
        try:
            members = zipfile.ZipFile(file)
        except Exception:  # whatever zipfile makes of damaged directories
            file.seek(0)
            kind = ", found a single array" if file.read(6) == b"\x93NUMPY" else ""
            raise OfframpError(f"{path}: expected a NumPy .npz file{kind}") from None
        with members:
            yield Archive(path, members)


def read_array(path: Path) -> npt.NDArray[Any]:
    """The array in an ``.npy`` file; nothing is unpickled.

    Raises:
        OfframpError: no such file, not an ``.npy`` file, or beyond memory.
    """
    with _opened(path) as file, _readable(f"{path}", "expected a NumPy .npy file"):
        size = os.fstat(file.fileno()).st_size
        _header(file, size)
        check_memory(size, str(path))
        file.seek(0)
        return _array(file)


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    try:
        file = open_regular(path)
    except FileNotFoundError:
        raise OfframpError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:
        raise OfframpError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    with file:
        yield file


@contextmanager
def _readable(where: str, expected: str = "cannot be read") -> Iterator[None]:
    try:
        yield
    except OfframpError:
        raise
    except Exception as error:  # whatever zipfile, its codecs and NumPy make of damaged bytes
        reason = first_line(error)
        raise OfframpError(f"{where}: {expected}: {reason}") from None


def _header(file: IO[bytes], size: int) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of an array in a file of ``size`` bytes, which must be as many as they need."""
    shape, _, dtype = _layout(file, size)
    return shape, dtype


def _layout(file: IO[bytes], size: int) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape of an array in the next ``size`` bytes, whether its first index runs fastest, and its type."""
    start = file.tell()
    version = np.lib.format.read_magic(file)
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in readers:
        raise ValueError(f"version {version[0]}.{version[1]} of the format is for arrays with named fields")
    shape, first_fastest, dtype = readers[version](file)
    if dtype.hasobject:
        raise ValueError("Object arrays cannot be loaded")
    if any(length < 0 for length in shape):
        raise ValueError("a negative length")
    needed = file.tell() - start + dtype.itemsize * math.prod(shape)
    if needed != size:
        raise ValueError(f"{size} bytes, where shape {shape} of {dtype} needs {needed}")
    return shape, first_fastest, dtype


def _map(file: IO[bytes], size: int) -> npt.NDArray[Any]:
    """The array in the next ``size`` bytes of a file, mapped for reading."""
    shape, first_fastest, dtype = _layout(file, size)
    if not math.prod(shape):
        return np.zeros(shape, dtype)  # nothing cannot be mapped
    return np.memmap(file, dtype, "r", file.tell(), shape, "F" if first_fastest else "C")


def _array(file: IO[bytes]) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    return array.astype(array.dtype.newbyteorder("="), copy=False)  # SciPy refuses the other byte order
