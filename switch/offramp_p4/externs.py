# SPDX-License-Identifier: Apache-2.0
"""Externs that other packages bring: what they look like in P4, and what they do in Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from offramp_base.errors import OfframpError
from offramp_base.registry import Registry


@dataclass(frozen=True, slots=True)
class Extern:
    """An extern function or extern type of v1model, PSA and PNA programs, registered under its name.

    Attributes:
        declaration: the P4 text that ``#include <NAME.p4>`` stands for.
        behaviour: for a function, a callable that takes the values of its ``in`` and ``inout`` arguments and returns
            the result and the new values of ``inout`` and ``out`` arguments, in a tuple where they are several. Of a
            type, a class: the engine makes an object of the constructor's arguments for every instance, anew when
            the switch is reset, and calls its methods by the names that the declaration has.
    """

    declaration: str
    behaviour: Callable[..., Any]


EXTERNS: Final[Registry[Extern]] = Registry("P4 extern", "offramp.p4_externs")
"""Extern functions and types by their names in P4."""


def find_extern(name: str) -> Extern | None:
    """The extern of this name; None if no package brings it.

    Raises:
        OfframpError: a package brings something else under the name, or it cannot be imported.
    """
    if name not in EXTERNS:
        return None
    extern = EXTERNS.get(name)
    if not isinstance(extern, Extern):
        raise OfframpError(f"P4 extern {name}: expected an offramp_p4.externs.Extern, got {type(extern).__name__}")
    return extern


def find_declaration(include: str) -> str | None:
    """The text of ``#include <NAME.p4>`` for an extern's name; None if no package brings it."""
    name, dot, suffix = include.rpartition(".")
    extern = find_extern(name) if dot and suffix == "p4" and name.isidentifier() else None
    return extern.declaration if extern else None
