# SPDX-License-Identifier: Apache-2.0
"""Effects of each change of a table, and their limits: entries of the source, metadata, finders, sizes."""

from __future__ import annotations

import threading
from random import Random

import pytest

from offramp_base.errors import OfframpError
from offramp_p4 import ir
from offramp_p4.frontend import load_text
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
from offramp_p4.state.match import Any as AnyMatch
from offramp_p4.state.match import key_width, matches, normalise, prefix_mask
from offramp_p4.types import BOOL, Bits, Enum
from p4_programs import program

LOCAL = """
    action to(bit<9> port) { sm.egress_spec = port; }
    action drop_it() { mark_to_drop(sm); }
    table sourced {
        key = { hdr.h.a: ternary; }
        actions = { to; @defaultonly NoAction; }
        default_action = NoAction();
        entries = {
            const 1: to(1);
            2: to(2);
            0x30 &&& 0xF0: to(3);
            _: to(4);
        }
    }
    table plain { key = { hdr.h.a: exact; } actions = { to; @tableonly drop_it; NoAction; } size = 2; }
    table many { key = { hdr.h.a: ternary; hdr.h.b: range; hdr.h.c: optional; } actions = { to; NoAction; } }
    table longest { key = { hdr.h.a: lpm; hdr.h.b: exact; } actions = { to; NoAction; } }
"""
PROGRAM = load_text(program("sourced.apply(); plain.apply(); many.apply(); longest.apply();", local=LOCAL))


def table(name: str) -> TableState:
    named = next(t for t in tables_of(PROGRAM) if t.name == f"I.{name}")
    return TableState(named)


def tables_of(loaded: ir.Program) -> list[ir.MatchTable]:
    from offramp_p4 import make_switch

    return [state.table for state in make_switch(loaded, "python").tables.values()]


def to(port: int) -> ActionData:
    return ActionData("I.to", (port,))


def action_of(state: TableState, *values: int) -> ActionData | None:
    entry = state.lookup(values)
    return None if entry is None else entry.action  # type: ignore[return-value]


def kind_of(error: pytest.ExceptionInfo[StateError]) -> str:
    return error.value.kind


def test_clear_leaves_the_constant_entries_of_the_source() -> None:
    state = table("sourced")
    state.insert(TableEntry((Ternary(9, 0xFF),), to(9), 100))
    assert len(state) == 5
    state.clear()
    assert [entry.const for entry in state.entries] == [True]
    assert [action_of(state, value) for value in (1, 2, 9)] == [to(1), None, None]
    state.reset()
    assert [action_of(state, value) for value in (1, 2, 0x37, 9)] == [to(1), to(2), to(3), to(4)]


def test_a_constant_entry_is_neither_changed_nor_deleted() -> None:
    state = table("sourced")
    const = next(entry for entry in state.entries if entry.const)
    for change in (
        lambda: state.delete(const.keys, const.priority),
        lambda: state.modify(TableEntry(const.keys, to(8), const.priority)),
    ):
        with pytest.raises(StateError, match="the entry is const") as error:
            change()
        assert kind_of(error) == "permission_denied"
    assert action_of(state, 1) == to(1)
    assert len(state) == 4


def test_the_first_entry_of_the_source_wins() -> None:
    state = table("sourced")
    assert [entry.priority for entry in state.entries] == [4, 3, 2, 1]


def source(keys: str, entries: str, properties: str = "") -> TableState:
    """A table whose entries are in the source."""
    local = f"""
        action to(bit<9> port) {{ sm.egress_spec = port; }}
        table t {{ key = {{ {keys} }} actions = {{ to; NoAction; }} {properties} entries = {{ {entries} }} }}
    """
    (only,) = tables_of(load_text(program("t.apply();", local=local)))
    return TableState(only)


def test_entries_of_the_source_without_priorities() -> None:
    state = source("hdr.h.a: exact;", "1: to(1); 2: to(2);")
    assert [(e.keys, e.priority, e.action) for e in state.entries] == [((Exact(n),), 0, to(n)) for n in (1, 2)]


def test_priorities_of_the_source() -> None:
    numbered = "priority = 7: 1: to(1); priority = 9: _: to(2);"
    state = source("hdr.h.a: ternary;", numbered, "largest_priority_wins = true;")
    assert [e.priority for e in state.entries] == [7, 9]
    assert action_of(state, 1) == to(2)
    state = source("hdr.h.a: ternary;", numbered, "largest_priority_wins = false;")
    assert [e.priority for e in state.entries] == [3, 1]
    assert action_of(state, 1) == to(1)
    annotated = "_: to(2) @priority(9); 1: to(1) @priority(8);"
    state = source("hdr.h.a: ternary;", annotated)
    assert [e.priority for e in state.entries] == [1, 2]
    assert action_of(state, 1) == to(1)


def test_keys_of_the_source() -> None:
    state = source(
        "hdr.h.a: ternary; hdr.h.b: range;",
        "(1 &&& 1, 1..255): to(1); (0 &&& 0, 0..255): to(2); (3, 0..254): to(3); (4, 9): to(4); (_, _): to(5);",
    )
    assert [e.keys for e in state.entries] == [
        (Ternary(1, 1), Range(1, 255)),
        (ANY, ANY),
        (Ternary(3, 255), Range(0, 254)),
        (Ternary(4, 255), Range(9, 9)),
        (ANY, ANY),
    ]
    state = source("hdr.h.a: lpm;", "0xF0 &&& 0xF0: to(1); 0 &&& 0: to(2); 0xFF: to(3);")
    assert [e.keys for e in state.entries] == [(Lpm(0xF0, 4),), (ANY,), (Lpm(0xFF, 8),)]
    state = source("hdr.h.a: optional;", "7: to(1); _: to(2);")
    assert [e.keys for e in state.entries] == [(Optional(7),), (ANY,)]
    for keys, entry in (("hdr.h.a: lpm;", "0x0F &&& 0x0F: to(1);"), ("hdr.h.a: optional;", "1 &&& 3: to(1);")):
        with pytest.raises(OfframpError):
            source(keys, entry)


def test_modify_replaces_action_metadata_and_time_out_and_nothing_else() -> None:
    state = table("plain")
    entry = TableEntry((Exact(1),), to(1), metadata=b"old", packets=7, bytes=70, idle_timeout_ns=5, last_hit_us=3)
    state.insert(entry)
    state.modify(TableEntry((Exact(1),), to(2), metadata=b"new", idle_timeout_ns=6, packets=1, bytes=1, last_hit_us=1))
    assert state.get((Exact(1),)) is entry
    assert (entry.action, entry.metadata, entry.idle_timeout_ns) == (to(2), b"new", 6)
    assert (entry.packets, entry.bytes, entry.last_hit_us) == (7, 70, 3)


def test_a_modification_that_is_refused_changes_nothing() -> None:
    state = table("plain")
    state.insert(TableEntry((Exact(1),), to(1), metadata=b"old"))
    with pytest.raises(StateError):
        state.modify(TableEntry((Exact(1),), to(512), metadata=b"new"))
    entry = state.get((Exact(1),))
    assert entry is not None
    assert (entry.action, entry.metadata) == (to(1), b"old")


@pytest.mark.parametrize("looked_up_before", [False, True])
def test_a_deleted_entry_is_no_longer_found_and_its_equals_are(looked_up_before: bool) -> None:
    """Entries of one priority stand next to each other in the finder: the right one goes."""
    state = table("many")
    rows = [TableEntry((Ternary(i, 0xFF), ANY, ANY), to(i), 5) for i in range(4)]
    rows += [TableEntry((ANY, ANY, ANY), to(10 + p), p) for p in (9, 1)]
    for row in rows:
        state.insert(row)
    if looked_up_before:
        assert action_of(state, 2, 0, 0) == to(19)
    state.delete((ANY, ANY, ANY), 9)
    assert [action_of(state, i, 0, 0) for i in range(4)] == [to(i) for i in range(4)]
    state.delete((Ternary(2, 0xFF), ANY, ANY), 5)
    assert [action_of(state, i, 0, 0) for i in range(5)] == [to(0), to(1), to(11), to(3), to(11)]
    state.delete((ANY, ANY, ANY), 1)
    assert action_of(state, 2, 0, 0) is None
    assert len(state) == 3


def test_among_equals_the_first_that_was_inserted_wins() -> None:
    for looked_up_before in (False, True):
        state = table("many")
        state.insert(TableEntry((ANY, Range(0, 9), ANY), to(1), 5))
        if looked_up_before:
            assert action_of(state, 0, 5, 0) == to(1)
        state.insert(TableEntry((ANY, Range(5, 9), ANY), to(2), 5))
        assert [action_of(state, 0, b, 0) for b in (4, 5, 9, 10)] == [to(1), to(1), to(1), None]
        state.insert(TableEntry((ANY, Range(5, 5), Optional(3)), to(3), 6))
        assert [action_of(state, 0, 5, c) for c in (3, 4)] == [to(3), to(1)]


@pytest.mark.parametrize("looked_up_before", [False, True])
def test_prefixes_come_and_go(looked_up_before: bool) -> None:
    state = table("longest")
    prefixes = [(0xF0, 4), (0xF8, 5), (0x80, 1), (0, 0)]
    for port, (value, length) in enumerate(prefixes):
        state.insert(TableEntry((Lpm(value, length), Exact(7)), to(port)))
        if looked_up_before:
            assert action_of(state, 0xFF, 7) == to(min(port, 1))
    assert [action_of(state, v, 7) for v in (0xFF, 0xF7, 0x8F, 0x7F)] == [to(1), to(0), to(2), to(3)]
    assert action_of(state, 0xFF, 8) is None
    state.delete((Lpm(0xF8, 5), Exact(7)))
    assert action_of(state, 0xFF, 7) == to(0)
    state.delete((ANY, Exact(7)))
    assert action_of(state, 0x7F, 7) is None
    state.insert(TableEntry((Lpm(0xF8, 5), Exact(8)), to(6)))
    assert [action_of(state, 0xFF, b) for b in (7, 8)] == [to(0), to(6)]
    state.delete((Lpm(0xF8, 5), Exact(8)))
    state.delete((Lpm(0xF0, 4), Exact(7)))
    assert action_of(state, 0xFF, 7) == to(2)


def test_the_last_entry_that_fits_is_taken() -> None:
    state = table("plain")
    state.insert(TableEntry((Exact(1),), to(1)))
    state.insert(TableEntry((Exact(2),), to(2)))
    with pytest.raises(StateError, match="holds at most 2 entries") as error:
        state.insert(TableEntry((Exact(3),), to(3)))
    assert kind_of(error) == "exhausted"
    state.delete((Exact(1),))
    state.insert(TableEntry((Exact(3),), to(3)))
    assert [action_of(state, v) for v in (1, 2, 3)] == [None, to(2), to(3)]


def test_sizes_that_the_source_does_not_give() -> None:
    assert table("many").size == 1024


def test_the_default_action_comes_back_with_nothing_of_the_old_one() -> None:
    state = table("plain")
    state.set_default(to(3))
    state.default_entry.packets, state.default_entry.bytes, state.default_entry.metadata = 4, 40, b"m"
    assert state.default_is_changed
    state.set_default(to(4))
    assert (state.default_entry.packets, state.default_entry.metadata) == (4, b"m")
    state.set_default(None)
    assert not state.default_is_changed
    entry = state.default_entry
    assert (entry.packets, entry.bytes, entry.metadata) == (0, 0, b"")


def test_annotated_actions_stand_where_they_may() -> None:
    state = table("plain")
    state.insert(TableEntry((Exact(1),), ActionData("I.drop_it")))
    with pytest.raises(StateError, match="may not stand as default"):
        state.set_default(ActionData("I.drop_it"))
    with pytest.raises(StateError, match="may not stand in entries"):
        table("sourced").insert(TableEntry((Ternary(5, 0xFF),), ActionData("NoAction"), 9))


def test_a_reset_forgets_counts() -> None:
    state = table("plain")
    state.hits, state.misses = 3, 4
    state.insert(TableEntry((Exact(1),), to(1)))
    state.set_default(to(2))
    state.reset()
    assert (state.hits, state.misses, len(state), state.default_is_changed) == (0, 0, 0, False)


@pytest.mark.parametrize("change", ["insert", "modify", "delete", "clear", "reset"])
def test_every_change_waits_for_the_lock(change: str) -> None:
    """Whoever holds it, as a batch of packets does while counts are gathered, sees no half of a change."""
    lock = threading.RLock()
    state = TableState(table("plain").table, lock=lock)
    state.insert(TableEntry((Exact(1),), to(1)))
    changes = {
        "insert": lambda: state.insert(TableEntry((Exact(2),), to(2))),
        "modify": lambda: state.modify(TableEntry((Exact(1),), to(2))),
        "delete": lambda: state.delete((Exact(1),)),
        "clear": state.clear,
        "reset": state.reset,
    }
    began, ended = threading.Event(), threading.Event()

    def run() -> None:
        began.set()
        changes[change]()
        ended.set()

    with lock:
        writer = threading.Thread(target=run)
        writer.start()
        assert began.wait(10)
        assert not ended.wait(0.1)
        assert [entry.action for entry in state.entries] == [to(1)]
    writer.join(10)
    assert ended.is_set()


def test_matches_at_their_edges() -> None:
    cases: list[tuple[Match, list[int], list[int]]] = [
        (Exact(5), [5], [4, 6]),
        (Optional(0), [0], [1]),
        (Lpm(0b1010_0000, 3), [0b1010_0000, 0b1011_1111], [0b1000_0000, 0b1100_0000]),
        (Ternary(0b0101, 0b0111), [0b0101, 0b1101], [0b0100, 0b0111]),
        (Range(3, 5), [3, 4, 5], [2, 6]),
        (ANY, [0, 255], []),
    ]
    for match, inside, outside in cases:
        assert all(matches(match, value, 8) for value in inside)
        assert not any(matches(match, value, 8) for value in outside)
    assert [prefix_mask(n, 8) for n in (0, 1, 7, 8)] == [0, 0x80, 0xFE, 0xFF]


def test_widths_of_keys() -> None:
    """An enum or error counts 32 bits, an enum of a type as many as that has."""
    top = "enum plain_t { A } enum bit<6> coded_t { B = 1 }"
    local = "plain_t p; coded_t c; error e; bool b; int<5> i; table t { actions = { NoAction; } key = { "
    local += "p: exact; c: exact; e: exact; b: exact; i: exact; hdr.h.a: exact; } }"
    (one,) = tables_of(
        load_text(program("p = plain_t.A; c = coded_t.B; b = true; i = 1; t.apply();", top=top, local=local))
    )
    assert TableState(one).widths == [32, 6, 32, 1, 5, 8]


def test_a_match_of_everything_is_another_one() -> None:
    assert AnyMatch() == ANY


def test_canonical_forms() -> None:
    assert normalise(Ternary(0xFF, 0x0F), "ternary", 8, "t") == Ternary(0x0F, 0x0F)
    assert normalise(Ternary(0xFF, 0), "ternary", 8, "t") == ANY
    assert normalise(Range(0, 255), "range", 8, "t") == ANY
    assert normalise(Range(0, 254), "range", 8, "t") == Range(0, 254)
    assert normalise(Range(1, 255), "range", 8, "t") == Range(1, 255)
    assert normalise(Range(7, 7), "range", 8, "t") == Range(7, 7)
    assert normalise(Lpm(0xFF, 4), "lpm", 8, "t") == Lpm(0xF0, 4)
    assert normalise(Lpm(0xFF, 8), "lpm", 8, "t") == Lpm(0xFF, 8)
    assert normalise(Lpm(0xFF, 0), "lpm", 8, "t") == ANY
    for kind in ("lpm", "ternary", "range", "optional"):
        assert normalise(ANY, kind, 8, "t") == ANY
    refused: list[tuple[Match, str, str]] = [
        (Range(8, 7), "range", "range from 8 to 7 is empty"),
        (Exact(256), "exact", "256 does not fit 8 bits"),
        (Exact(-1), "exact", "-1 does not fit 8 bits"),
        (Lpm(0, 9), "lpm", "prefix length 9 is outside 0..8"),
        (Lpm(0, -1), "lpm", "prefix length -1 is outside 0..8"),
        (ANY, "exact", "Any match given for a key of kind exact"),
        (Exact(1), "ternary", "Exact match given for a key of kind ternary"),
        (Optional(1), "lpm", "Optional match given for a key of kind lpm"),
    ]
    for match, kind, message in refused:
        with pytest.raises(StateError, match=f"^t: {message}$") as error:
            normalise(match, kind, 8, "t")
        assert kind_of(error) == "invalid"


def test_members_and_groups_to_the_last() -> None:
    profile = ActionProfileState("p", 2, selector=True)
    profile.insert_member(5, ActionData("put", (1,)))
    profile.insert_member(6, ActionData("put", (2,)))
    with pytest.raises(StateError, match="holds at most 2 members"):
        profile.insert_member(7, ActionData("put", (3,)))
    profile.insert_group(1, [5, 6])
    profile.insert_group(2, [5])
    with pytest.raises(StateError, match="member 5 is in a group"):
        profile.delete_member(5)
    with pytest.raises(StateError, match="group 1 exists"):
        profile.insert_group(1, [])
    profile.modify_group(1, [6])
    assert profile.resolve(GroupAction(1), 17, Random(0)) == ActionData("put", (2,))
    profile.delete_group(2)
    profile.delete_member(5)
    assert profile.resolve(MemberAction(5), 0, Random(0)) is None
    for change in (lambda: profile.delete_group(2), lambda: profile.modify_group(2, [])):
        with pytest.raises(StateError, match="no group 2") as error:
            change()
        assert kind_of(error) == "not_found"
    profile.drop(1, [6])
    assert (profile.members, profile.groups) == ({}, {})
    assert profile.resolve(GroupAction(1), 0, Random(0)) is None
    profile.insert_member(1, to(1))
    profile.insert_group(1, [1])
    profile.reset()
    assert (profile.members, profile.groups) == ({}, {})


def test_a_member_runs_what_every_table_of_its_profile_runs() -> None:
    profile = ActionProfileState("p", 2, tables=[table("plain"), table("sourced")])
    for wrong in (ActionData("I.gone"), ActionData("I.drop_it"), ActionData("I.to", (512,))):
        with pytest.raises(StateError) as error:
            profile.insert_member(1, wrong)
        assert kind_of(error) == "invalid"
    assert not profile.members
    profile.insert_member(1, to(1))
    with pytest.raises(StateError, match=r"has no action I.drop_it"):
        profile.modify_member(1, ActionData("I.drop_it"))
    with pytest.raises(StateError, match="no member 2") as error:
        profile.modify_member(2, to(2))
    assert kind_of(error) == "not_found"
    assert profile.members == {1: to(1)}


def test_bits_of_a_key_of_each_type() -> None:
    numbered = Enum("E", members={"a": 1}, base=Bits(7))
    assert [key_width(each) for each in (Bits(9), BOOL, Enum("F", members={"a": 0}), numbered)] == [9, 1, 32, 7]
