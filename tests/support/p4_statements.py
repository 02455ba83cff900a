# SPDX-License-Identifier: Apache-2.0
"""Random P4 programs as text: statements, functions, actions, tables, header stacks, registers, exits."""

from __future__ import annotations

import random

from p4_expressions import Expressions, Number
from p4_programs import program

BYTE, SHORT, WORD = Number(8), Number(16), Number(32)
TYPES = [BYTE, SHORT, WORD, Number(8, signed=True), Number(13), Number(70)]
FIELDS = {"hdr.h.a": BYTE, "hdr.h.b": BYTE, "hdr.h.c": SHORT, "meta.m": BYTE, "meta.w": WORD}


class Programs:
    """Draws one program."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.functions: list[tuple[str, list[tuple[str, Number]], Number]] = []
        self.actions: list[tuple[str, list[tuple[str, Number]]]] = []
        self.serial = 0

    def name(self, hint: str) -> str:
        self.serial += 1
        return f"{hint}{self.serial}"

    def text(self) -> str:
        top = "\n".join(self.function() for _ in range(self.rng.randint(1, 3)))
        local = "register<bit<16>>(7) reg; register<int<8>>(300) sreg; counter(9, CounterType.bytes) cnt;\n"
        local += "\n".join(self.action() for _ in range(self.rng.randint(2, 4)))
        local += "\n" + "\n".join(self.table(i) for i in range(2))
        body = self.block(dict(FIELDS), 3, self.rng.randint(3, 9), control=True)
        return program(
            f"sm.egress_spec = 1; {body}",
            top=top,
            local=local,
            pbody="transition select(hdr.h.a) { 0 .. 99: more; default: accept; }",
            states="""
            state more { pkt.extract(hdr.s.next); meta.m = meta.m + hdr.s.last.b;
                         transition select(hdr.s.last.a, hdr.s.lastIndex) {
                             (_, 2): accept; (0x0F &&& 0x0F, _): reject; default: more; } }""",
        )

    def function(self) -> str:
        name = self.name("f")
        params = [(self.rng.choice(["in", "inout", "out"]), self.name("p"), self.rng.choice(TYPES)) for _ in range(3)]
        result = self.rng.choice(TYPES)
        scope = {p: t for _, p, t in params}
        writable = {p: t for d, p, t in params if d != "in"}
        outs = "".join(f"{p} = {self.expression(scope, t, 1)};" for d, p, t in params if d == "out")
        body = self.block(scope, 2, self.rng.randint(1, 4), writable=writable, result=result)
        self.functions.append((name, [(d, t) for d, _, t in params], result))
        listed = ", ".join(f"{d} {t} {p}" for d, p, t in params)
        return f"{result} {name}({listed}) {{ {outs} {body} return {self.expression(scope, result, 2)}; }}"

    def action(self) -> str:
        name = self.name("act")
        params = [(self.rng.choice(["in", "inout"]), self.name("p"), self.rng.choice([BYTE, WORD]))]
        data = [(self.name("d"), self.rng.choice(TYPES)) for _ in range(self.rng.randint(0, 2))]
        scope = {**FIELDS, **dict(data), **{p: t for _, p, t in params}}
        writable = {**FIELDS, **{p: t for d, p, t in params if d == "inout"}}
        body = self.block(scope, 2, self.rng.randint(1, 4), writable=writable, control=True, calls=False)
        self.actions.append((name, [(d, t) for d, _, t in params], data))  # type: ignore[arg-type]
        listed = ", ".join([f"{d} {t} {p}" for d, p, t in params] + [f"{t} {p}" for p, t in data])
        return f"action {name}({listed}) {{ {body} }}"

    def table(self, i: int) -> str:
        listed, entries = [], []
        for name, params, data in self.actions:  # type: ignore[misc]
            bound = [self.argument(d, t, dict(FIELDS)) for d, t in params]
            listed.append(f"{name}({', '.join(bound)});")
            given = ", ".join(bound + [self.constant(t) for _, t in data])
            entries.append(f"({self.rng.randrange(4)}, _): {name}({given});")
            entries.append(f"(_, {self.rng.randrange(256)} &&& 0x3C): {name}({given});")
        self.rng.shuffle(entries)
        return f"""table t{i} {{
            key = {{ hdr.h.a: ternary; hdr.h.b: ternary; }} actions = {{ {" ".join(listed)} NoAction; }}
            const default_action = NoAction(); const entries = {{ {" ".join(entries)} }} }}"""

    # --- statements

    def block(
        self, scope, depth: int, count: int, *, writable=None, control=False, calls=True, loop=False, result=None
    ):  # type: ignore[no-untyped-def]
        scope, writable = dict(scope), dict(scope if writable is None else writable)
        options = {"control": control, "calls": calls, "loop": loop, "result": result}
        return " ".join(self.statement(scope, writable, depth, options) for _ in range(count))

    def statement(self, scope, writable, depth: int, options) -> str:  # type: ignore[no-untyped-def]
        kinds = ["assign", "assign", "slice", "declare", "declare"]
        if depth:
            kinds += ["if", "if", "for", "for_in", "switch"]
        if options["control"]:
            kinds += ["register", "stack", "stack", "count"]
            if options["calls"]:
                kinds += ["table", "table", "call"]
        kinds += ["function"] if self.functions and options["calls"] else []
        kinds += ["leave"] if options["loop"] or self.rng.random() < 0.2 else []
        kind = self.rng.choice(kinds)
        return getattr(self, f"_{kind}")(scope, writable, depth, options)

    def inner(self, scope, writable, depth: int, options, *, loop: bool = False) -> str:  # type: ignore[no-untyped-def]
        more = {**options, "loop": loop or options["loop"]}
        return self.block(scope, depth - 1, self.rng.randint(1, 3), writable=writable, **more)

    def expression(self, scope: dict[str, Number], t: Number, depth: int) -> str:
        return Expressions(self.rng, scope).number(t, depth)

    def condition(self, scope: dict[str, Number]) -> str:
        if self.rng.random() < 0.2:
            return f"hdr.s[{self.rng.randrange(3)}].isValid()" if "hdr.h.a" in scope else "true"
        return Expressions(self.rng, scope).boolean(2)

    def constant(self, t: Number) -> str:
        return Expressions(self.rng, {}).literal(t)

    def argument(self, direction: str, t: Number, scope: dict[str, Number]) -> str:
        places = [name for name, u in scope.items() if u == t]
        if direction == "in":
            return self.expression(scope, t, 1)
        return self.rng.choice(places)

    def _assign(self, scope, writable, depth: int, options) -> str:  # type: ignore[no-untyped-def]
        if not writable:
            return ""
        name, t = self.rng.choice(list(writable.items()))
        return f"{name} = {self.expression(scope, t, 2)};"

    def _slice(self, scope, writable, depth: int, options) -> str:  # type: ignore[no-untyped-def]
        if not writable:
            return ""
        name, t = self.rng.choice(list(writable.items()))
        low = self.rng.randrange(t.width)
        high = self.rng.randrange(low, t.width)
        return f"{name}[{high}:{low}] = {self.expression(scope, Number(high - low + 1), 1)};"

    def _declare(self, scope, writable, depth: int, options) -> str:  # type: ignore[no-untyped-def]
        name, t = self.name("v"), self.rng.choice(TYPES)
        text = f"{t} {name} = {self.expression(scope, t, 2)};"
        scope[name] = writable[name] = t
        return text

    def _if(self, scope, writable, depth: int, options) -> str:  # type: ignore[no-untyped-def]
        text = f"if ({self.condition(scope)}) {{ {self.inner(scope, writable, depth, options)} }}"
        if self.rng.random() < 0.6:
            text += f" else {{ {self.inner(scope, writable, depth, options)} }}"
        return text

    def _for(self, scope, writable, depth: int, options) -> str:  # type: ignore[no-untyped-def]
        i = self.name("i")
        body = self.inner({**scope, i: BYTE}, writable, depth, options, loop=True)
        return f"for (bit<8> {i} = 0; {i} < {self.rng.randrange(6)}; {i} = {i} + 1) {{ {body} }}"

    def _for_in(self, scope, writable, depth: int, options) -> str:  # type: ignore[no-untyped-def]
        i = self.name("i")
        body = self.inner({**scope, i: BYTE}, writable, depth, options, loop=True)
        low = self.rng.choice([0, 3, 250])
        return f"for (bit<8> {i} in 8w{low} .. 8w{low + self.rng.randrange(6)}) {{ {body} }}"

    def _switch(self, scope, writable, depth: int, options) -> str:  # type: ignore[no-untyped-def]
        name, t = self.rng.choice(list(scope.items()))
        labels = {self.constant(t) for _ in range(3)}
        cases = [f"{label}: {{ {self.inner(scope, writable, depth, options)} }}" for label in sorted(labels)]
        return f"switch ({name}) {{ {' '.join(cases)} default: {{ {self.inner(scope, writable, depth, options)} }} }}"

    def _register(self, scope, writable, depth: int, options) -> str:  # type: ignore[no-untyped-def]
        index = self.expression(scope, WORD, 0)
        shorts = [n for n, t in writable.items() if t == SHORT]
        texts = [f"reg.write({index} & 7, {self.expression(scope, SHORT, 1)});"]
        texts += [f"sreg.write({index} & 0x1FF, {self.expression(scope, Number(8, True), 1)});"]
        texts += [f"reg.read({self.rng.choice(shorts)}, {index} & 7);"] if shorts else []
        return self.rng.choice(texts)

    def _count(self, scope, writable, depth: int, options) -> str:  # type: ignore[no-untyped-def]
        return f"cnt.count({self.expression(scope, WORD, 0)} & 0xF);"

    def _stack(self, scope, writable, depth: int, options) -> str:  # type: ignore[no-untyped-def]
        element = f"hdr.s[{self.rng.randrange(3)}]"
        value = self.expression(scope, SHORT, 1)
        dynamic = f"hdr.s[{self.rng.choice([n for n, t in scope.items() if t == BYTE])} & 3]"
        return self.rng.choice(
            [
                f"{element}.setValid();",
                f"{element}.setInvalid();",
                f"hdr.s.push_front({self.rng.randint(1, 3)});",
                f"hdr.s.pop_front({self.rng.randint(1, 3)});",
                f"{dynamic}.c = {value};",
                f"{dynamic}.a = {dynamic}.b;",
                f"hdr.h.c = {dynamic}.c;",
                f"{element} = {dynamic};",
                f"{dynamic} = {element};",
                f"hdr.h = {element};",
                f"if ({element} == hdr.h) {{ hdr.h.b = hdr.h.b + 1; }}",
                f"{dynamic} = {{ {self.expression(scope, BYTE, 1)}, {element}.a, {value} }};",
                f"{dynamic}.c += {value};",
            ]
        )

    def _function(self, scope, writable, depth: int, options) -> str:  # type: ignore[no-untyped-def]
        name, params, result = self.rng.choice(self.functions)
        texts, used = [], set[str]()
        for d, t in params:
            places = [n for n, u in writable.items() if u == t and n not in used]
            if d != "in" and not places:
                return self._assign(scope, writable, depth, options)
            texts.append(self.expression(scope, t, 1) if d == "in" else self.rng.choice(places))
            used.add(texts[-1])
        places = [n for n, u in writable.items() if u == result]
        call = f"{name}({', '.join(texts)})"
        return f"{self.rng.choice(places)} = {call};" if places and self.rng.random() < 0.7 else f"{call};"

    def _call(self, scope, writable, depth: int, options) -> str:  # type: ignore[no-untyped-def]
        name, params, data = self.rng.choice(self.actions)  # type: ignore[misc]
        texts = [self.argument(d, t, writable if d == "inout" else scope) for d, t in params]
        return f"{name}({', '.join(texts + [self.constant(t) for _, t in data])});"

    def _table(self, scope, writable, depth: int, options) -> str:  # type: ignore[no-untyped-def]
        table = f"t{self.rng.randrange(2)}"
        if not depth or options["loop"]:
            return f"{table}.apply();"
        inner = self.inner(scope, writable, depth, options)
        other = self.inner(scope, writable, depth, options)
        action = self.rng.choice(self.actions)[0]
        return self.rng.choice(
            [
                f"{table}.apply();",
                f"if ({table}.apply().hit) {{ {inner} }} else {{ {other} }}",
                f"if (!{table}.apply().hit && {self.condition(scope)}) {{ {inner} }}",
                f"switch ({table}.apply().action_run) {{ {action}: {{ {inner} }} default: {{ {other} }} }}",
            ]
        )

    def _leave(self, scope, writable, depth: int, options) -> str:  # type: ignore[no-untyped-def]
        ways = ["break;", "continue;"] if options["loop"] else []
        if options["control"]:
            ways += ["exit;", "return;"]
        elif options["result"] is not None:
            ways.append(f"return {self.expression(scope, options['result'], 1)};")
        if not ways:
            return ""
        return f"if ({self.condition(scope)}) {{ {self.rng.choice(ways)} }}"
