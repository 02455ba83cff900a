# SPDX-License-Identifier: Apache-2.0
"""Partitions and plans that are kept between processes: a job's launcher and its first rank, or one run and the next.

They follow from the graph, the settings and the code; all three are part of a key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import Adjacency
from offramp.graph.partition import PARTITIONERS, Partitioner, partition
from offramp.graph.partition_file import names_file
from offramp_base.kept_files import KeptFiles
from offramp_base.private_folder import user_cache
from offramp_base.remembered import remembered

_DECIDING: Final = ("offramp.graph", "offramp.switchgnn")
"""Packages whose code decides on partitions and plans."""
_LIBRARIES: Final = ("numpy", "scipy", "pymetis", "mtkahypar")

PLANS: Final = KeptFiles(
    "plans", lambda: user_cache() / "offramp" / "plans", ".plan", most_files=64, most_bytes=2_000_000_000
)
"""Partitions and plans of this user, ``offramp/plans`` in the user's cache folder."""


def kept_partition(graph: Adjacency, workers: int, method: str, seed: int, racks: int) -> npt.NDArray[np.int32]:
    """Like :func:`~offramp.graph.partition.partition`, computed once for a graph; files and others' methods may change.

    Raises:
        OfframpError: as :func:`~offramp.graph.partition.partition`.
    """

    def make() -> npt.NDArray[np.int32]:
        return partition(graph, workers, method, seed, racks)

    if names_file(method) or (method in PARTITIONERS and not _ours(PARTITIONERS.get(method))):
        return make()
    key = key_of("partition", workers, method, seed, racks, graph.indptr, graph.indices)
    return remembered(PLANS, key, npt.NDArray[np.int32], make)


def key_of(*parts: Any) -> str:
    """A key of arrays and of values whose ``repr`` says what they are, and of the code that plans."""
    digest = hashlib.sha256(_code())
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).data)
        else:
            digest.update(f"{type(part).__name__} {part!r}\n".encode())
    return digest.hexdigest()


def _ours(partitioner: Partitioner) -> bool:
    return partitioner.__module__.startswith(_DECIDING)


@cache
def _code() -> bytes:
    """Digest of the sources that decide, and of the versions of the libraries below them."""
    digest = hashlib.sha256()
    for package in _DECIDING:
        digest.update(package.encode())
        for source in _sources(package):
            digest.update(source.name.encode() + b"\0" + source.read_bytes())
    digest.update(" ".join(map(_version, _LIBRARIES)).encode())
    return digest.digest()


def _sources(package: str) -> Iterable[Path]:
    return sorted(Path(str(import_module(package).__file__)).parent.glob("*.py"))


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "-"
