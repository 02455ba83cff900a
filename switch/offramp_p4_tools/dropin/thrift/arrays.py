# SPDX-License-Identifier: Apache-2.0
"""Counters, meters, registers and value sets as bmv2's run-time services see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from offramp_p4.state import Exact
from offramp_p4_tools.dropin.thrift.services import RequestRefused
from offramp_p4_tools.dropin.thrift.tables import read_rates, shown_rates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from offramp_p4.engines import AnySwitch
    from offramp_p4.state import CounterState, MeterState, RegisterState

_T = TypeVar("_T")
_NAME, _INDEX = 1, 2
"""The codes of all four kinds."""


class Arrays:
    """The methods of arrays."""

    def __init__(self, switch: AnySwitch) -> None:
        self.switch = switch

    # --- counters -----------------------------------------------------------------------------------------------

    def bm_counter_read(self, counter_name: str, index: int) -> Any:
        """One counter."""
        counter = self._counter(counter_name, index)
        return {"bytes": counter.bytes[index], "packets": counter.packets[index]}

    def bm_counter_write(self, counter_name: str, index: int, value: Any) -> None:
        """Set one counter."""
        self._counter(counter_name, index).write(index, value.get("packets", 0), value.get("bytes", 0))

    def bm_counter_reset_all(self, counter_name: str) -> None:
        """Set an array to 0."""
        _named(self.switch.counters, counter_name, "counter").reset()

    def _counter(self, name: str, index: int) -> CounterState:
        return _checked(_named(self.switch.counters, name, "counter"), index)

    # --- meters -------------------------------------------------------------------------------------------------

    def bm_meter_array_set_rates(self, meter_array_name: str, rates: list[Any]) -> None:
        """Configure all meters of an array."""
        limits = read_rates(rates)
        for cell in _named(self.switch.meters, meter_array_name, "meter").cells:
            cell.configure(limits, self.switch.now_us)

    def bm_meter_set_rates(self, meter_array_name: str, index: int, rates: list[Any]) -> None:
        """Configure one meter."""
        self._meter(meter_array_name, index).cells[index].configure(read_rates(rates), self.switch.now_us)

    def bm_meter_get_rates(self, meter_array_name: str, index: int) -> list[Any]:
        """The rates of one meter."""
        return shown_rates(self._meter(meter_array_name, index).cells[index])

    def _meter(self, name: str, index: int) -> MeterState:
        return _checked(_named(self.switch.meters, name, "meter"), index)

    # --- registers ----------------------------------------------------------------------------------------------

    def bm_register_read(self, register_array_name: str, idx: int) -> int:
        """One cell; of wide ones the lower 64 bits."""
        return _signed(self._register(register_array_name, idx).read(idx))

    def bm_register_read_all(self, register_array_name: str) -> list[int]:
        """All cells."""
        register = _named(self.switch.registers, register_array_name, "register")
        return [_signed(value & register.width.mask) for value in register.values]

    def bm_register_write(self, register_array_name: str, index: int, value: int) -> None:
        """Set one cell; what does not fit is cut."""
        register = self._register(register_array_name, index)
        register.write(index, value & register.width.mask)

    def bm_register_write_range(self, register_array_name: str, start_index: int, end_index: int, value: int) -> None:
        """Set the cells from ``start_index`` to before ``end_index``."""
        register = _named(self.switch.registers, register_array_name, "register")
        if not 0 <= start_index <= end_index <= register.size:
            raise RequestRefused(_INDEX, f"register {register.name}: {start_index} to {end_index} is not a part of it")
        wrapped = register.width.wrap(value)
        register.values[start_index:end_index] = [wrapped] * (end_index - start_index)

    def bm_register_reset(self, register_array_name: str) -> None:
        """Set an array to 0."""
        _named(self.switch.registers, register_array_name, "register").reset()

    def _register(self, name: str, index: int) -> RegisterState:
        return _checked(_named(self.switch.registers, name, "register"), index)

    # --- parser value sets ----------------------------------------------------------------------------------------

    def bm_parse_vset_add(self, parse_vset_name: str, value: bytes) -> None:
        """Add a value."""
        value_set, member = self._member(parse_vset_name, value)
        if member not in value_set.members:
            value_set.set([*value_set.members, member])

    def bm_parse_vset_remove(self, parse_vset_name: str, value: bytes) -> None:
        """Remove a value; removing one that is absent is not an error."""
        value_set, member = self._member(parse_vset_name, value)
        value_set.set([m for m in value_set.members if m != member])

    def bm_parse_vset_get(self, parse_vset_name: str) -> list[bytes]:
        """All values."""
        value_set = _named(self.switch.value_sets, parse_vset_name, "value set")
        out = []
        for member in value_set.members:
            number = 0
            for match, width in zip(member, value_set.widths, strict=True):
                number = number << width | (match.value if isinstance(match, Exact) else 0)
            out.append(number.to_bytes((sum(value_set.widths) + 7) // 8, "big"))
        return out

    def bm_parse_vset_clear(self, parse_vset_name: str) -> None:
        """Remove all values."""
        _named(self.switch.value_sets, parse_vset_name, "value set").set([])

    def _member(self, name: str, value: bytes) -> tuple[Any, tuple[Exact, ...]]:
        value_set = _named(self.switch.value_sets, name, "value set")
        number, out = int.from_bytes(value, "big"), []
        for width in reversed(value_set.widths):
            out.append(Exact(number & ((1 << width) - 1)))
            number >>= width
        if number:
            raise RequestRefused(_INDEX, f"value set {name}: the value is longer than {sum(value_set.widths)} bits")
        return value_set, tuple(reversed(out))


def _named(things: Mapping[str, _T], name: str, kind: str) -> _T:
    if name not in things:
        raise RequestRefused(_NAME, f"no {kind} {name}")
    return things[name]


def _checked(thing: _T, index: int) -> _T:
    if not 0 <= index < thing.size:  # type: ignore[attr-defined]
        raise RequestRefused(_INDEX, f"{thing.name}: no index {index}")  # type: ignore[attr-defined]
    return thing


def _signed(value: int) -> int:
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value
