# SPDX-License-Identifier: Apache-2.0
"""Random uses of Tofino's externs."""

from __future__ import annotations

from typing import Final

from offramp_p4.types import Bits, Type
from offramp_p4_tools.fuzz.expressions import condition, expression
from offramp_p4_tools.fuzz.externs import ExternGenerator, Lines
from offramp_p4_tools.fuzz.scope import Operand, ReachableNames
from offramp_p4_tools.fuzz.statements import StatementGenerator

_HASHES: Final = ("IDENTITY", "RANDOM", "XOR8", "XOR16", "XOR32", "CRC8", "CRC16", "CRC32", "CRC64", "CUSTOM")
_WORDS: Final = (Bits(8), Bits(16), Bits(32), Bits(64), Bits(32, signed=True))


class TofinoExterns(ExternGenerator):
    """Registers behind register actions, each used once; counters, meters, hashes, random numbers."""

    keys = tuple(kinds for kinds in ExternGenerator.keys if "optional" not in kinds)
    colours: Type = Bits(8)

    def objects(self, scope: ReachableNames, registers: int) -> Lines:
        """Registers with their actions, a counter, perhaps a meter, a source of random numbers and two hashes."""
        lines: Lines = []
        for _ in range(registers):
            lines += self._register(scope)
        name, size = self.name("c"), scope.rng.choice((1, 8))
        kind = scope.pick(("PACKETS", "BYTES", "PACKETS_AND_BYTES"))
        lines.append(f"Counter<bit<32>, bit<8>>({size}, CounterType_t.{kind}) {name};")
        scope.arrays.append(("counter", name, Bits(32), size))
        if scope.chance(0.4):
            name, named = self.name("m"), scope.pick(("", ", 5, 6, 7"))
            lines.append(f"Meter<bit<8>>(4, MeterType_t.{scope.pick(('PACKETS', 'BYTES'))}{named}) {name};")
            scope.arrays.append(("meter", name, Bits(8), 4))
        if scope.chance(0.4):
            name, t = self.name("random"), Bits(scope.pick((1, 8, 16, 33, 64)))
            lines.append(f"Random<{t}>() {name};")
            scope.arrays.append(("random", name, t, 0))
        if scope.chance(0.3):
            lines += self._filters(scope)
        return [*lines, *self._hash(scope), *self._hash(scope)]

    def _filters(self, scope: ReachableNames) -> Lines:
        """A low-pass filter and random early detection."""
        low_pass, early = self.name("lpf"), self.name("wred")
        scope.arrays.append(("filter", low_pass, Bits(32), 3))
        scope.arrays.append(("filter", early, Bits(8), 3))
        return [f"Lpf<bit<32>, bit<8>>(3) {low_pass};", f"Wred<bit<32>, bit<8>>(3, 8w1, 8w2) {early};"]

    def _register(self, scope: ReachableNames) -> Lines:
        """A register and the action that is its only access."""
        register, action, size = self.name("r"), self.name("ra"), scope.rng.choice((1, 4, 7, 256))
        scope.arrays.append(("register", action, Bits(16), size))
        if scope.chance(0.25):
            inner = self._inside(scope)
            inner.operands += [Operand("value.first", Bits(16)), Operand("value.second", Bits(16))]
            head = "void apply(inout pair_t value, out bit<16> rv) {"
            return [f"Register<pair_t, bit<8>>({size}, {{1, 2}}) {register};",
                    f"RegisterAction<pair_t, bit<8>, bit<16>>({register}) {action} = {{",
                    head, *self._body(inner, Bits(16)), "} };"]  # fmt: skip
        t = scope.pick(_WORDS)
        inner = self._inside(scope)
        inner.operands.append(Operand("value", t))
        if t == Bits(32) and scope.chance(0.5):
            return self._math(scope, inner, register, action, size)
        first = f", {scope.rng.randrange(100)}" if scope.chance(0.4) else ""
        lines = [f"Register<{t}, bit<8>>({size}{first}) {register};"]
        return [*lines, f"RegisterAction<{t}, bit<8>, bit<16>>({register}) {action} = {{",
                f"void apply(inout {t} value, out bit<16> rv) {{", *self._body(inner, Bits(16)), "} };"]  # fmt: skip

    def _math(self, scope: ReachableNames, inner: ReachableNames, register: str, action: str, size: int) -> Lines:
        """An action with a math unit, and the code of two conditions as its result."""
        unit = self.name("unit")
        op, factor = scope.pick(("MUL", "SQR", "SQRT", "DIV", "RSQR", "RSQRT")), scope.rng.randint(1, 1000)
        return [f"Register<bit<32>, bit<8>>({size}) {register};", f"MathUnit<bit<32>>(MathOp_t.{op}, {factor}) {unit};",
                f"RegisterAction<bit<32>, bit<8>, bit<16>>({register}) {action} = {{",
                "void apply(inout bit<32> value, out bit<16> rv) {",
                f"value = {unit}.execute({expression(inner, Bits(32), 1)});",
                f"rv = this.predicate({condition(inner, 1)}, {condition(inner, 1)});", "} };"]  # fmt: skip

    def _inside(self, scope: ReachableNames) -> ReachableNames:
        """The scope of an action's function: no objects, no calls."""
        inner = scope.inner()
        inner.in_action, inner.arrays, inner.actions, inner.functions, inner.requests = True, [], [], [], []
        return inner

    def _body(self, inner: ReachableNames, returns: Bits) -> Lines:
        return [*StatementGenerator(self).block(inner, 2, 1), f"rv = {expression(inner, returns, 2)};"]

    def _hash(self, scope: ReachableNames) -> Lines:
        name, t, algorithm = self.name("hash"), Bits(scope.pick((3, 8, 16, 32, 40, 64))), scope.pick(_HASHES)
        scope.arrays.append(("hash", name, t, 0))
        if algorithm != "CUSTOM":
            return [f"Hash<{t}>(HashAlgorithm_t.{algorithm}) {name};"]
        poly, width = self.name("poly"), scope.pick((8, 16, 32))
        flags = ", ".join(scope.pick(("true", "false")) for _ in range(3))
        numbers = [scope.rng.randrange(1 << width) for _ in range(3)]
        polynomial = f"CRCPolynomial<bit<{width}>>({numbers[0] | 1}, {flags}, {numbers[1]}, {numbers[2]}) {poly};"
        return [polynomial, f"Hash<{t}>(HashAlgorithm_t.CUSTOM, {poly}) {name};"]

    def access(self, scope: ReachableNames) -> Lines:
        """An access to one of the objects; the only one to a register."""
        at = scope.rng.randrange(len(scope.arrays))
        kind, name, t, size = scope.arrays[at]
        if kind == "hash":
            return self._get_hash(scope, name, t)
        into = scope.of_type(lambda other: other == t, writable=True)
        if kind == "random":
            return [f"{scope.pick(into).text} = {name}.get();"] if into else []
        index = expression(scope, Bits(8), 1) if scope.chance(0.6) else f"8w{scope.rng.randrange(size)}"
        if kind == "counter":
            return [f"{name}.count({index}{scope.pick(('', ', 4'))});"]
        if kind == "meter":
            before = scope.pick(("", ", MeterColor_t.YELLOW", ", MeterColor_t.RED", ", MeterColor_t.GREEN"))
            return [f"{scope.pick(into).text} = {name}.execute({index}{before});"] if into else []
        if kind == "filter":
            value = expression(scope, Bits(32), 1)
            return [f"{scope.pick(into).text} = {name}.execute({value}, {index});"] if into else []
        if scope.in_loop:
            return []
        del scope.arrays[at]
        return [f"{scope.pick(into).text} = {name}.execute({index});" if into else f"{name}.execute({index});"]

    def hash(self, scope: ReachableNames) -> str:
        """A value of one of the hashes, where there is a place for it."""
        hashes = [(name, t) for kind, name, t, _ in scope.arrays if kind == "hash"]
        lines = self._get_hash(scope, *scope.pick(hashes)) if hashes else []
        return "".join(lines)

    def _get_hash(self, scope: ReachableNames, name: str, t: Type) -> Lines:
        into = scope.of_type(lambda other: other == t, writable=True)
        data = ", ".join(scope.pick(scope.of_type(lambda o: isinstance(o, Bits))).text for _ in range(3))
        return [f"{scope.pick(into).text} = {name}.get({{ {data} }});"] if into else []

    # --- what belongs to a table

    def direct_meter(self, scope: ReachableNames, name: str) -> str:
        """The declaration of a direct meter."""
        return f"DirectMeter(MeterType_t.{scope.pick(('PACKETS', 'BYTES'))}) {name};"

    def read_meter(self, meter: str, place: str) -> str:
        """The statement that gives the colour."""
        return f"{place} = {meter}.execute();"

    def direct_counter(self, name: str) -> str:
        """The declaration of a direct counter."""
        return f"DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) {name};"

    def direct_register(self, scope: ReachableNames, name: str) -> Lines:
        """Perhaps a direct register, and its action."""
        if not scope.chance(0.3):
            return []
        t = scope.pick(_WORDS[:3])
        inner = self._inside(scope)
        inner.operands.append(Operand("value", t))
        return [f"DirectRegister<{t}>({scope.rng.randrange(9)}) {name};",
                f"DirectRegisterAction<{t}, bit<16>>({name}) {name}_action = {{",
                f"void apply(inout {t} value, out bit<16> rv) {{", *self._body(inner, Bits(16)), "} };"]  # fmt: skip

    def in_action(self, scope: ReachableNames, counter: str, register: str) -> Lines:
        """An action's statements on the direct objects of its table."""
        lines = [f"{counter}.count();"] if counter and scope.chance(0.8) else []
        places = scope.of_type(lambda t: t == Bits(16), writable=True)
        if register and places and scope.chance(0.8):
            lines.append(f"{scope.pick(places).text} = {register}_action.execute();")
        return lines

    def profile(self, scope: ReachableNames) -> tuple[Lines, str]:
        """Declarations, and a table's implementation."""
        profile = self.name("profile")
        lines = [f"ActionProfile(16) {profile};"]
        if scope.chance(0.4):
            return lines, profile
        chosen, hashed = self.name("selector"), self.name("hash")
        lines.append(f"Hash<bit<16>>(HashAlgorithm_t.{scope.pick(('CRC16', 'CRC32', 'IDENTITY'))}) {hashed};")
        lines.append(f"ActionSelector({profile}, {hashed}, SelectorMode_t.FAIR, 8, 4) {chosen};")
        return lines, chosen
