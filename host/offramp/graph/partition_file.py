# SPDX-License-Identifier: Apache-2.0
"""Partitions in files, as METIS writes them: the worker of each vertex, a line each.

A comment in the first line says which graph it is of; without one the number of vertices must do.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import Adjacency
from offramp_base.documents import read_text
from offramp_base.ending.files import write_text
from offramp_base.errors import OfframpError
from offramp_base.numerals import whole_number
from offramp_base.settings.error import SettingsError

_COMMENT: Final = "% offramp partition of graph "


def names_file(method: str) -> bool:
    """Whether ``--partition`` names a file, not a method."""
    return "." in method or "/" in method


def write_partition(path: Path, graph: Adjacency, owner: npt.NDArray[np.int32]) -> None:
    """Write the worker of each vertex.

    Raises:
        OfframpError: the file cannot be written.
    """
    lines = [_COMMENT + _fingerprint(graph), *map(str, owner.tolist())]
    try:
        write_text(path, "\n".join(lines) + "\n", encoding="ascii")
    except OSError as error:
        raise OfframpError(f"{path}: cannot be written: {error.strerror}") from None


def read_partition(path: Path, graph: Adjacency, workers: int) -> npt.NDArray[np.int32]:
    """``(n,)`` worker of each vertex of ``graph``; every worker owns at least one.

    Raises:
        OfframpError: no such file, of another graph, or of other workers.
    """
    n = len(graph.indptr) - 1

    def refused(problem: str, line: int | None = None) -> SettingsError:
        return SettingsError("partition", problem, path if line is None else f"{path}, line {line}")

    try:
        lines = read_text(path, None).splitlines()
    except OfframpError as error:
        raise refused(str(error)) from None
    if lines and lines[0].startswith(_COMMENT) and lines[0].removeprefix(_COMMENT) != _fingerprint(graph):
        raise refused("of another graph")
    numbers = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip() and line[0] != "%"]
    if len(numbers) != n:
        raise refused(f"of another graph: {len(numbers)} vertices, expected {n}")
    for number, text in numbers:
        owner_of = whole_number(text)
        if owner_of is None or owner_of >= workers:
            raise refused(f"{text[:20]}: expected a worker from 0 to {workers - 1}", number)
    owner = np.array([int(text) for _, text in numbers], np.int32)
    idle = np.flatnonzero(np.bincount(owner, minlength=workers) == 0)
    if len(idle):
        raise refused(f"worker {idle[0]} of {workers} has no vertex")
    return owner


def _fingerprint(graph: Adjacency) -> str:
    arrays = (np.ascontiguousarray(part, np.int64) for part in (graph.indptr, graph.indices))
    total = 0
    for part in arrays:
        total = zlib.crc32(part.tobytes(), total)
    return f"{total:08x}"
