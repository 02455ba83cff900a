# SPDX-License-Identifier: Apache-2.0
"""Data that an application's YAML names: what one-sided reads return and what messages are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from offramp.leo.config import Config
from offramp.leo.config.models import ApplicationData
from offramp_base.archive import read_array
from offramp_base.documents import read_bytes
from offramp_base.errors import OfframpError

MOST: Final = 1 << 30
"""Most bytes of all data of an application."""
_LINE: Final = 64
_USUAL: Final = ""
"""Name of unnamed data: bytes determined by a seed, never all zeros."""
_USUAL_BYTES: Final = 1 << 16
_SEED: Final = 6


@dataclass(frozen=True)
class Contents:
    """Initial contents of the responder's memory.

    Attributes:
        image: its bytes.
        places: offset and size of each of the data in it, by name; the empty name stands for unnamed data.
    """

    image: bytes
    places: dict[str, tuple[int, int]]

    def part(self, name: str, start: int, size: int) -> bytes:
        """``size`` bytes from offset ``start`` of the data called ``name``."""
        begin = self.places[name][0] + start
        return self.image[begin : begin + size]


def read_contents(config: Config, longest_read: int, folders: Sequence[str] = ()) -> Contents:
    """Read the files and arrays of an application; unnamed data have ``longest_read`` bytes or more.

    Files lie below the folder of the YAML file that names them, or below one of ``folders``, links followed: whoever
    is given a YAML file does not serve what else this user can read.

    Raises:
        OfframpError: one line with file and line: a file that cannot be read or lies elsewhere, or too many bytes.
    """
    image, places = bytearray(), {}
    for name, data in config.application.data.items():
        try:
            content = _content(config, data, folders)
        except OfframpError as error:
            raise config.error("application", ("data", name), str(error)) from None
        if not content:
            raise config.error("application", ("data", name), "expected at least one byte")
        if len(image) + len(content) > MOST:
            raise config.error("application", ("data", name), f"expected at most {MOST} bytes in all")
        places[name] = len(image), len(content)
        image += content + bytes(-len(content) % _LINE)
    size = max(_USUAL_BYTES, longest_read)
    places[_USUAL] = len(image), size
    image += np.random.default_rng(_SEED).bytes(size)
    return Contents(bytes(image), places)


def _content(config: Config, data: ApplicationData, folders: Sequence[str]) -> bytes:
    beside = config.folder("application")
    if data.file is not None:
        return read_bytes(_inside(beside, data.file, folders), MOST)
    if data.array is not None:
        return read_array(_inside(beside, data.array, folders)).tobytes()
    try:
        return np.array(data.values, data.type).tobytes()
    except OverflowError:
        raise OfframpError(f"values beyond {data.type}") from None


def _inside(beside: Path, name: str, folders: Sequence[str]) -> Path:
    """Path of the file of this name, with all symbolic links resolved.

    Raises:
        OfframpError: it lies outside of ``beside`` and of all ``folders``.
    """
    try:
        path = (beside / name).resolve()
        allowed = any(path.is_relative_to(Path(folder).resolve()) for folder in (str(beside), *folders))
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, or a NUL
        raise OfframpError(f"{name}: cannot be read: {error}") from None
    if not allowed:
        raise OfframpError(f"{name}: lies outside the folder of the YAML file; --data-folder allows another one")
    return path
