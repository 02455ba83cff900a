# SPDX-License-Identifier: Apache-2.0
"""Tables whose entries always exist, one for each index: counters, meters, registers, filters, parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.state import CounterState, MeterCell, MeterState, RegisterState
from offramp_p4.state.match import Exact
from offramp_p4.tna.filter_state import FilterState, configure
from offramp_p4_tools.bfrt import common
from offramp_p4_tools.bfrt.fields import BfrtField, TableSpec
from offramp_p4_tools.bfrt.stores.base import TableStore
from offramp_p4_tools.bfrt.values import EntryData, Key, Value, only

_BYTES_PER_KBIT: Final = 125


class _Array(TableStore):
    """Entries 0 to ``spec.size`` - 1; an added entry is a changed one."""

    def insert(self, key: Key, data: EntryData) -> None:
        """Set an entry, as entries of an array always exist."""
        self.modify(key, data)

    def modify(self, key: Key, data: EntryData) -> None:
        """Change the fields that are given."""
        self._write(self._index(key), data.values)

    def reset(self, key: Key) -> None:
        """Give an entry its first value."""
        self._clear(self._index(key))

    def delete(self, key: Key) -> None:
        """Give an entry its first value."""
        self._clear(self._index(key))

    def clear(self) -> None:
        """Give all entries their first value."""
        for index in range(self.spec.size):
            self._clear(index)

    def get(self, key: Key) -> EntryData:
        """An entry."""
        return EntryData(None, self._read(self._index(key)))

    def keys(self) -> Iterator[Key]:
        """All indices."""
        return ((Exact(index),) for index in range(self.spec.size))

    def usage(self) -> int:
        """Number of entries, always the size of the array."""
        return self.spec.size

    def _index(self, key: Key) -> int:
        index = only(key)
        if index >= self.spec.size:
            raise RpcError(
                Code.INVALID_ARGUMENT, f"table {self.spec.name}: index {index} is outside 0..{self.spec.size - 1}"
            )
        return index

    def _read(self, index: int) -> dict[str, Value]:
        raise NotImplementedError

    def _write(self, index: int, values: Mapping[str, Value]) -> None:
        raise NotImplementedError

    def _clear(self, index: int) -> None:
        raise NotImplementedError


class CounterStore(_Array):
    """An indirect counter."""

    def __init__(self, spec: TableSpec, state: CounterState) -> None:
        super().__init__(spec)
        self._state = state

    def _read(self, index: int) -> dict[str, Value]:
        counts = {"$COUNTER_SPEC_BYTES": self._state.bytes[index], "$COUNTER_SPEC_PKTS": self._state.packets[index]}
        return {f.name: int(counts[f.name]) for f in self.spec.data}

    def _write(self, index: int, values: Mapping[str, Value]) -> None:
        packets, octets = self._state.packets[index], self._state.bytes[index]
        self._state.write(
            index,
            _number(values.get("$COUNTER_SPEC_PKTS", packets)),
            _number(values.get("$COUNTER_SPEC_BYTES", octets)),
        )

    def _clear(self, index: int) -> None:
        self._state.write(index, 0, 0)


class MeterStore(_Array):
    """An indirect meter; what was written is read back, although the meter counts in bytes."""

    def __init__(self, spec: TableSpec, state: MeterState, now_us: Callable[[], int]) -> None:
        super().__init__(spec)
        self._state, self._now_us = state, now_us

    def _read(self, index: int) -> dict[str, Value]:
        return read_rates(self.spec.data, self._state.cells[index])

    def _write(self, index: int, values: Mapping[str, Value]) -> None:
        write_rates(self.spec.data, self._state.cells[index], values, self._now_us())

    def _clear(self, index: int) -> None:
        self._state.cells[index].configure((), self._now_us())


class RegisterStore(_Array):
    """A register; every value is a list with one element for the only pipe."""

    def __init__(self, spec: TableSpec, state: RegisterState) -> None:
        super().__init__(spec)
        self._state = state

    def _read(self, index: int) -> dict[str, Value]:
        return split_register(self.spec.data, self._state.read(index))

    def _write(self, index: int, values: Mapping[str, Value]) -> None:
        self._state.write(index, join_register(self.spec.data, self._state.read(index), values))

    def _clear(self, index: int) -> None:
        self._state.write(index, self._state.initial & self._state.width.mask)


class FilterStore(_Array):
    """Low-pass filters, or random early detection."""

    def __init__(self, spec: TableSpec, state: FilterState) -> None:
        super().__init__(spec)
        self._state = state
        self._given: dict[int, dict[str, Value]] = {}

    def _read(self, index: int) -> dict[str, Value]:
        return {**first_filter(self.spec.data), **self._given.get(index, {})}

    def _write(self, index: int, values: Mapping[str, Value]) -> None:
        now = {**self._read(index), **values}
        configure(self._state.cells[index], **filter_options(now))
        self._given[index] = now

    def _clear(self, index: int) -> None:
        self._given.pop(index, None)
        self._state.reset_cell(index)


class ParameterStore(TableStore):
    """A register parameter: a default entry and nothing else."""

    def __init__(self, spec: TableSpec, state: RegisterState) -> None:
        super().__init__(spec)
        self._state = state

    def set_default(self, data: EntryData) -> None:
        """Change the parameter."""
        if "value" not in data.values:
            raise self.wrong("value is missing")
        self._state.write(0, _number(data.values["value"]))

    def reset_default(self) -> None:
        """Give the parameter the value that the program gives it."""
        self._state.write(0, self._state.initial & self._state.width.mask)

    def get_default(self) -> EntryData:
        """The parameter."""
        return EntryData(None, {"value": self._state.read(0)})

    def clear(self) -> None:
        """Clear the array, like :meth:`reset_default`."""
        self.reset_default()

    def usage(self) -> int:
        """Number of entries, always 0."""
        return 0

    def keys(self) -> Iterator[Key]:
        """No keys: a parameter has no entries."""
        return iter(())


def _number(value: Value) -> int:
    one = value[0] if isinstance(value, list) else value  # a register as it was read
    assert isinstance(one, int | float), value
    return int(one)


def split_register(fields: tuple[BfrtField, ...], word: int) -> dict[str, Value]:
    """The fields of a register's value: one, or a pair whose first word is the high half."""
    if len(fields) == 1:
        return {fields[0].name: [word]}
    high, low = fields
    return {high.name: [word >> low.width], low.name: [word & (1 << low.width) - 1]}


def join_register(fields: tuple[BfrtField, ...], word: int, values: Mapping[str, Value]) -> int:
    """The value of a register whose fields are changed."""
    parts = [value[0] for value in split_register(fields, word).values() if isinstance(value, list)]
    for position, known in enumerate(fields):
        if known.name in values:
            parts[position] = _number(values[known.name])
    return int(parts[0]) if len(parts) == 1 else int(parts[0]) << fields[1].width | int(parts[1])


def read_rates(fields: tuple[BfrtField, ...], cell: MeterCell | None) -> dict[str, Value]:
    """The rates of a meter in BF-RT's units."""
    unit = _BYTES_PER_KBIT if "KBPS" in fields[0].name else 1
    if cell is None or not cell.rates:
        return {f.name: common.MOST_RATE for f in fields}
    (cir, cburst), (pir, pburst) = cell.rates
    return {f.name: round(value / unit) for f, value in zip(fields, (cir, pir, cburst, pburst), strict=True)}


def write_rates(fields: tuple[BfrtField, ...], cell: MeterCell, values: Mapping[str, Value], now_us: int) -> None:
    """Change the rates of a meter that are given; its buckets are full then."""
    unit = _BYTES_PER_KBIT if "KBPS" in fields[0].name else 1
    now = {**read_rates(fields, cell), **{n: v for n, v in values.items() if n in {f.name for f in fields}}}
    if all(value == common.MOST_RATE for value in now.values()):
        cell.configure((), now_us)
        return
    cir, pir, cburst, pburst = (min(_number(now[f.name]), common.MOST_RATE >> 12) * unit for f in fields)
    cell.configure(((float(cir), cburst), (float(pir), pburst)), now_us)


def filter_options(now: Mapping[str, Any]) -> dict[str, Any]:
    """The options of :func:`offramp_p4.tna.filter_state.configure` for BF-RT's fields of a filter."""
    if "$LPF_SPEC_TYPE" in now:
        return {
            "rise_ns": round(now["$LPF_SPEC_GAIN_TIME_CONSTANT_NS"]),
            "fall_ns": round(now["$LPF_SPEC_DECAY_TIME_CONSTANT_NS"]),
            "rate": now["$LPF_SPEC_TYPE"] == "RATE",
            "scale": min(now["$LPF_SPEC_OUT_SCALE_DOWN_FACTOR"], 63),
        }
    return {
        "rise_ns": round(now["$WRED_SPEC_TIME_CONSTANT_NS"]),
        "low": now["$WRED_SPEC_MIN_THRESH_CELLS"],
        "high": now["$WRED_SPEC_MAX_THRESH_CELLS"],
        "probability": now["$WRED_SPEC_MAX_PROBABILITY"],
    }


def first_filter(fields: tuple[BfrtField, ...]) -> dict[str, Value]:
    """The fields of a filter that has not been configured."""
    return {f.name: f.choices[1] if f.choices else 0 for f in fields}
