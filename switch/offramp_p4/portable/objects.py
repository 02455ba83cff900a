# SPDX-License-Identifier: Apache-2.0
"""The state of a PSA or PNA program's extern objects."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from offramp_p4 import ir
from offramp_p4.constructor import argument, member, number
from offramp_p4.engine import bits
from offramp_p4.engine.arrays import direct_tables
from offramp_p4.portable.flows import FlowCache
from offramp_p4.source import Unsupported
from offramp_p4.state import ActionProfileState, CounterState, MeterState, RegisterState
from offramp_p4.types import Bits, Struct, strip
from offramp_p4.v1model.objects import ExternProgramObjects, Maker, register_width

_KINDS: Final[dict[str, Any]] = {"PACKETS": "packets", "BYTES": "bytes", "PACKETS_AND_BYTES": "packets_and_bytes"}


def _register(i: ir.ExternInstance) -> RegisterState:
    """A cell that is a struct is one number, its first field in the highest bits."""
    element = strip(i.type_args[0])
    width = Bits(bits.width(element)) if isinstance(element, Struct) else register_width(i)
    if isinstance(element, Struct) and not all(isinstance(kind, Bits) for kind in bits.kinds(element)):
        raise Unsupported(i.pos, f"a register of {element}, which is not made of numbers alone")
    return RegisterState(i.name, width, number(i, "size"), _initial(i, width))


def _initial(i: ir.ExternInstance, width: Bits) -> int:
    value = argument(i, "initial_value") if "initial_value" in i.params else None
    if value is None:
        return 0
    if not isinstance(value, ir.Const) or not isinstance(value.value, int):
        raise Unsupported(i.pos, f"{i.extern} {i.name} whose initial value is not a number")
    return width.wrap(value.value)


def _selector(i: ir.ExternInstance) -> ActionProfileState:
    return ActionProfileState(i.name, number(i, "size"), selector=True)


class PortableObjects(ExternProgramObjects):
    """The objects of a PSA or PNA program: those of v1model with other externs.

    Attributes:
        table_of: the table that a direct counter or meter belongs to.
        flows: state of the entries that PNA's data plane adds.
    """

    makers: ClassVar[dict[str, Maker]] = {
        "Register": _register,
        "Counter": lambda i: CounterState(i.name, _KINDS[member(i, "type")], number(i, "n_counters")),
        "DirectCounter": lambda i: CounterState(i.name, _KINDS[member(i, "type")], 0),
        "Meter": lambda i: MeterState(i.name, _KINDS[member(i, "type")], number(i, "n_meters")),
        "DirectMeter": lambda i: MeterState(i.name, _KINDS[member(i, "type")], 0),
        "ActionProfile": lambda i: ActionProfileState(i.name, number(i, "size")),
        "ActionSelector": _selector,
    }

    def __init__(self, program: ir.Program) -> None:
        super().__init__(program)
        self.table_of = direct_tables(program)
        self.flows = self.make_flows()

    def make_flows(self) -> FlowCache:
        """The flow cache."""
        return FlowCache()

    def reset(self) -> None:
        """Everything as it was when the program was loaded."""
        super().reset()
        self.flows.reset()
