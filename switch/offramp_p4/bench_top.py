# SPDX-License-Identifier: Apache-2.0
"""A switch on a tester's bench: packets in, packets out, tables by their names and values as people write them."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, SupportsBytes, TypeVar

from offramp_base.errors import OfframpError
from offramp_p4.engines import make_switch
from offramp_p4.programs import load_program
from offramp_p4.state import ANY, ActionData, Exact, Lpm, Match, Optional, Range, TableEntry, Ternary

if TYPE_CHECKING:
    from offramp_p4.coverage import Coverage
    from offramp_p4.plain import PlainSwitch
    from offramp_p4.state import CounterState, RegisterState, TableState

_T = TypeVar("_T")
Frame = bytes | SupportsBytes
"""A packet: bytes, or what becomes bytes, as scapy's packets do."""
KeyValue = int | str | bytes | tuple[int | str, int | str] | None
"""A key: a number or an address; ``value/length``, ``value &&& mask`` or ``low..high``, or a pair; None: anything."""
_SEPARATORS: Final = {"lpm": "/", "ternary": "&&&", "range": ".."}


class TestedSwitch:
    """A switch that runs one program.

    Args:
        program: P4 source, or bmv2's JSON.
        engine: as of :func:`~offramp_p4.engines.make_switch`; coverage needs ``python``, and ``auto`` takes it then.
        include, defines: folders and macros of the preprocessor.
        runs: gets the coverage of this switch; None: nothing is counted.
        options: further arguments of :func:`~offramp_p4.engines.make_switch`.

    Attributes:
        switch: the switch itself.

    Raises:
        OfframpError: the program is refused.
    """

    __test__ = False  # whatever pytest thinks of the name

    def __init__(
        self,
        program: str | Path,
        *,
        engine: str = "auto",
        include: Sequence[str | Path] = (),
        defines: Mapping[str, str] | None = None,
        runs: list[Coverage] | None = None,
        **options: Any,
    ) -> None:
        loaded = load_program(program, [Path(folder) for folder in include], defines)
        if runs is not None and engine != "native":
            from offramp_p4.coverage import Coverage

            coverage = Coverage(loaded)
            runs.append(coverage)
            options, engine = {**options, "trace": coverage}, "python"
        self.switch: PlainSwitch = make_switch(loaded, engine, **options)

    def send(self, port: int, packet: Frame) -> list[tuple[int, bytes]]:
        """Send a packet in at a port; returns port and bytes of each packet that leaves, in order."""
        return self.switch.process_one(port, bytes(packet))

    def expect(self, port: int, packet: Frame, *leaving: tuple[int, Frame]) -> None:
        """Send a packet, and compare what leaves.

        Raises:
            AssertionError: names the first packet that differs, and its first byte that does.
        """
        __tracebackhide__ = True
        wanted = [(number, bytes(frame)) for number, frame in leaving]
        left = self.send(port, packet)
        for number, (one, other) in enumerate(zip(wanted, left, strict=False), 1):
            if one != other:
                raise AssertionError(f"packet {number}: {_difference(one, other)}")
        if len(wanted) != len(left):
            ports = ", ".join(str(number) for number, _ in left) or "none"
            raise AssertionError(f"expected {len(wanted)} packets, got {len(left)} (by port: {ports})")

    def table(self, name: str) -> TestedTable:
        """The table of a name, or the only one whose name ends in ``.name``.

        Raises:
            OfframpError: there is none, or more than one.
        """
        return TestedTable(named(self.switch.tables, name, "table"))

    def register(self, name: str) -> RegisterState:
        """The register of a name; see :meth:`table`."""
        return named(self.switch.registers, name, "register")

    def counter(self, name: str) -> CounterState:
        """The counter of a name; see :meth:`table`."""
        return named(self.switch.counters, name, "counter")


class TestedTable:
    """A table by the names of its keys, actions and parameters."""

    __test__ = False

    def __init__(self, state: TableState) -> None:
        self.state = state

    def add(
        self,
        *keys: KeyValue,
        action: str,
        priority: int | None = None,
        match: Mapping[str, KeyValue] | None = None,
        **data: int | str,
    ) -> TableEntry:
        """Add an entry.

        Args:
            keys: values of all keys in order; or ``match`` has them by name, and keys left out match anything.
            action: the action's name, or its last part.
            priority: the entry's place, in tables that need one; by default each entry goes behind those before it.
            match: values by the keys' names, or the ends of them.
            data: the action's parameters by name.

        Raises:
            OfframpError: names the key, action or parameter that is wrong.
        """
        values = self._values(keys, match)
        kinds = zip(self.state.keys, self.state.kinds, self.state.widths, strict=True)
        matches = tuple(_match(v, kind, width, key.name) for v, (key, kind, width) in zip(values, kinds, strict=True))
        if priority is None:
            lowest = min((entry.priority for entry in self.state.entries), default=1 << 24)
            priority = lowest - 1 if self.state.needs_priority else 0
        entry = TableEntry(matches, self._action(action, data), priority)
        self.state.insert(entry)
        return entry

    def default(self, action: str, **data: int | str) -> None:
        """Set the action of a miss.

        Raises:
            OfframpError: the table has no such action, or not as a default.
        """
        self.state.set_default(self._action(action, data))

    def clear(self) -> None:
        """Remove all entries."""
        self.state.clear()

    def __len__(self) -> int:
        return len(self.state)

    def _values(self, keys: tuple[KeyValue, ...], match: Mapping[str, KeyValue] | None) -> list[KeyValue]:
        names = [key.name for key in self.state.keys]
        if match is None:
            if len(keys) != len(names):
                raise OfframpError(f"table {self.state.name}: expected {len(names)} keys ({', '.join(names)})")
            return list(keys)
        if keys:
            raise OfframpError(f"table {self.state.name}: expected keys in order or by name, not both")
        values: dict[str, KeyValue] = dict.fromkeys(names)
        for name, value in match.items():
            values[named({each: each for each in names}, name, f"key of table {self.state.name}")] = value
        return list(values.values())

    def _action(self, name: str, data: Mapping[str, int | str]) -> ActionData:
        choices = {**self.state.actions, self.state.table.default.action.action.name: self.state.table.default.action}
        choice = named(choices, name, f"action of table {self.state.name}")
        params = {param.name: param for param in choice.data_params}
        if data.keys() != params.keys():
            raise OfframpError(f"action {choice.action.name}: expected {', '.join(params) or 'no parameters'}")
        return ActionData(choice.action.name, tuple(number(data[name], f"{name}") for name in params))


def named(things: Mapping[str, _T], name: str, kind: str) -> _T:
    """The thing of a name, or the only one whose name ends in ``.name``.

    Raises:
        OfframpError: there is none, or more than one.
    """
    if name in things:
        return things[name]
    candidates = [known for known in things if known.endswith(f".{name}")]
    if len(candidates) != 1:
        known = " or ".join(candidates) if candidates else ", ".join(things) or "none"
        raise OfframpError(f"{kind} {name!r}: expected one of {known}")
    return things[candidates[0]]


def number(value: int | str | bytes, what: str) -> int:
    """A number: as it is, in digits, or of an IPv4, IPv6 or MAC address.

    Raises:
        OfframpError: it is none of these.
    """
    if isinstance(value, bytes):
        return int.from_bytes(value, "big")
    if isinstance(value, int):
        return int(value)
    text = value.strip()
    try:
        if text.count(":") == 5 and all(len(part) <= 2 for part in text.split(":")):
            return int.from_bytes(bytes(int(part, 16) for part in text.split(":")), "big")
        if ":" in text or text.count(".") == 3:
            return int(ipaddress.ip_address(text))
        return int(text, 0)
    except ValueError:
        raise OfframpError(f"{what} {value!r}: expected a number or an address") from None


def _match(value: KeyValue, kind: str, width: int, name: str) -> Match:
    if value is None:
        if kind == "exact":
            raise OfframpError(f"key {name} is exact: expected a value")
        return ANY
    separator = _SEPARATORS.get(kind)
    if isinstance(value, str) and separator is not None and separator in value:
        left, _, right = value.partition(separator)
        value = left, right
    if not isinstance(value, tuple):
        single = number(value, name)
        whole: dict[str, Match] = {
            "lpm": Lpm(single, width),
            "ternary": Ternary(single, (1 << width) - 1),
            "range": Range(single, single),
            "optional": Optional(single),
        }
        return whole.get(kind, Exact(single))
    if separator is None or len(value) != 2:
        raise OfframpError(f"key {name} is {kind}: expected one value")
    first, second = (number(part, name) for part in value)
    if kind == "range":
        return Range(first, second)
    return Lpm(first, second) if kind == "lpm" else Ternary(first, second)


def _difference(wanted: tuple[int, bytes], left: tuple[int, bytes]) -> str:
    if wanted[0] != left[0]:
        return f"expected on port {wanted[0]}, left by port {left[0]}"
    one, other = wanted[1], left[1]
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    if at is None:
        return f"expected {len(one)} bytes, got {len(other)}"
    return f"byte {at}: expected {one[at]:02x}, got {other[at]:02x}\n  expected {one.hex()}\n  got      {other.hex()}"
