# SPDX-License-Identifier: Apache-2.0
"""The state of a v1model program's extern objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Final

from offramp_p4 import ir
from offramp_p4.engine.objects import ProgramObjects
from offramp_p4.source import Unsupported
from offramp_p4.state import ActionProfileState, CounterState, MeterState, RegisterState
from offramp_p4.types import BOOL, Bits, Enum, strip
from offramp_p4.v1model.crc import CustomCrcs

Object = RegisterState | CounterState | MeterState | ActionProfileState
Maker = Callable[[ir.ExternInstance], Object]


def register_width(i: ir.ExternInstance) -> Bits:
    """The bits of a cell of a register.

    Raises:
        Unsupported: it holds something else than a number.
    """
    element = strip(i.type_args[0])
    if isinstance(element, Enum) and element.base is not None:
        element = element.base
    if element == BOOL:
        element = Bits(1)
    if not isinstance(element, Bits):
        raise Unsupported(i.pos, f"a register of {element}")
    return element


def _register(i: ir.ExternInstance) -> RegisterState:
    return RegisterState(i.name, register_width(i), constant(i, 0))


def _counter(i: ir.ExternInstance) -> CounterState:
    return CounterState(i.name, enum_member(i, 1), constant(i, 0))  # type: ignore[arg-type]


def _direct_counter(i: ir.ExternInstance) -> CounterState:
    return CounterState(i.name, enum_member(i, 0), 0)  # type: ignore[arg-type]


def _meter(i: ir.ExternInstance) -> MeterState:
    return MeterState(i.name, enum_member(i, 1), constant(i, 0))  # type: ignore[arg-type]


def _direct_meter(i: ir.ExternInstance) -> MeterState:
    return MeterState(i.name, enum_member(i, 0), 0)  # type: ignore[arg-type]


def _action_profile(i: ir.ExternInstance) -> ActionProfileState:
    return ActionProfileState(i.name, constant(i, 0))


def _action_selector(i: ir.ExternInstance) -> ActionProfileState:
    return ActionProfileState(i.name, constant(i, 1), selector=True)


_MAKERS: Final[dict[str, Maker]] = {
    "register": _register,
    "counter": _counter,
    "direct_counter": _direct_counter,
    "meter": _meter,
    "direct_meter": _direct_meter,
    "action_profile": _action_profile,
    "action_selector": _action_selector,
}


def constant(i: ir.ExternInstance, index: int) -> int:
    """A constructor argument that is a number."""
    arg = i.args[index]
    if not isinstance(arg, ir.Const) or not isinstance(arg.value, int):
        raise Unsupported(i.pos, f"{i.extern} {i.name} whose argument {index + 1} is not a constant")
    return arg.value


def enum_member(i: ir.ExternInstance, index: int) -> str:
    """The name of the enum member given as a constructor argument."""
    arg = i.args[index]
    member = None
    if isinstance(arg, ir.Const) and isinstance(arg.type, Enum) and isinstance(arg.value, int):
        member = arg.type.member(arg.value)
    if member is None:
        raise Unsupported(i.pos, f"{i.extern} {i.name} whose argument {index + 1} is not an enum member")
    return member


class ExternProgramObjects(ProgramObjects):
    """The objects of a program whose externs are those in ``makers``.

    Attributes:
        makers: makers of externs' state, by the extern's name.
        crcs: parameters of custom CRCs.
    """

    makers: ClassVar[Mapping[str, Maker]] = _MAKERS

    def __init__(self, program: ir.Program) -> None:
        self.crcs = self.make_crcs(program)
        super().__init__(program)

    def make_crcs(self, program: ir.Program) -> CustomCrcs:
        """The parameters of custom CRCs."""
        return CustomCrcs(program)

    def reset(self) -> None:
        """Everything as it was when the program was loaded."""
        super().reset()
        self.crcs.reset()

    def make(self, i: ir.ExternInstance) -> Object | None:
        """The state of an extern instance; None if it has none."""
        make = self.makers.get(i.extern)
        return None if make is None else make(i)
