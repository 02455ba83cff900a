# SPDX-License-Identifier: Apache-2.0
"""The state of a TNA program's extern objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from offramp_p4 import ir
from offramp_p4.constructor import argument, member, number
from offramp_p4.engine.arrays import direct_tables
from offramp_p4.engine.objects import ProgramObjects
from offramp_p4.source import Unsupported
from offramp_p4.state import ActionProfileState, CounterState, MeterState, RegisterState
from offramp_p4.state.member_status import LINE_MEMBERS, MemberStatus, bits_needed
from offramp_p4.tna.blocks import pipes
from offramp_p4.tna.filter_state import DIRECT_FILTERS, FILTERS, FilterState
from offramp_p4.tna.generator import PacketGenerator
from offramp_p4.tna.register_of import register_of, register_of_selector
from offramp_p4.tna.replication import TofinoReplication
from offramp_p4.types import BOOL, Bits, Enum, Struct, Type, strip

NOT_MODELLED: Final = {"Pktgen": "packets that a deparser asks the packet generator for (Pktgen)"}
_KINDS: Final[dict[str, Any]] = {"PACKETS": "packets", "BYTES": "bytes", "PACKETS_AND_BYTES": "packets_and_bytes"}
_WIDTHS: Final = (1, 8, 16, 32, 64)
_PAIR_WIDTHS: Final = (8, 16, 32)
_GROUPS: Final = 1024
"""Number of groups of a selector whose program does not say how many there may be."""


@dataclass(slots=True)
class TofinoRegister(RegisterState):
    """A register array; a pair of words is one value with the first word in the high half."""

    pair: bool = False


class TofinoObjects(ProgramObjects):
    """The objects of a TNA program; direct registers have their state in the entries.

    Attributes:
        filters: low-pass filters and random early detection, by control-plane name.
        direct_registers: types and initial values of direct registers, by control-plane name.
        table_of: the table that a direct counter, meter or register belongs to.
        logs: next index of each register action's ``execute_log``.
        port_metadata: bytes that the parser finds behind the intrinsic metadata, by port; zeros for others.
        generator: the packet generator; None: that of a Tofino 2, which is another one, is not modelled.
    """

    pre: TofinoReplication

    def __init__(self, program: ir.Program) -> None:
        self.direct_registers: dict[str, RegisterState] = {}
        self.filters: dict[str, FilterState] = {}
        self.port_metadata: dict[int, bytes] = {}
        self.logs: dict[ir.ExternInstance, list[int]] = {}
        self.generator = None if is_tofino_2(program) else PacketGenerator(len(pipes(program)))
        super().__init__(program)
        self.table_of = direct_tables(program)
        for instance, table in self.table_of.items():
            if instance in self.of and not isinstance(self.of[instance], RegisterState):
                self.of[instance].table = table.name

    def reset(self) -> None:
        """Everything as it was when the program was loaded."""
        super().reset()
        self.port_metadata.clear()
        for log in self.logs.values():
            log[0] = 0
        if self.generator is not None:
            self.generator.reset()

    def make(self, i: ir.ExternInstance) -> Any:
        """The state of an extern instance; None if it has none."""
        if i.extern in ("Register", "RegisterParam", "DirectRegister"):
            return _register(i)
        if i.extern in ("Counter", "DirectCounter"):
            size = number(i, "size") if i.extern == "Counter" else 0
            return CounterState(i.name, _KINDS[member(i, "type")], size)
        if i.extern in ("Meter", "DirectMeter"):
            size = number(i, "size") if i.extern == "Meter" else 0
            return MeterState(i.name, _KINDS[member(i, "type")], size)
        if i.extern in FILTERS:
            return FilterState(i.name, number(i, "size"))
        if i.extern in DIRECT_FILTERS:
            return FilterState(i.name, 0)
        if i.extern == "ActionProfile":
            return ActionProfileState(i.name, number(i, "size"))
        return self._selector(i) if i.extern == "ActionSelector" else None

    def make_replication(self) -> TofinoReplication:
        """The packet replication engine."""
        return TofinoReplication()

    def _make(self, i: ir.ExternInstance) -> None:
        if i.extern in NOT_MODELLED:
            raise Unsupported(i.pos, NOT_MODELLED[i.extern])
        if i.extern == "SelectorAction":
            selector = register_of(i)
            if isinstance(self.of[selector], ActionProfileState):
                self._give_status(selector, self.of[selector])
        super()._make(i)

    def _name(self, i: ir.ExternInstance, state: Any) -> None:
        if isinstance(state, FilterState):
            self.filters[i.name] = state
        elif i.extern == "DirectRegister":
            self.direct_registers[i.name] = state
        else:
            super()._name(i, state)

    def _selector(self, i: ir.ExternInstance) -> ActionProfileState:
        """A selector of an action profile is the profile, with groups."""
        profile = argument(i, "action_profile") if "action_profile" in i.params else None
        if isinstance(profile, ir.ExternInstance):
            state: ActionProfileState = self.of[profile]
            state.selector = True
        else:
            state = self.make_profile(i.name, number(i, "size"))
        if isinstance(own := register_of_selector(i), ir.ExternInstance):
            self._give_status(i, state, self.of[own])
        return state

    def make_profile(self, name: str, size: int) -> ActionProfileState:
        """A selector that is its own profile."""
        return ActionProfileState(name, size, selector=True)

    def make_bits(self, name: str, size: int) -> TofinoRegister:
        """The memory of a selector that its actions change."""
        return TofinoRegister(name, Bits(1), size)

    def _give_status(self, i: ir.ExternInstance, state: ActionProfileState, bits: TofinoRegister | None = None) -> None:
        """Have the data plane decide which members of a selector take packets, if it does not already."""
        if state.status is not None:
            return
        largest, groups = group_limits(i)
        size = bits_needed(largest, groups)
        if bits is None:
            bits = self.registers[i.name] = self.make_bits(i.name, size)
        if bits.width.width != 1 or bits.size < size:
            raise Unsupported(i.pos, f"selector {i.name} with a register of other than at least {size} cells of a bit")
        state.status = MemberStatus(i.name, bits, largest, groups)


def is_tofino_2(program: ir.Program) -> bool:
    """Whether a program is for Tofino 2."""
    return "ghost_intrinsic_metadata_t" in program.types


def group_limits(selector: ir.ExternInstance) -> tuple[int, int]:
    """The most members of a group of a selector, and the most groups."""
    largest = number(selector, "max_group_size") if "max_group_size" in selector.params else LINE_MEMBERS
    return largest, number(selector, "num_groups") if "num_groups" in selector.params else _GROUPS


def _register(i: ir.ExternInstance) -> TofinoRegister:
    element = strip(i.type_args[0])
    words = [strip(f.type) for f in element.fields] if isinstance(element, Struct) else [element]
    width = word_width(words[0])
    pair = len(words) == 2
    ok = len(words) in (1, 2) and width in (_PAIR_WIDTHS if pair else _WIDTHS)
    if not ok or any(word_width(w) != width for w in words):
        raise Unsupported(
            i.pos, f"a register of {element}: one word of 1, 8, 16, 32 or 64 bits, or two equal ones of 8, 16 or 32"
        )
    width *= len(words)
    signed = isinstance(words[0], Bits) and words[0].signed and not pair
    size = number(i, "size") if i.extern == "Register" else 1
    initial = _initial(i, width, pair=pair)
    return TofinoRegister(i.name, Bits(width, signed), size, initial=Bits(width, signed).wrap(initial), pair=pair)


def word_width(t: Type) -> int:
    """Bits of a word that a stateful ALU works on; 0 for types that it cannot work on."""
    t = strip(t)
    if t == BOOL:
        return 1
    if isinstance(t, Enum) and t.base is not None:
        return t.base.width
    return t.width if isinstance(t, Bits) else 0


def _initial(i: ir.ExternInstance, width: int, *, pair: bool) -> int:
    value = argument(i, "initial_value") if "initial_value" in i.params else None
    if value is None:
        return 0
    parts = value.parts if isinstance(value, ir.Compose) else [value]
    out, own = 0, width // 2 if pair else width
    for part in parts:
        if not isinstance(part, ir.Const) or not isinstance(part.value, int):
            raise Unsupported(i.pos, f"{i.extern} {i.name} whose initial value is not a constant")
        out = out << own | part.value & (1 << own) - 1
    return out
