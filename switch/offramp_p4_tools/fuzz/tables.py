# SPDX-License-Identifier: Apache-2.0
"""Random tables: keys of all match kinds, actions with data, entries in the source."""

from __future__ import annotations

from offramp_p4.types import Bits, Type
from offramp_p4_tools.fuzz.expressions import expression, literal
from offramp_p4_tools.fuzz.externs import Lines
from offramp_p4_tools.fuzz.scope import Operand, ReachableNames
from offramp_p4_tools.fuzz.statements import StatementGenerator

Action = tuple[str, list[Type]]


def write_table(statements: StatementGenerator, scope: ReachableNames) -> Lines:
    """Actions and a table of them; the table is added to what the scope may apply."""
    rng, name, externs = scope.rng, statements.name("t"), statements.externs
    meter = statements.name("dm") if rng.random() < 0.2 and not scope.portable else ""
    counter = statements.name("dc") if rng.random() < 0.3 else ""
    register = statements.name("dr")
    lines = externs.direct_register(scope, register)
    register = register if lines else ""
    lines += [externs.direct_meter(scope, meter)] if meter else []
    lines += [externs.direct_counter(counter)] if counter else []
    more, actions = _actions(statements, scope, meter, counter, register)
    lines += more
    keys = _keys(scope, externs.keys)
    profile = ""
    if keys and not meter and not scope.portable and rng.random() < 0.3:
        more, profile = externs.profile(scope)
        lines += more
    lines += [f"table {name} {{", "key = {"]
    lines += [f'{text} : {kind} @name("k{i}");' for i, (text, _, kind) in enumerate(keys)]
    if "selector" in profile.lower():
        lines += [f"{scope.pick(scope.of_type(_plain)).text} : selector;" for _ in range(rng.randint(1, 2))]
    lines += ["}", "actions = {", *(f"{action};" for action, _ in actions), "NoAction;", "}"]
    chosen, types = rng.choice(actions)
    lines.append(f"default_action = {chosen}({', '.join(literal(scope, t) for t in types)});")
    if keys and not profile and not meter and rng.random() < 0.5:
        lines += _entries(scope, keys, actions)
    lines.append(f"size = {rng.choice((8, 64))};")
    lines += [f"implementation = {profile};"] if profile else []
    lines += [f"meters = {meter};"] if meter else []
    lines += [f"counters = {counter};"] if counter else []
    lines += [f"registers = {register};"] if register else []
    scope.tables.append((name, [action for action, _ in actions]))
    return [*lines, "}"]


def _plain(t: Type) -> bool:
    return isinstance(t, Bits) and not t.signed and t.width <= 64


def _actions(
    statements: StatementGenerator, scope: ReachableNames, meter: str, counter: str, register: str
) -> tuple[Lines, list[Action]]:
    lines: Lines = []
    actions: list[Action] = []
    for _ in range(scope.rng.randint(1, 3)):
        name, inner = statements.name("ta"), scope.inner()
        types = [scope.bits() for _ in range(scope.rng.randint(0, 3))]
        inner.operands += [Operand(f"d{i}", t, writable=False) for i, t in enumerate(types)]
        inner.in_action, inner.actions = True, []
        lines += [f"action {name}({', '.join(f'{t} d{i}' for i, t in enumerate(types))}) {{"]
        colours = inner.of_type(lambda t: t == statements.externs.colours, writable=True)
        if meter and colours and scope.chance(0.7):
            lines.append(statements.externs.read_meter(meter, scope.pick(colours).text))
        lines += statements.externs.in_action(inner, counter, register)
        lines += [*statements.block(inner, 3, 1), "}"]
        actions.append((name, list(types)))
    return lines, actions


def _keys(scope: ReachableNames, choices: tuple[list[str], ...]) -> list[tuple[str, Bits, str]]:
    kinds = scope.pick(choices)
    keys = []
    for kind in kinds:
        operands = scope.of_type(lambda t: isinstance(t, Bits) and not t.signed and t.width <= 64)
        if scope.portable and kind == "lpm":  # bmv2 misreads prefixes in its JSON unless keys are whole bytes
            keys.append((expression(scope, Bits(8), 1), Bits(8), kind))
        elif scope.chance(0.6) or not operands:
            small = Bits(scope.pick((2, 3, 8)))
            keys.append((expression(scope, small, 1), small, kind))
        else:
            place = scope.pick(operands)
            assert isinstance(place.type, Bits)
            keys.append((place.text, place.type, kind))
    return keys


def _entries(scope: ReachableNames, keys: list[tuple[str, Bits, str]], actions: list[Action]) -> Lines:
    ordered = any(kind in ("ternary", "range", "optional") for _, _, kind in keys) and scope.chance(0.4)
    lines, seen = ["entries = {" if ordered else "const entries = {"], set()
    for number in range(scope.rng.randint(1, 4)):
        key = ", ".join(_match(scope, t, kind) for _, t, kind in keys)
        if key in seen:
            continue
        seen.add(key)
        action, types = scope.pick(actions)
        first = f"priority = {100 + 10 * scope.rng.randint(0, 3)} : " if ordered and number < 2 else ""
        lines.append(f"{first}({key}) : {action}({', '.join(literal(scope, t) for t in types)});")
    return [*lines, "}"]


def _match(scope: ReachableNames, t: Bits, kind: str) -> str:
    value, other = (scope.rng.randint(0, t.mask) for _ in range(2))
    if kind == "exact":
        return f"{t.width}w{value}"
    if kind == "lpm":
        length = scope.rng.randint(1, t.width)
        mask = ((1 << length) - 1) << (t.width - length)
        return f"{t.width}w{value & mask} &&& {t.width}w{mask}"
    if kind == "range":
        return f"{t.width}w{min(value, other)} .. {t.width}w{max(value, other)}"
    if kind == "optional":
        return scope.pick(("_", f"{t.width}w{value}"))
    return f"{t.width}w{value & other} &&& {t.width}w{other}"
