# SPDX-License-Identifier: Apache-2.0
"""Marked functions as functions that Python can call on arrays."""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp_base.native.compiler import MachineCode

Array = npt.NDArray[Any]
_COMPILING: Final = threading.Lock()
"""LLVM's context belongs to one thread at a time."""
_OWN: Final = "offramp"


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
    """The machine code of marked functions that return a word, by name; pointers are addresses.

    Raises:
        OfframpError: llvmlite is missing.
    """
    code = machine_code(marked)
    kinds = {"int": ctypes.c_int64, "float": ctypes.c_double}
    functions = {}
    for python in marked:
        notes = [str(note) for name, note in python.__annotations__.items() if name != "return"]
        arguments = [kinds.get(note, ctypes.c_void_p) for note in notes]
        functions[python.__name__] = function = code.function(f"rt.{python.__name__}", ctypes.c_int64, *arguments)
        function.code = code  # keeps the machine code alive
    return functions


def machine_code(marked: Sequence[Callable[..., Any]]) -> MachineCode:
    """The machine code of marked functions and of those that they call; ``rt.NAME`` is each one's name there.

    Functions are translated only where the cache has nothing for these names and the sources as they are.

    Raises:
        OfframpError: llvmlite is missing.
    """
    try:
        from offramp_base.native.compiler import MachineCode
        from offramp_base.native.llvm import AliasTags, ll
        from offramp_base.native.lowering import RuntimeLibrary
    except ImportError:
        raise OfframpError(f"{marked[0].__name__} needs the package llvmlite: pip install llvmlite") from None

    def translate() -> str:
        module = ll.Module(marked[0].__module__)
        library = RuntimeLibrary(module, AliasTags(module))
        for python in marked:
            library.function(python, exported=True)
        return str(module)

    names = [f"{python.__module__}.{python.__qualname__}" for python in marked]
    with _COMPILING:
        if not all(name.startswith(_OWN) for name in names):  # of a package whose files are not looked at
            return MachineCode(translate())
        packages = frozenset(name.partition(".")[0] for name in list(sys.modules) if name.startswith(_OWN))
        return MachineCode.of_key("\n".join([*names, _sources(packages)]), translate)


@cache
def _sources(packages: frozenset[str]) -> str:
    """Digest of the names, sizes and modification times of some packages' source files."""
    folders = {folder for name in packages for folder in getattr(sys.modules.get(name), "__path__", ())}
    digest = hashlib.sha256()
    for top in sorted(folders):
        for folder, inside, names in os.walk(top):  # thrice as fast as rglob
            inside.sort()
            for name in sorted(names):
                if name.endswith(".py"):
                    about = os.stat(f"{folder}/{name}")  # noqa: PTH116
                    digest.update(f"{folder}/{name} {about.st_size} {about.st_mtime_ns}\n".encode())
    return digest.hexdigest()
