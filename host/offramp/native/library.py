"""Marked functions as functions that Python can call on arrays."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp.errors import OfframpError

Array = npt.NDArray[Any]
_COMPILING: Final = threading.Lock()
"""LLVM's context belongs to one thread at a time."""


def compiled(python: Callable[..., int]) -> Callable[..., int]:
    """The machine code of one marked function that returns a word.

    The result takes arrays for pointers and numbers for words and doubles; the GIL is released while it runs.

    Raises:
        OfframpError: llvmlite is missing.
    """
    try:
        from offramp.native.compiler import MachineCode
        from offramp.native.llvm import AliasTags, ll
        from offramp.native.lowering import Library
    except ImportError:
        raise OfframpError(f"{python.__name__} needs the package llvmlite: pip install llvmlite") from None
    with _COMPILING:
        module = ll.Module(python.__module__)
        Library(module, AliasTags(module)).function(python, exported=True)
        code = MachineCode(str(module))
    kinds = {"int": ctypes.c_int64, "float": ctypes.c_double}
    notes = [str(note) for name, note in python.__annotations__.items() if name != "return"]
    function = code.function(f"rt.{python.__name__}", ctypes.c_int64, *(kinds.get(n, ctypes.c_void_p) for n in notes))

    def call(*args: Any) -> int:
        words = [a.ctypes.data if isinstance(a, np.ndarray) else a for a in args]
        return int(function(*words))

    call.__dict__["code"] = code  # keeps the machine code alive
    return call
