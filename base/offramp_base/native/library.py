# SPDX-License-Identifier: Apache-2.0
"""Marked functions as functions that Python can call on arrays."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp_base.errors import OfframpError

Array = npt.NDArray[Any]
_COMPILING: Final = threading.Lock()
"""LLVM's context belongs to one thread at a time."""


def compiled(python: Callable[..., int]) -> Callable[..., int]:
    """The machine code of one marked function that returns a word.

    The result takes arrays for pointers and numbers for words and doubles; the GIL is released while it runs.

    Raises:
        OfframpError: llvmlite is missing.
    """
    function = compiled_all((python,))[python.__name__]

    def call(*args: Any) -> int:
        return function(*[a.ctypes.data if isinstance(a, np.ndarray) else a for a in args])

    return call


def compiled_all(marked: Sequence[Callable[..., int]]) -> dict[str, Callable[..., int]]:
    """The machine code of marked functions of one module that return a word, by name; pointers are addresses.

    Raises:
        OfframpError: llvmlite is missing.
    """
    try:
        from offramp_base.native.compiler import MachineCode
        from offramp_base.native.llvm import AliasTags, ll
        from offramp_base.native.lowering import Library
    except ImportError:
        raise OfframpError(f"{marked[0].__name__} needs the package llvmlite: pip install llvmlite") from None
    with _COMPILING:
        module = ll.Module(marked[0].__module__)
        library = Library(module, AliasTags(module))
        for python in marked:
            library.function(python, exported=True)
        code = MachineCode(str(module))
    kinds = {"int": ctypes.c_int64, "float": ctypes.c_double}
    functions = {}
    for python in marked:
        notes = [str(note) for name, note in python.__annotations__.items() if name != "return"]
        arguments = [kinds.get(note, ctypes.c_void_p) for note in notes]
        functions[python.__name__] = made = code.function(f"rt.{python.__name__}", ctypes.c_int64, *arguments)
        made.code = code  # keeps the machine code alive
    return functions
