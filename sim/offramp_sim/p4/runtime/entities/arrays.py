"""CounterEntry and RegisterEntry (sections 9.3 and 9.7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from offramp.switch.p4rt.schema import v1
from offramp.switch.p4rt.values import decode, decode_signed, encode, encode_signed
from offramp_sim.p4.runtime.entities.base import ById, cells, invalid, modify_only
from offramp_sim.p4.state import CounterState, RegisterState


class CounterHandler:
    """CounterEntry: the cells of indirect counters."""

    def __init__(self, counters: ById[CounterState]) -> None:
        self._counters = counters

    def write(self, kind: int, entry: Any) -> None:
        """Set one cell or all; without data nothing changes."""
        counter = self._counters.get(entry.counter_id)
        what = f"counter {counter.name}"
        modify_only(kind, what)
        indices = cells(entry, counter.size, what)
        if not entry.HasField("data"):
            return
        for index in indices:
            counter.write(index, entry.data.packet_count, entry.data.byte_count)

    def read(self, wanted: Any) -> Iterator[Any]:
        """Values of the cells."""
        for identifier, counter in self._counters.select(wanted.counter_id):
            for index in cells(wanted, counter.size, f"counter {counter.name}"):
                data = v1.CounterData(packet_count=counter.packets[index], byte_count=counter.bytes[index])
                made = v1.CounterEntry(counter_id=identifier, index=v1.Index(index=index), data=data)
                yield v1.Entity(counter_entry=made)


class Register:
    """One register and how its cells travel in P4Data (section 8.5.2)."""

    def __init__(self, state: RegisterState, spec: Any, type_info: Any) -> None:
        self.state = state
        self.what = f"register {state.name}"
        if spec.WhichOneof("type_spec") == "new_type":
            spec = type_info.new_types[spec.new_type.name].original_type
        kind = spec.WhichOneof("type_spec")
        self._field = {"bitstring": "bitstring", "bool": "bool", "serializable_enum": "enum_value"}[kind]
        self._signed = kind == "bitstring" and spec.bitstring.WhichOneof("type_spec") == "int"

    def decode(self, data: Any) -> int:
        """The unsigned bit pattern in a P4Data.

        Raises:
            RpcError: P4Data of another kind.
            OutOfRangeError: it does not fit.
        """
        kind = data.WhichOneof("data")
        if kind != self._field:
            raise invalid(f"{self.what}: expected data of kind {self._field}, got {kind or 'none'}")
        if kind == "bool":
            return int(data.bool)
        width = self.state.width.width
        if self._signed:
            return decode_signed(data.bitstring, width, self.what) & self.state.width.mask
        return decode(getattr(data, kind), width, self.what)

    def encode(self, value: int) -> Any:
        """A cell as P4Data."""
        if self._field == "bool":
            return v1.P4Data(bool=bool(value))
        if self._signed:
            width = self.state.width.width
            signed = value - (1 << width) if value >> (width - 1) else value
            return v1.P4Data(bitstring=encode_signed(signed, width))
        return v1.P4Data(**{self._field: encode(value)})


class RegisterHandler:
    """RegisterEntry: the cells of registers."""

    def __init__(self, registers: ById[Register]) -> None:
        self._registers = registers

    def write(self, kind: int, entry: Any) -> None:
        """Set one cell or all."""
        register = self._registers.get(entry.register_id)
        modify_only(kind, register.what)
        indices = cells(entry, register.state.size, register.what)
        value = register.decode(entry.data)
        for index in indices:
            register.state.write(index, value)

    def read(self, wanted: Any) -> Iterator[Any]:
        """Values of the cells."""
        for identifier, register in self._registers.select(wanted.register_id):
            for index in cells(wanted, register.state.size, register.what):
                data = register.encode(register.state.read(index))
                made = v1.RegisterEntry(register_id=identifier, index=v1.Index(index=index), data=data)
                yield v1.Entity(register_entry=made)
