"""Arrays from an ``.npz`` file that someone else may have written: each is checked as it is read."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from offramp.errors import OfframpError

_UNREADABLE = (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError)


class Archive:
    """An open ``.npz`` file; every error names the file and the field."""

    def __init__(self, path: Path, arrays: Any) -> None:
        self.path = path
        self._arrays = arrays

    def __contains__(self, field: str) -> bool:
        return field in self._arrays

    def read(self, field: str, kinds: str, dimensions: int) -> npt.NDArray[Any]:
        """Field ``field``, whose dtype kind is one of ``kinds`` (NumPy's letters).

        Raises:
            OfframpError: it is missing, damaged, or of another type or number of dimensions.
        """
        if field not in self._arrays:
            raise OfframpError(f"{self.path}: {field}: missing")
        try:
            array: npt.NDArray[Any] = self._arrays[field]
        except _UNREADABLE as error:
            raise OfframpError(f"{self.path}: {field}: cannot be read: {_one_line(error)}") from None
        if array.dtype.kind not in kinds or array.ndim != dimensions:
            raise OfframpError(
                f"{self.path}: {field}: expected {dimensions} dimensions of kind {'/'.join(kinds)}, "
                f"got {array.ndim} of {array.dtype}"
            )
        return array

    def integers(self, field: str, dimensions: int = 1) -> npt.NDArray[np.int64]:
        """Integer field as int64."""
        return self.read(field, "iu", dimensions).astype(np.int64)

    def scalar(self, field: str) -> int:
        """Integer field without dimensions."""
        return int(self.read(field, "iu", 0))


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open an ``.npz`` file without unpickling anything.

    Raises:
        OfframpError: no such file, or not an ``.npz`` file.
    """
    try:
        arrays = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise OfframpError(f"{path}: no such file") from None
    except _UNREADABLE:
        raise OfframpError(f"{path}: expected a NumPy .npz file") from None
    if not isinstance(arrays, np.lib.npyio.NpzFile):
        raise OfframpError(f"{path}: expected a NumPy .npz file, found a single array")
    with arrays:
        yield Archive(path, arrays)


def _one_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
