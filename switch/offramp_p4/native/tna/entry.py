# SPDX-License-Identifier: Apache-2.0
"""TNA for the native engine; what translates a program is imported for one that is new."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from offramp_p4.native.architecture import Module, NativeArchitecture, PacketMode
from offramp_p4.native.tna.objects import NativeTofino
from offramp_p4.native.tna.plan import TnaPlan

if TYPE_CHECKING:
    from offramp_p4 import ir
    from offramp_p4.native.state.objects import NativeState


def _translate(program: ir.Program, objects: NativeState, way: PacketMode) -> Module:
    from offramp_p4.native.tna.module import translate

    return translate(program, objects, way)


ARCHITECTURE: Final = NativeArchitecture(NativeTofino, _translate, TnaPlan)
