# SPDX-License-Identifier: Apache-2.0
"""CounterEntry and RegisterEntry (sections 9.3 and 9.7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.values import decode, decode_signed, encode, encode_signed
from offramp_p4.runtime.entities.base import ById, cells, invalid, modify_only
from offramp_p4.state import CounterState, RegisterState


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
                entry = v1.CounterEntry(counter_id=identifier, index=v1.Index(index=index), data=data)
                yield v1.Entity(counter_entry=entry)


class P4DataWord:
    """A scalar and how it travels in P4Data (section 8.5.2)."""

    def __init__(self, spec: Any, type_info: Any, width: int, what: str) -> None:
        if spec.WhichOneof("type_spec") == "new_type":
            spec = type_info.new_types[spec.new_type.name].original_type
        # A translated type has no original: P4Data carries the data plane's bits.
        kind = spec.WhichOneof("type_spec") or "bitstring"
        self.width, self._what = width, what
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
            raise invalid(f"{self._what}: expected data of kind {self._field}, got {kind or 'none'}")
        if kind == "bool":
            return int(data.bool)
        if self._signed:
            return decode_signed(data.bitstring, self.width, self._what) & (1 << self.width) - 1
        return decode(getattr(data, kind), self.width, self._what)

    def encode(self, value: int) -> Any:
        """An unsigned bit pattern as P4Data."""
        if self._field == "bool":
            return v1.P4Data(bool=bool(value))
        if self._signed:
            signed = value - (1 << self.width) if value >> (self.width - 1) else value
            return v1.P4Data(bitstring=encode_signed(signed, self.width))
        return v1.P4Data(**{self._field: encode(value)})


class P4RuntimeRegister:
    """One register and how its cells travel in P4Data: a word, or a struct of equal words, the first one highest."""

    def __init__(self, state: RegisterState, spec: Any, type_info: Any) -> None:
        self.state = state
        self.what = f"register {state.name}"
        self._struct = spec.WhichOneof("type_spec") == "struct"
        members = type_info.structs[spec.struct.name].members if self._struct else []
        specs = [m.type_spec for m in members] or [spec]
        width = state.width.width // len(specs)
        self._words = [P4DataWord(s, type_info, width, self.what) for s in specs]

    def decode(self, data: Any) -> int:
        """The unsigned bit pattern in a P4Data.

        Raises:
            RpcError: P4Data of another kind, or a struct with another number of members.
            OutOfRangeError: it does not fit.
        """
        if not self._struct:
            return self._words[0].decode(data)
        members = data.struct.members
        if data.WhichOneof("data") != "struct" or len(members) != len(self._words):
            raise invalid(f"{self.what}: expected a struct of {len(self._words)} members")
        value = 0
        for word, member in zip(self._words, members, strict=True):
            value = value << word.width | word.decode(member)
        return value

    def encode(self, value: int) -> Any:
        """A cell as P4Data."""
        if not self._struct:
            return self._words[0].encode(value)
        width = self._words[0].width
        parts = [value >> width * i & (1 << width) - 1 for i in reversed(range(len(self._words)))]
        members = [word.encode(part) for word, part in zip(self._words, parts, strict=True)]
        return v1.P4Data(struct=v1.P4StructLike(members=members))


class RegisterHandler:
    """RegisterEntry: the cells of registers."""

    def __init__(self, registers: ById[P4RuntimeRegister]) -> None:
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
                entry = v1.RegisterEntry(register_id=identifier, index=v1.Index(index=index), data=data)
                yield v1.Entity(register_entry=entry)
