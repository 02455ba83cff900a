# SPDX-License-Identifier: Apache-2.0
"""Look-ups against a search through all entries, and what the control plane may not do."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp_p4 import ir
from offramp_p4.source import Unsupported
from offramp_p4.state import (
    ANY,
    ActionData,
    ActionProfileState,
    Exact,
    GroupAction,
    Lpm,
    Match,
    MemberAction,
    Optional,
    Range,
    StateError,
    TableEntry,
    TableState,
    Ternary,
)
from offramp_p4.types import Annotation, Bits
from p4_ir import BIT8, ref, var

PUT = ir.TableAction(ir.Action("put", [ir.Var("x", BIT8)], ir.Block([])), [])
NOTHING = ir.TableAction(ir.Action("nothing", [], ir.Block([])), [], {"defaultonly": Annotation("defaultonly")})


def table(*keys: tuple[str, int], size: int | None = None, const: bool = False) -> ir.MatchTable:
    table_keys = [ir.TableKey(ref(var(f"k{i}", Bits(width))), kind, f"k{i}") for i, (kind, width) in enumerate(keys)]
    default = ir.ActionChoice(NOTHING, [])
    return ir.MatchTable("t", table_keys, [PUT, NOTHING], default, const, [], const, size, {})


def entry(*keys: Match, priority: int = 0, value: int = 0) -> TableEntry:
    return TableEntry(keys, ActionData("put", (value,)), priority)


def matches(match: Match, value: int, width: int) -> bool:
    """Written apart from the engine: on strings of binary digits."""
    text = f"{value:0{width}b}"
    if isinstance(match, Lpm):
        return text.startswith(f"{match.value:0{width}b}"[: match.prefix_len])
    if isinstance(match, Ternary):
        wanted, mask = f"{match.value:0{width}b}", f"{match.mask:0{width}b}"
        return all(m == "0" or t == w for t, w, m in zip(text, wanted, mask, strict=True))
    if isinstance(match, Range):
        return value in range(match.low, match.high + 1)
    return match == ANY or value == match.value  # type: ignore[union-attr]


@st.composite
def match_of(draw: st.DrawFn, kind: str, width: int) -> Match:
    number = st.integers(0, (1 << width) - 1)
    if kind == "exact":
        return Exact(draw(number))
    if draw(st.integers(0, 3)) == 0:
        return ANY
    if kind == "lpm":
        return Lpm(draw(number), draw(st.integers(0, width)))
    if kind == "ternary":
        return Ternary(draw(number), draw(number))
    if kind == "range":
        return Range(*sorted((draw(number), draw(number))))
    return Optional(draw(number))


KEYS = st.one_of(
    st.lists(st.sampled_from([("exact", 3), ("exact", 4)]), min_size=1, max_size=3),
    st.permutations([("lpm", 5), ("exact", 2)]),
    st.just([("lpm", 6)]),
    st.lists(
        st.sampled_from([("ternary", 4), ("range", 4), ("optional", 2), ("lpm", 4), ("exact", 1)]),
        min_size=1,
        max_size=4,
    ).filter(lambda keys: {k for k, _ in keys} & {"ternary", "range", "optional"}),
)


@pytest.mark.full
@settings(max_examples=300, deadline=None, derandomize=True)
@given(KEYS, st.data())
def test_lookup_finds_what_a_search_finds(keys: list[tuple[str, int]], data: st.DataObject) -> None:
    state = TableState(table(*keys))
    kept: list[TableEntry] = []
    for number in range(data.draw(st.integers(0, 12))):
        matches_ = tuple(data.draw(match_of(kind, width)) for kind, width in keys)
        priority = data.draw(st.integers(1, 3)) if state.needs_priority else 0
        new = TableEntry(matches_, ActionData("put", (number,)), priority)
        if state.get(new.keys, new.priority) is None:
            state.insert(new)
            kept.append(new)
        else:
            with pytest.raises(StateError, match="exists"):
                state.insert(new)
    if kept and data.draw(st.booleans()):
        gone = kept.pop(data.draw(st.integers(0, len(kept) - 1)))
        state.delete(gone.keys, gone.priority)

    def prefix(e: TableEntry) -> int:
        return max((k.prefix_len for k in e.keys if isinstance(k, Lpm)), default=0)

    for _ in range(8):
        values = tuple(data.draw(st.integers(0, (1 << width) - 1)) for _, width in keys)
        hits = [e for e in kept if all(matches(m, v, w) for m, v, (_, w) in zip(e.keys, values, keys, strict=True))]
        best = max(hits, key=lambda e: e.priority if state.needs_priority else prefix(e), default=None)
        assert state.lookup(values) is best


def test_every_request_that_cannot_be_done_says_why_and_changes_nothing() -> None:
    state = TableState(table(("exact", 8), ("lpm", 8), size=2))
    first = entry(Exact(1), Lpm(0xF0, 4))
    state.insert(first)
    state.insert(entry(Exact(2), ANY))
    faults: list[tuple[str, TableEntry]] = [
        ("already_exists", entry(Exact(1), Lpm(0xFF, 4))),  # the same prefix
        ("exhausted", entry(Exact(3), ANY)),
        ("invalid", entry(Exact(3))),
        ("invalid", entry(Exact(256), ANY)),
        ("invalid", entry(Ternary(1, 1), ANY)),
        ("invalid", entry(Exact(1), Lpm(0, 9))),
        ("invalid", entry(Exact(1), ANY, priority=1)),
        ("invalid", entry(Exact(1), ANY, value=256)),
        ("invalid", TableEntry((Exact(1), ANY), ActionData("put"))),
        ("invalid", TableEntry((Exact(1), ANY), ActionData("other"))),
        ("invalid", TableEntry((Exact(1), ANY), ActionData("nothing"))),
        ("invalid", TableEntry((Exact(1), ANY), MemberAction(1))),
    ]
    for kind, bad in faults:
        with pytest.raises(StateError, match=r"^table t\b") as error:
            state.insert(bad)
        assert error.value.kind == kind
    with pytest.raises(StateError) as error:
        state.delete((Exact(9), ANY))
    assert error.value.kind == "not_found"
    with pytest.raises(StateError) as error:
        state.modify(entry(Exact(9), ANY))
    assert error.value.kind == "not_found"
    assert len(state) == 2
    state.modify(entry(Exact(1), Lpm(0xF7, 4), value=9))
    assert first.action == ActionData("put", (9,))
    assert state.get((Exact(1), Lpm(0xF0, 4))) is first
    state.clear()
    assert state.lookup((1, 0xF3)) is None


def test_const_tables_and_defaults() -> None:
    state = TableState(table(("exact", 8), const=True))
    for change in (
        lambda: state.insert(entry(Exact(1))),
        lambda: state.delete((Exact(1),)),
        lambda: state.set_default(ActionData("put", (1,))),
    ):
        with pytest.raises(StateError) as error:
            change()
        assert error.value.kind == "permission_denied"
    free = TableState(table(("exact", 8)))
    free.set_default(ActionData("put", (1,)))
    assert free.default == ActionData("put", (1,))
    free.set_default(None)
    assert free.default == ActionData("nothing")


def test_two_prefixes_in_one_table_are_refused() -> None:
    with pytest.raises(Unsupported, match="more than one lpm key"):
        TableState(table(("lpm", 8), ("lpm", 8)))
    with pytest.raises(Unsupported, match="match kind fuzzy"):
        TableState(table(("fuzzy", 8)))


def test_action_profiles() -> None:
    profile = ActionProfileState("p", 2, selector=True)
    state = TableState(table(("exact", 8)), profile)
    with pytest.raises(StateError) as error:
        state.insert(TableEntry((Exact(1),), MemberAction(5)))
    assert error.value.kind == "not_found"
    profile.insert_member(5, ActionData("put", (1,)))
    profile.insert_member(6, ActionData("put", (2,)))
    profile.insert_group(1, [5, 6])
    state.insert(TableEntry((Exact(1),), MemberAction(5)))
    state.insert(TableEntry((Exact(2),), GroupAction(1)))
    assert [profile.resolve(GroupAction(1), h, Random(0)) for h in (2, 3)] == [
        ActionData("put", (1,)),
        ActionData("put", (2,)),
    ]
    faults = [
        ("exhausted", lambda: profile.insert_member(7, ActionData("put", (1,)))),
        ("already_exists", lambda: profile.insert_member(5, ActionData("put", (1,)))),
        ("invalid", lambda: profile.delete_member(5)),
        ("invalid", lambda: profile.modify_member(5, ActionData("put", (256,)))),
        ("invalid", lambda: profile.modify_member(5, ActionData("other"))),
        ("not_found", lambda: profile.modify_group(2, [])),
        ("not_found", lambda: profile.modify_group(1, [9])),
        ("invalid", lambda: ActionProfileState("q", 1).insert_group(1, [])),
        ("invalid", lambda: state.insert(entry(Exact(3)))),
    ]
    for kind, change in faults:
        with pytest.raises(StateError) as error:
            change()
        assert error.value.kind == kind
    profile.modify_group(1, [])
    assert profile.resolve(GroupAction(1), 0, Random(0)) is None
    profile.delete_group(1)
    profile.delete_member(5)
    assert profile.resolve(MemberAction(5), 0, Random(0)) is None
