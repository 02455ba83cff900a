# SPDX-License-Identifier: Apache-2.0
"""The face of a package: its public names, each imported from its module when it is first used (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def face(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """The ``__getattr__``, ``__dir__`` and ``__all__`` of a package that exports names lazily.

    Type checkers read the imports instead, so the package has both::

        if TYPE_CHECKING:
            from offramp_p4.engines import make_switch as make_switch
        else:
            __getattr__, __dir__, __all__ = face(__name__, {"make_switch": "offramp_p4.engines"})

    Args:
        package: the package's ``__name__``.
        modules: each public name and the dotted name of the module that defines it. A name must not be that of a
            submodule: importing the submodule would replace it.
    """

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)  # the next use finds it without this function
        return value

    def names() -> list[str]:
        return sorted(vars(sys.modules[package]).keys() | modules.keys())

    return load, names, sorted(modules)
