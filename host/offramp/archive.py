"""Arrays from an ``.npz`` file that someone else may have written: each is checked before it is read.

An ``.npz`` file is a ZIP archive of ``.npy`` members: a header with type and shape, then the values. The header is read
alone first, so that nothing is allocated for an array that the caller does not expect or the member does not hold.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp.errors import OfframpError

_TEXT_BYTES: Final = 1 << 20
"""Of one string: they are names and settings."""


class Archive:
    """An open ``.npz`` file; every error names the file and the field."""

    def __init__(self, path: Path, members: zipfile.ZipFile) -> None:
        self.path = path
        self._members = members
        self._names = set(members.namelist())

    def __contains__(self, field: str) -> bool:
        return f"{field}.npy" in self._names

    def read(self, field: str, kinds: str, dimensions: int) -> npt.NDArray[Any]:
        """Field ``field``, whose dtype kind is one of ``kinds`` (NumPy's letters).

        Raises:
            OfframpError: it is missing, damaged, or of another type or number of dimensions.
        """
        shape, kind = self.header(field)
        if kind.kind not in kinds or len(shape) != dimensions:
            raise OfframpError(
                f"{self.path}: {field}: expected {dimensions} dimensions of kind {'/'.join(kinds)}, "
                f"got {len(shape)} of {kind}"
            )
        if kind.kind in "US" and kind.itemsize > _TEXT_BYTES:
            raise OfframpError(f"{self.path}: {field}: {kind.itemsize} bytes of text, expected at most {_TEXT_BYTES}")
        return self.values(field)

    def integers(self, field: str, dimensions: int = 1) -> npt.NDArray[np.int64]:
        """Integer field as int64."""
        return self.read(field, "iu", dimensions).astype(np.int64)

    def scalar(self, field: str) -> int:
        """Integer field without dimensions."""
        return int(self.read(field, "iu", 0))

    def header(self, field: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Shape and type of a field; the file has the bytes for them.

        Raises:
            OfframpError: it is missing or damaged, or has more or fewer bytes.
        """
        if field not in self:
            raise OfframpError(f"{self.path}: {field}: missing")
        try:
            with self._members.open(f"{field}.npy") as file:
                read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
                shape, _, kind = read[np.lib.format.read_magic(file)](file)
                held = self._members.getinfo(f"{field}.npy").file_size - file.tell()
        except Exception as error:
            raise self._damaged(field, error) from None
        if kind.hasobject:
            raise OfframpError(f"{self.path}: {field}: cannot be read: Object arrays cannot be loaded")
        if min(shape, default=0) < 0 or math.prod(shape) * kind.itemsize != held:
            raise OfframpError(f"{self.path}: {field}: its header says {kind} of shape {shape}, it holds {held} bytes")
        return shape, kind

    def values(self, field: str) -> npt.NDArray[Any]:
        """A field as it is.

        Raises:
            OfframpError: it is damaged.
        """
        try:
            with self._members.open(f"{field}.npy") as file:
                array: npt.NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
        except Exception as error:
            raise self._damaged(field, error) from None
        return array

    def _damaged(self, field: str, error: Exception) -> OfframpError:
        """Whatever a decoder stumbles over: what it raises depends on where, and is never the caller's business."""
        return OfframpError(f"{self.path}: {field}: cannot be read: {_one_line(error)}")


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open an ``.npz`` file without unpickling anything.

    Raises:
        OfframpError: no such file, or not an ``.npz`` file.
    """
    try:
        members = zipfile.ZipFile(path)
    except FileNotFoundError:
        raise OfframpError(f"{path}: no such file") from None
    except Exception:
        if _is_single(path):
            raise OfframpError(f"{path}: expected a NumPy .npz file, found a single array") from None
        raise OfframpError(f"{path}: expected a NumPy .npz file") from None
    with members:
        yield Archive(path, members)


def _is_single(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(np.lib.format.MAGIC_PREFIX)) == np.lib.format.MAGIC_PREFIX
    except OSError:
        return False


def _one_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
