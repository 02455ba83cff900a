# SPDX-License-Identifier: Apache-2.0
"""Random uses of v1model's externs; subclasses write those of other architectures."""

from __future__ import annotations

from itertools import count
from typing import Final

from offramp_p4.types import Bits, Type
from offramp_p4_tools.fuzz.expressions import expression
from offramp_p4_tools.fuzz.scope import ReachableNames

Lines = list[str]
_HASHES: Final = ("crc16", "crc32", "csum16", "identity", "xor16")
_KEYS: Final[tuple[list[str], ...]] = (
    *(["exact"], ["lpm"], ["exact", "lpm"], ["ternary"], ["ternary", "exact", "range"], ["range"]),
    *(["optional", "ternary"], ["exact", "exact"], []),
)


class ExternGenerator:
    """Declares objects of externs and calls them; every name it declares is new.

    Attributes:
        keys: match kinds of a table's keys.
        colours: the type that a direct meter's colour goes to.
    """

    keys: tuple[list[str], ...] = _KEYS
    colours: Type = Bits(2)

    def __init__(self) -> None:
        self._names = count()

    def name(self, hint: str) -> str:
        """A unique name."""
        return f"{hint}{next(self._names)}"

    def objects(self, scope: ReachableNames, registers: int) -> Lines:
        """Registers, a counter and perhaps a meter."""
        lines = []
        for _ in range(registers):
            element, size, name = scope.bits(), scope.rng.choice((1, 4, 7, 256)), self.name("r")
            lines.append(f"register<{element}>({size}) {name};")
            scope.arrays.append(("register", name, element, size))
        name, size = self.name("c"), scope.rng.choice((1, 8))
        kind = scope.rng.choice(("packets", "bytes", "packets_and_bytes"))
        lines.append(f"counter({size}, CounterType.{kind}) {name};")
        scope.arrays.append(("counter", name, Bits(32), size))
        if scope.chance(0.3):
            name = self.name("m")
            lines.append(f"meter(4, MeterType.{scope.rng.choice(('packets', 'bytes'))}) {name};")
            scope.arrays.append(("meter", name, Bits(2), 4))
        return lines

    def access(self, scope: ReachableNames) -> Lines:
        """An access to one of the arrays."""
        kind, name, element, size = scope.pick(scope.arrays)
        index = f"(bit<32>){expression(scope, Bits(8), 1)}" if scope.chance(0.6) else f"32w{scope.rng.randrange(size)}"
        if kind == "counter":
            return [f"{name}.count({index});"]
        if kind == "meter":
            operands = scope.of_type(lambda t: isinstance(t, Bits) and not t.signed and t.width >= 2, writable=True)
            return [f"{name}.execute_meter({index}, {scope.pick(operands).text});"] if operands else []
        operands = scope.of_type(lambda t: t == element, writable=True)
        if operands and scope.chance(0.5):
            return [f"{name}.read({scope.pick(operands).text}, {index});"]
        return [f"{name}.write({index}, {expression(scope, element, 2)});"]

    def hash(self, scope: ReachableNames) -> str:
        """A call of ``hash``."""
        operands = scope.of_type(lambda t: isinstance(t, Bits) and not t.signed and t.width <= 64, writable=True)
        data = ", ".join(scope.pick(scope.of_type(lambda t: isinstance(t, Bits))).text for _ in range(3))
        into = scope.pick(operands)
        assert isinstance(into.type, Bits)
        top = scope.rng.randint(1, into.type.mask)
        w = into.type.width
        return f"hash({into.text}, HashAlgorithm.{scope.pick(_HASHES)}, {w}w0, {{ {data} }}, {w}w{top});"

    # --- what belongs to a table

    def direct_meter(self, scope: ReachableNames, name: str) -> str:
        """The declaration of a direct meter."""
        return f"direct_meter<bit<2>>(MeterType.{scope.rng.choice(('packets', 'bytes'))}) {name};"

    def read_meter(self, meter: str, place: str) -> str:
        """The statement that gives the colour."""
        return f"{meter}.read({place});"

    def direct_counter(self, name: str) -> str:
        """The declaration of a direct counter."""
        return f"direct_counter(CounterType.packets_and_bytes) {name};"

    def in_action(self, scope: ReachableNames, counter: str, register: str) -> Lines:
        """An action's statements on the direct objects of its table."""
        del scope, counter, register
        return []

    def direct_register(self, scope: ReachableNames, name: str) -> Lines:
        """The declaration of a direct register; v1model has none."""
        del scope, name
        return []

    def profile(self, scope: ReachableNames) -> tuple[Lines, str]:
        """Declarations, and a table's implementation: its actions are those of members, or of groups of them."""
        if scope.chance(0.4):
            return [], "action_profile(16)"
        hashed = scope.pick(("crc16", "crc32", "identity"))
        return [], f"action_selector(HashAlgorithm.{hashed}, 32w16, 32w{scope.pick((4, 14))})"
