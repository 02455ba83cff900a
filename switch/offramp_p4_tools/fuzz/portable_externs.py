# SPDX-License-Identifier: Apache-2.0
"""Random uses of the externs of PSA, and of PNA, which has the same by other names."""

from __future__ import annotations

from typing import Final

from offramp_p4.types import Bits, Type
from offramp_p4_tools.fuzz.expressions import condition, expression
from offramp_p4_tools.fuzz.externs import ExternGenerator, Lines
from offramp_p4_tools.fuzz.scope import ReachableNames

_HASHES: Final = ("IDENTITY", "CRC16", "CRC32", "CRC16_CUSTOM", "CRC32_CUSTOM", "ONES_COMPLEMENT16", "TARGET_DEFAULT")
_COLOURS: Final = ("RED", "GREEN", "YELLOW")


class PortableExternGenerator(ExternGenerator):
    """Registers, counters, meters, hashes, random numbers and checksums.

    Args:
        hashes: names of algorithms beside PSA's.
    """

    def __init__(self, hashes: tuple[str, ...] = ()) -> None:
        super().__init__()
        self._hashes = (*_HASHES, *hashes)

    def objects(self, scope: ReachableNames, registers: int) -> Lines:
        """Registers, a counter, perhaps a meter and random numbers, a hash and a checksum."""
        lines: Lines = []
        for _ in range(registers):
            element, size, name = scope.bits(), scope.rng.choice((1, 4, 7, 256)), self.name("r")
            first = f", {scope.rng.randrange(min(element.mask // 2, 99) + 1)}" if scope.chance(0.4) else ""
            lines.append(f"Register<{element}, bit<8>>({size}{first}) {name};")
            scope.arrays.append(("register", name, element, size))
        name, size = self.name("c"), scope.rng.choice((1, 8))
        kind = scope.pick(("PACKETS", "BYTES", "PACKETS_AND_BYTES"))
        lines.append(f"Counter<bit<32>, bit<8>>({size}, PSA_CounterType_t.{kind}) {name};")
        scope.arrays.append(("counter", name, Bits(32), size))
        if scope.chance(0.4):
            name = self.name("m")
            lines.append(f"Meter<bit<8>>(4, PSA_MeterType_t.{scope.pick(('PACKETS', 'BYTES'))}) {name};")
            scope.arrays.append(("meter", name, Bits(2), 4))
        if scope.chance(0.4):
            name, t = self.name("random"), Bits(scope.pick((8, 16, 33)))
            lines.append(f"Random<{t}>({scope.rng.randrange(50)}, {scope.rng.randint(50, t.mask)}) {name};")
            scope.arrays.append(("random", name, t, 0))
        name, t = self.name("hash"), Bits(scope.pick((3, 8, 16, 32, 40, 64)))
        lines.append(f"Hash<{t}>(PSA_HashAlgorithm_t.{scope.pick(self._hashes)}) {name};")
        scope.arrays.append(("hash", name, t, 0))
        name = self.name("sum")
        lines.append(f"InternetChecksum() {name};")
        scope.arrays.append(("sum", name, Bits(16), 0))
        if scope.chance(0.3):
            name, t = self.name("gathered"), Bits(scope.pick((8, 16, 32)))
            lines.append(f"Checksum<{t}>(PSA_HashAlgorithm_t.{scope.pick(self._hashes)}) {name};")
            scope.arrays.append(("gathered", name, t, 0))
        if scope.chance(0.3):
            name = self.name("pairs")
            lines.append(f"Register<notice_t, bit<8>>(4) {name};")
            scope.arrays.append(("pairs", name, Bits(16), 4))
        return lines

    def access(self, scope: ReachableNames) -> Lines:
        """An access to one of the objects."""
        kind, name, t, size = scope.pick(scope.arrays)
        if kind == "hash":
            return self._get_hash(scope, name, t)
        into = scope.of_type(lambda other: other == t, writable=True)
        place = scope.pick(into).text if into else ""
        if kind == "sum":
            return self._sum(scope, name, place)
        if kind == "gathered":
            return self._gathered(scope, name, place)
        if kind == "random":
            return [f"{place} = {name}.read();"] if place else []
        index = expression(scope, Bits(8), 1) if scope.chance(0.6) else f"8w{scope.rng.randrange(size)}"
        if kind == "counter":
            return [f"{name}.count({index});"]
        if kind == "pairs":
            return self._pairs(scope, name, index)
        if kind == "meter":
            before = f", PSA_MeterColor_t.{scope.pick(_COLOURS)}" if scope.chance(0.5) else ""
            return [self._colour(f"{name}.execute({index}{before})", place)] if place else []
        if place and scope.chance(0.5):
            return [f"{place} = {name}.read({index});"]
        return [f"{name}.write({index}, {expression(scope, t, 2)});"]

    def _sum(self, scope: ReachableNames, name: str, place: str) -> Lines:
        fields = ", ".join(scope.pick(scope.of_type(lambda o: isinstance(o, Bits))).text for _ in range(3))
        lines = [f"{name}.{scope.pick(('add', 'subtract'))}({{ {fields} }});"]
        if scope.chance(0.2):
            lines.insert(0, f"{name}.set_state({expression(scope, Bits(16), 1)});")
        return [*lines, f"{place} = {name}.{scope.pick(('get', 'get_state'))}();"] if place else lines

    def _gathered(self, scope: ReachableNames, name: str, place: str) -> Lines:
        lines: Lines = []
        for _ in range(scope.rng.randint(1, 3)):
            fields = ", ".join(scope.pick(scope.of_type(lambda o: isinstance(o, Bits))).text for _ in range(2))
            lines.append(f"{name}.update({{ {fields} }});")
        if scope.chance(0.2):
            lines.insert(scope.rng.randrange(len(lines) + 1), f"{name}.clear();")
        return [*lines, f"{place} = {name}.get();"] if place else lines

    def _pairs(self, scope: ReachableNames, name: str, index: str) -> Lines:
        """A register of structs: written from two numbers, or one of them read."""
        if scope.chance(0.5):
            return [f"meta.link = {name}.read({index}).{scope.pick(('what', 'link'))};"]
        parts = ", ".join(expression(scope, Bits(16), 1) for _ in range(2))
        return [f"{name}.write({index}, {{ {parts} }});"]

    def hash(self, scope: ReachableNames) -> str:
        """A value of one of the hashes, where there is a place for it."""
        hashes = [(name, t) for kind, name, t, _ in scope.arrays if kind == "hash"]
        return "".join(self._get_hash(scope, *scope.pick(hashes))) if hashes else ""

    def _get_hash(self, scope: ReachableNames, name: str, t: Type) -> Lines:
        into = scope.of_type(lambda other: other == t, writable=True)
        if not into or not isinstance(t, Bits):
            return []
        data = ", ".join(scope.pick(scope.of_type(lambda o: isinstance(o, Bits))).text for _ in range(3))
        given = f"{{ {data} }}"
        if scope.chance(0.4):
            given = f"{expression(scope, t, 1)}, {given}, {t.width}w{scope.rng.randint(1, t.mask)}"
        return [f"{scope.pick(into).text} = {name}.get_hash({given});"]

    @staticmethod
    def _colour(call: str, place: str) -> str:
        """The statement that makes a number of a colour."""
        return f"{place} = {call} == PSA_MeterColor_t.GREEN ? 2w1 : 2w2;"

    # --- what belongs to a table

    def direct_meter(self, scope: ReachableNames, name: str) -> str:
        """The declaration of a direct meter."""
        return f"DirectMeter(PSA_MeterType_t.{scope.pick(('PACKETS', 'BYTES'))}) {name};"

    def read_meter(self, meter: str, place: str) -> str:
        """The statement that gives the colour."""
        return self._colour(f"{meter}.execute()", place)

    def direct_counter(self, name: str) -> str:
        """The declaration of a direct counter."""
        return f"DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS_AND_BYTES) {name};"

    def in_action(self, scope: ReachableNames, counter: str, register: str) -> Lines:
        """An action's statements on the direct counter of its table."""
        del register
        if not counter or not scope.chance(0.8):
            return []
        return [f"if ({condition(scope, 1)}) {{", f"{counter}.count();", "}"] if scope.chance(0.3) else [
            f"{counter}.count();"
        ]  # fmt: skip

    def profile(self, scope: ReachableNames) -> tuple[Lines, str]:
        """Declarations, and a table's implementation."""
        name = self.name("selector")
        if scope.chance(0.4):
            return [f"ActionProfile(16) {name.replace('selector', 'profile')};"], name.replace("selector", "profile")
        algorithm = scope.pick(("CRC16", "CRC32", "IDENTITY"))
        return [f"ActionSelector(PSA_HashAlgorithm_t.{algorithm}, 16, 16) {name};"], name
