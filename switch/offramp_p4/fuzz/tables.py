# SPDX-License-Identifier: Apache-2.0
"""Random tables: keys of all match kinds, actions with data, entries in the source."""

from __future__ import annotations

from offramp_p4.fuzz.expressions import expression, literal
from offramp_p4.fuzz.scope import Operand, Scope
from offramp_p4.fuzz.statements import Lines, Statements
from offramp_p4.types import Bits, Type

Action = tuple[str, list[Type]]


def write_table(statements: Statements, scope: Scope) -> Lines:
    """Actions and a table of them; the table is added to what the scope may apply."""
    rng, name = scope.rng, statements.name("t")
    meter = statements.name("dm") if rng.random() < 0.2 and not scope.portable else ""
    lines, actions = _actions(statements, scope, meter)
    if meter:
        lines.insert(0, f"direct_meter<bit<2>>(MeterType.{rng.choice(('packets', 'bytes'))}) {meter};")
    keys = _keys(scope)
    profile = "" if not keys or meter or scope.portable or rng.random() < 0.7 else _profile(scope)
    direct = statements.name("dc") if rng.random() < 0.3 else ""
    if direct:
        lines.append(f"direct_counter(CounterType.packets_and_bytes) {direct};")
    lines += [f"table {name} {{", "key = {"]
    lines += [f'{text} : {kind} @name("k{i}");' for i, (text, _, kind) in enumerate(keys)]
    if "selector" in profile:
        lines += [f"{scope.pick(scope.of_type(_plain)).text} : selector;" for _ in range(rng.randint(1, 2))]
    lines += ["}", "actions = {", *(f"{action};" for action, _ in actions), "NoAction;", "}"]
    chosen, types = rng.choice(actions)
    lines.append(f"default_action = {chosen}({', '.join(literal(scope, t) for t in types)});")
    if keys and not profile and not meter and rng.random() < 0.5:
        lines += _entries(scope, keys, actions)
    lines.append(f"size = {rng.choice((8, 64))};")
    lines += [f"implementation = {profile};"] if profile else []
    lines += [f"meters = {meter};"] if meter else []
    if direct:
        lines.append(f"counters = {direct};")
    scope.tables.append((name, [action for action, _ in actions]))
    return [*lines, "}"]


def _plain(t: Type) -> bool:
    return isinstance(t, Bits) and not t.signed and t.width <= 64


def _profile(scope: Scope) -> str:
    """A table's implementation: its actions are those of members, or of groups of them."""
    if scope.chance(0.4):
        return "action_profile(16)"
    return (
        f"action_selector(HashAlgorithm.{scope.pick(('crc16', 'crc32', 'identity'))}, 32w16, 32w{scope.pick((4, 14))})"
    )


def _actions(statements: Statements, scope: Scope, meter: str) -> tuple[Lines, list[Action]]:
    lines: Lines = []
    actions: list[Action] = []
    for _ in range(scope.rng.randint(1, 3)):
        name, inner = statements.name("ta"), scope.inner()
        types = [scope.bits() for _ in range(scope.rng.randint(0, 3))]
        inner.operands += [Operand(f"d{i}", t, writable=False) for i, t in enumerate(types)]
        inner.in_action, inner.actions = True, []
        lines += [f"action {name}({', '.join(f'{t} d{i}' for i, t in enumerate(types))}) {{"]
        colours = inner.of_type(lambda t: t == Bits(2), writable=True)
        if meter and colours and scope.chance(0.7):
            lines.append(f"{meter}.read({scope.pick(colours).text});")
        lines += [*statements.block(inner, 3, 1), "}"]
        actions.append((name, list(types)))
    return lines, actions


def _keys(scope: Scope) -> list[tuple[str, Bits, str]]:
    kinds = scope.pick((["exact"], ["lpm"], ["exact", "lpm"], ["ternary"], ["ternary", "exact", "range"], ["range"],
                        ["optional", "ternary"], ["exact", "exact"], []))  # fmt: skip
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


def _entries(scope: Scope, keys: list[tuple[str, Bits, str]], actions: list[Action]) -> Lines:
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


def _match(scope: Scope, t: Bits, kind: str) -> str:
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
