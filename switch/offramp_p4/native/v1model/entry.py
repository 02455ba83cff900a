# SPDX-License-Identifier: Apache-2.0
"""v1model for the native engine; what translates a program is imported for one that is new."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from offramp_p4.native.architecture import Module, NativeArchitecture, PacketMode
from offramp_p4.native.plan import ContextPlan
from offramp_p4.native.state.objects import NativeState, V1Objects

if TYPE_CHECKING:
    from offramp_p4 import ir


def _translate(program: ir.Program, objects: NativeState, way: PacketMode) -> Module:
    from offramp_p4.native.v1model.module import translate

    return translate(program, objects, way)


ARCHITECTURE: Final = NativeArchitecture(V1Objects, _translate, ContextPlan, frozenset(PacketMode))
