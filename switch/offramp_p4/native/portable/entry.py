# SPDX-License-Identifier: Apache-2.0
"""PSA and PNA for the native engine; what translates a program is imported for one that is new."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from offramp_p4.architecture import PNA, architecture_of
from offramp_p4.native.architecture import Module, NativeArchitecture, PacketMode
from offramp_p4.native.portable.objects import NativeCard
from offramp_p4.native.portable.plan import PortablePlan
from offramp_p4.native.state.objects import NativePortable

if TYPE_CHECKING:
    from offramp_p4 import ir
    from offramp_p4.native.state.objects import NativeState


def _objects(program: ir.Program) -> NativePortable:
    return (NativeCard if architecture_of(program) is PNA else NativePortable)(program)


def _translate(program: ir.Program, objects: NativeState, way: PacketMode) -> Module:
    from offramp_p4.native.portable.module import translate

    return translate(program, objects, way)


ARCHITECTURE: Final = NativeArchitecture(_objects, _translate, PortablePlan)
