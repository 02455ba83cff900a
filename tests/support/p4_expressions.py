# SPDX-License-Identifier: Apache-2.0
"""Random P4 expressions as text, over all operators, widths from 1 to 130, and others where given."""

from __future__ import annotations

import random
from dataclasses import dataclass

from p4_programs import program

WIDE = [256, 320, 512, 1024, 1088, 257, 60, 4, 64]
WIDTHS = [1, 2, 3, 7, 8, 9, 13, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 96, 127, 128, 129, 130]


@dataclass(frozen=True)
class Number:
    width: int
    signed: bool = False

    def __str__(self) -> str:
        return f"{'int' if self.signed else 'bit'}<{self.width}>"


class Expressions:
    """Draws expressions over named variables."""

    def __init__(self, rng: random.Random, variables: dict[str, Number], widths: list[int] = WIDTHS) -> None:
        self.rng, self.variables, self.widths = rng, variables, widths

    def any_type(self) -> Number:
        return Number(self.rng.choice([*self.widths, self.rng.randint(1, 130)]), self.rng.random() < 0.4)

    def number(self, t: Number, depth: int) -> str:
        own = [name for name, u in self.variables.items() if u == t]
        if depth <= 0:
            if own and self.rng.random() < 0.8:
                return self.rng.choice(own)
            if self.rng.random() < 0.5:
                name, u = self.rng.choice(list(self.variables.items()))
                return self.cast(name, u, t)
            return self.literal(t)
        kinds = ["arithmetic", "lanes", "unary", "shift", "cast", "mux", "divide", "slice", "concat"]
        return getattr(self, f"_{self.rng.choice(kinds)}")(t, depth - 1)

    def literal(self, t: Number) -> str:
        top = (1 << (t.width - t.signed)) - 1
        value = self.rng.choice([0, 1, top, self.rng.randint(0, top)])
        return f"{t.width}{'s' if t.signed else 'w'}{min(value, top)}"

    def cast(self, text: str, source: Number, into: Number) -> str:
        """Only one of width and sign changes in a cast."""
        if source.signed != into.signed and source.width != into.width:
            text = f"({Number(into.width, source.signed)})({text})"
        return f"({into})({text})"

    def boolean(self, depth: int) -> str:
        if depth > 0 and self.rng.random() < 0.4:
            a, b = self.boolean(depth - 1), self.boolean(depth - 1)
            return self.rng.choice([f"({a} && {b})", f"({a} || {b})", f"(!{a})", f"({a} == {b})", f"({a} != {b})"])
        t = self.any_type()
        op = self.rng.choice(["==", "!=", "<", "<=", ">", ">="])
        return f"({self.number(t, depth - 1)} {op} {self.number(t, depth - 1)})"

    def _arithmetic(self, t: Number, depth: int) -> str:
        op = self.rng.choice(["+", "-", "*", "&", "|", "^", "|+|", "|-|"])
        return f"({self.number(t, depth)} {op} {self.number(t, depth)})"

    def _lanes(self, t: Number, depth: int) -> str:
        """A sum of numbers that are masked: no carry leaves a lane, or one does."""
        lane = self.rng.choice([8, 16, 32, 64, 65])
        mask = sum(((1 << lane - 1) - 1) << at for at in range(0, t.width, lane)) & ((1 << t.width - t.signed) - 1)
        literal = f"{t.width}{'s' if t.signed else 'w'}{mask}"
        left, right = (f"({self.number(t, depth)} & {literal})" for _ in range(2))
        return f"({left} + {right})"

    def _divide(self, t: Number, depth: int) -> str:
        u = Number(t.width)
        divisor = [name for name, v in self.variables.items() if v == u]
        if t.signed or not divisor:
            return self._arithmetic(t, depth)
        return f"({self.number(t, depth)} {self.rng.choice('/%')} {self.rng.choice(divisor)})"

    def _unary(self, t: Number, depth: int) -> str:
        return f"({self.rng.choice('~-')}{self.number(t, depth)})"

    def _shift(self, t: Number, depth: int) -> str:
        amount = self.rng.choice(
            [f"{self.rng.randint(0, 140)}", self.number(Number(self.rng.choice([3, 8, 64])), depth)]
        )
        return f"({self.number(t, depth)} {self.rng.choice(['<<', '>>'])} {amount})"

    def _cast(self, t: Number, depth: int) -> str:
        if t == Number(1) and self.rng.random() < 0.5:
            return f"(bit<1>)({self.boolean(depth)})"
        source = self.any_type()
        return self.cast(self.number(source, depth), source, t)

    def _mux(self, t: Number, depth: int) -> str:
        zero = f"{t.width}{'s' if t.signed else 'w'}0"
        return f"(({self.boolean(depth)} ? {self.number(t, depth)} : {self.number(t, depth)}) | {zero})"

    def _slice(self, t: Number, depth: int) -> str:
        if t.signed:
            return self._unary(t, depth)
        low, above = self.rng.randint(0, 9), self.rng.randint(0, 9)
        whole = Number(low + t.width + above, self.rng.random() < 0.3)
        base = self.cast(self.number(t, depth), t, Number(whole.width)) if self.rng.random() < 0.5 else ""
        text = base or self.number(Number(whole.width), depth)
        return f"({text})[{low + t.width - 1}:{low}]"

    def _concat(self, t: Number, depth: int) -> str:
        if t.width == 1 or t.signed:
            return self._arithmetic(t, depth)
        right = self.rng.randint(1, t.width - 1)
        return f"({self.number(Number(t.width - right), depth)} ++ {self.number(Number(right), depth)})"


def random_program(seed: int, expressions: int = 12, widths: list[int] = WIDTHS) -> tuple[str, int]:
    """A program that reads a header of random fields and writes expressions over them; and the header's bytes."""
    rng = random.Random(seed)
    fields = [Number(rng.choice(widths), rng.random() < 0.4) for _ in range(12)]
    results = [Number(rng.choice([*widths, rng.randint(1, 130)]), rng.random() < 0.4) for _ in range(expressions)]
    names = {f"hdr.i.f{i}": t for i, t in enumerate(fields)}
    draw = Expressions(rng, names, widths)
    body = []
    for i, t in enumerate(results):
        body.append(f"hdr.o.f{i} = {draw.number(t, rng.randint(1, 4))};")
        if not t.signed and rng.random() < 0.4:
            low = rng.randrange(t.width)
            high = rng.randrange(low, t.width)
            body.append(f"hdr.o.f{i}[{high}:{low}] = {draw.number(Number(high - low + 1), 2)};")
        if rng.random() < 0.3:
            body.append(f"if ({draw.boolean(2)}) {{ hdr.o.f{i} = {draw.number(t, 1)}; }}")
    top = f"header in_t {{ {_fields(fields)} }} header out_t {{ {_fields(results)} }}"
    text = program("hdr.o.setValid(); " + "\n".join(body) + "sm.egress_spec = 1;", top=top)
    text = text.replace("struct headers { h_t h; h_t[3] s; }", "")
    text = text.replace(top, top + " struct headers { in_t i; out_t o; }")
    text = text.replace("pkt.extract(hdr.h);", "pkt.extract(hdr.i);")
    return text, (sum(t.width for t in fields) + 7) // 8


def _fields(types: list[Number]) -> str:
    pad = -sum(t.width for t in types) % 8
    text = " ".join(f"{t} f{i};" for i, t in enumerate(types))
    return f"{text} bit<{pad}> pad;" if pad else text
