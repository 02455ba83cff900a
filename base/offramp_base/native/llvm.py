# SPDX-License-Identifier: Apache-2.0
"""The single import of llvmlite's IR layer, as ``ll``: types, constants, aliasing."""

from __future__ import annotations

from typing import Any, Final

from llvmlite import ir as _ir  # type: ignore[import-untyped]

ll: Any = _ir
Value = Any
"""An SSA value."""

I1: Final = ll.IntType(1)
I8: Final = ll.IntType(8)
I16: Final = ll.IntType(16)
I32: Final = ll.IntType(32)
I64: Final = ll.IntType(64)
F64: Final = ll.DoubleType()
PTR: Final = ll.PointerType()


def const(t: Any, value: int) -> Value:
    """A constant; negative numbers in two's complement."""
    return ll.Constant(t, value & ((1 << t.width) - 1))


def i64(value: int) -> Value:
    """A constant of 64 bits."""
    return const(I64, value)


class AliasTags:
    """TBAA metadata that tells LLVM which accesses never overlap: those to different kinds of memory.

    Attributes:
        tags: the metadata by kind of memory.
    """

    def __init__(self, module: Any) -> None:
        self._module = module
        self._root = module.add_metadata(["offramp"])
        self.tags: dict[str, Any] = {}

    def mark(self, access: Value, kind: str) -> Value:
        """Say that a load or store touches memory of ``kind`` only; returns the access."""
        access.set_metadata("tbaa", self.tag(kind))
        return access

    def tag(self, kind: str) -> Any:
        """The metadata of accesses to memory of ``kind``."""
        if kind not in self.tags:
            node = self._module.add_metadata([kind, self._root, i64(0)])
            self.tags[kind] = self._module.add_metadata([node, node, i64(0)])
        return self.tags[kind]
