# SPDX-License-Identifier: Apache-2.0
"""METIS k-way partitioning: through pymetis, and for several constraints through the library that pymetis carries."""

from __future__ import annotations

import ctypes
import importlib.util
import time
from functools import cache
from typing import Any, Final, Literal

import numpy as np

from offramp.graph.csr import IntArray
from offramp_base.ending.signals import UNWIND_S
from offramp_base.errors import OfframpError
from offramp_base.extras import needs

_OPTIONS: Final = 40  # METIS_NOPTIONS
_OBJECTIVE: Final = 1  # METIS_OPTION_OBJTYPE
_VOLUME: Final = 1  # METIS_OBJTYPE_VOL
_SEED: Final = 8  # METIS_OPTION_SEED
_OK: Final = 1  # METIS_OK


def available() -> bool:
    """Whether the package pymetis is installed."""
    return importlib.util.find_spec("pymetis") is not None


def metis_parts(
    indptr: IntArray,
    indices: IntArray,
    parts: int,
    seed: int = 0,
    objective: Literal["cut", "volume"] = "cut",
) -> IntArray:
    """``(n,)`` part of each vertex of a symmetric CSR graph, minimising edge cut or communication volume.

    Raises:
        OfframpError: pymetis is not installed.
    """
    pymetis = _pymetis()
    return _parts(indptr, indices, parts, seed, pymetis.ObjType.CUT if objective == "cut" else pymetis.ObjType.VOL)


def weighted_parts(indptr: IntArray, indices: IntArray, parts: int, weights: IntArray, seed: int = 0) -> IntArray:
    """``(n,)`` part of each vertex, minimising communication volume, parts of equal weight.

    Raises:
        OfframpError: pymetis is not installed, or not one weight per vertex.
    """
    _check(weights, (len(indptr) - 1,))
    return _parts(indptr, indices, parts, seed, _pymetis().ObjType.VOL, weights)


def balanced_parts(indptr: IntArray, indices: IntArray, parts: int, weights: IntArray, seed: int = 0) -> IntArray:
    """``(n,)`` part of each vertex, minimising communication volume, parts balanced in each of several weights.

    ``weights`` is ``(n, constraints)``. pymetis has one weight only and reads no more of a longer list, so the function
    of the METIS library that it carries is called.

    Raises:
        OfframpError: pymetis is not installed or hides that function, or METIS fails.
    """
    n = len(indptr) - 1
    _check(weights, (n, weights.shape[-1]))
    kway, index = _kway()
    options = np.full(_OPTIONS, -1, index)
    options[[_OBJECTIVE, _SEED]] = _VOLUME, seed & 0x7FFFFFFF
    arrays = [np.ascontiguousarray(a, index) for a in (indptr, indices, weights.reshape(-1))]
    sizes = [np.array([number], index) for number in (n, weights.shape[1], parts)]
    value, part = np.zeros(1, index), np.zeros(n, index)
    at = [a.ctypes.data for a in (*sizes, *arrays, options, value, part)]
    count, constraints, into, xadj, adjncy, vwgt, chosen, reached, result = at
    code = kway(
        count, constraints, xadj, adjncy, vwgt, None, None, into, None, None, chosen, reached, result
    )  # no sizes of vertices, weights of edges, shares of parts or tolerances: the defaults
    if code != _OK:
        raise _failure(f"code {code}", parts, n)
    return part.astype(np.int64)


@cache
def _kway() -> tuple[Any, Any]:
    """``METIS_PartGraphKway`` and the type of its integers."""
    _pymetis()
    import pymetis._internal as internal

    try:
        kway = ctypes.CDLL(internal.__file__).METIS_PartGraphKway
        index = {32: np.int32, 64: np.int64}[internal._idx_type_width()]
    except (AttributeError, KeyError, OSError):
        raise OfframpError("this pymetis does not show METIS_PartGraphKway") from None
    kway.argtypes, kway.restype = [ctypes.c_void_p] * 13, ctypes.c_int
    return kway, index


def _pymetis() -> Any:
    try:
        import pymetis
    except ImportError:
        raise OfframpError(f"METIS {needs('pymetis')}") from None
    return pymetis


def _parts(
    indptr: IntArray, indices: IntArray, parts: int, seed: int, kind: Any, weights: IntArray | None = None
) -> IntArray:
    pymetis = _pymetis()
    if parts == 1 or len(indices) == 0:
        return np.arange(len(indptr) - 1) % parts
    try:
        result = pymetis.part_graph(
            parts,
            pymetis.CSRAdjacency(indptr, indices),
            vweights=weights,
            options=pymetis.Options(seed=seed & 0x7FFFFFFF, objtype=kind),
            recursive=False,
        )
    except RuntimeError as error:
        raise _failure(str(error), parts, len(indptr) - 1) from None
    return np.asarray(result.vertex_part, np.int64)


def _failure(reason: str, parts: int, vertices: int) -> OfframpError:
    """The error for a call of METIS that failed, once it is certain that nobody has ended the command.

    METIS catches SIGTERM, which is also how it tells itself of errors. A command that was told to end is ended by its
    supervisor before this returns, without an error that is none.
    """
    time.sleep(1.5 * UNWIND_S)
    return OfframpError(f"METIS fails for {parts} parts of {vertices} vertices: {reason}")


def _check(weights: IntArray, shape: tuple[int, ...]) -> None:
    if weights.shape != shape or weights.min(initial=0) < 0:
        raise OfframpError(f"weights: expected {shape} integers of at least 0, got shape {weights.shape}")
