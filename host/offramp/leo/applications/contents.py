# SPDX-License-Identifier: Apache-2.0
"""Data that an application's YAML names: what one-sided reads return and what messages are made of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from offramp.leo.config import Config
from offramp.leo.config.models import Data
from offramp_base.archive import read_array
from offramp_base.documents import read_bytes
from offramp_base.errors import OfframpError

MOST: Final = 1 << 30
"""Bytes of all data of an application."""
_LINE: Final = 64
_USUAL: Final = ""
"""The name of what is read where the file names no data: bytes that a seed determines, never zeros alone."""
_USUAL_BYTES: Final = 1 << 16
_SEED: Final = 6


@dataclass(frozen=True)
class Contents:
    """The beginning of the responder's memory.

    Attributes:
        image: its bytes.
        places: begin and size of each of the data in it, by name; the empty name stands for unnamed data.
    """

    image: bytes
    places: dict[str, tuple[int, int]]

    def part(self, name: str, start: int, size: int) -> bytes:
        """``size`` bytes from ``start`` of these data."""
        begin = self.places[name][0] + start
        return self.image[begin : begin + size]


def read_contents(config: Config, longest_read: int) -> Contents:
    """Read the files and arrays of an application; unnamed data have ``longest_read`` bytes or more.

    Raises:
        OfframpError: one line with file and line: a file that cannot be read, or too many bytes.
    """
    image, places = bytearray(), {}
    for name, data in config.application.data.items():
        try:
            content = _content(config, data)
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


def _content(config: Config, data: Data) -> bytes:
    beside = config.folder("application")
    if data.file is not None:
        return read_bytes(beside / data.file, MOST)
    if data.array is not None:
        return read_array(Path(beside / data.array)).tobytes()
    try:
        return np.array(data.values, data.type).tobytes()
    except OverflowError:
        raise OfframpError(f"values beyond {data.type}") from None
