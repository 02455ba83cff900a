# SPDX-License-Identifier: Apache-2.0
"""Requests of many insertions, read in machine code: as the ordinary way would have done them, or not at all."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from offramp_base.errors import OfframpError
from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.values import encode
from offramp_p4.frontend import load_text
from offramp_p4.native import NativeSwitch
from offramp_p4.runtime import bulk
from offramp_p4.runtime.pipeline import Pipeline
from offramp_p4.runtime.transaction import apply_each
from offramp_p4.state.batch import EntryBatch
from offramp_p4.state.match import prefix_mask
from offramp_p4.switch import Switch
from p4_programs import program

pytestmark = pytest.mark.p4

WIDTHS = {"routes": (9, 32), "wide": (128,), "hosts": (48,)}
PROGRAM = load_text(
    program(
        "routes.apply(); wide.apply(); hosts.apply(); masks.apply();",
        local="""
        action to(bit<9> port, bit<131> next) { sm.egress_spec = port; meta.w = (bit<32>)next; }
        action none() { }
        table routes { key = { sm.ingress_port: exact; meta.w: lpm; } actions = { to; none; } size = 500; }
        table wide { key = { (bit<128>)meta.w: lpm @name("w"); } actions = { to; none; } }
        direct_counter(CounterType.packets) c;
        table hosts { key = { (bit<48>)meta.w: exact @name("h"); } actions = { to; @defaultonly none; } counters = c; }
        table masks { key = { meta.w: ternary; } actions = { to; none; } }""",
    )
)


class Requests:
    """Random requests for a pipeline."""

    def __init__(self, pipeline: Pipeline, seed: int) -> None:
        self.rng = random.Random(seed)
        self.used: set[tuple[str, tuple[tuple[int, int], ...]]] = set()
        self.tables = {t.preamble.name.removeprefix("I."): t.preamble.id for t in pipeline.info.tables}
        self.actions = {a.preamble.name.removeprefix("I."): a.preamble.id for a in pipeline.info.actions}

    def insertions(self, table: str, count: int = 100, action: str = "to") -> Any:
        updates: list[Any] = []
        while len(updates) < count:
            update = v1.Update(type=v1.Update.INSERT)
            entry = update.entity.table_entry
            entry.table_id = self.tables[table]
            widths = enumerate(WIDTHS[table], 1)
            key = tuple(self._match(entry, number, width, lpm=width in (32, 128)) for number, width in widths)
            entry.action.action.action_id = self.actions[action]
            for number, width in ((1, 9), (2, 131)) if action == "to" else ():
                param = entry.action.action.params.add(param_id=number)
                param.value = encode(self.rng.getrandbits(self.rng.choice([1, 7, width]))) if width else b""
            if (table, key) not in self.used:
                updates.append(update)
            self.used.add((table, key))
        return v1.WriteRequest(device_id=1, role="somebody", updates=updates)

    def _match(self, entry: Any, number: int, width: int, *, lpm: bool) -> tuple[int, int]:
        value = self.rng.getrandbits(width)
        if not lpm:
            entry.match.add(field_id=number).exact.value = bytes(self.rng.randrange(3)) + encode(value)
            return value, width
        length = self.rng.choice([0, 1, width // 2, width - 1, width])
        value &= prefix_mask(length, width)
        if length:
            prefix = entry.match.add(field_id=number).lpm
            prefix.value, prefix.prefix_len = encode(value), length
        return value, length


def contents(pipeline: Pipeline) -> dict[str, Counter[Any]]:
    return {n: Counter((e.keys, e.action) for e in t.state.entries) for n, t in pipeline.tables.items()}


def free(_: Any) -> None:
    """Everything may be written."""


@pytest.mark.full
@pytest.mark.parametrize("make", [Switch, NativeSwitch])
@pytest.mark.parametrize("table", WIDTHS)
def test_a_request_of_insertions_is_done_as_the_ordinary_way_does_it(table: str, make: Any) -> None:
    at_once, ordinary = Pipeline(PROGRAM, make), Pipeline(PROGRAM, make)
    requests = Requests(ordinary, 1)
    for action in ("to", "to", "none") if table != "hosts" else ("to", "to"):
        request = requests.insertions(table, action=action)
        assert bulk.insert_all(at_once, request, free)
        assert not any(apply_each(ordinary, request.updates, free))
    assert contents(at_once) == contents(ordinary)


def _twice(r: Any) -> None:
    r.updates[50].CopyFrom(r.updates[20])


def _in_updates(change: Callable[[Any], object]) -> Callable[[Any], None]:
    def go(request: Any) -> None:
        change(request.updates[-1])

    return go


def _entry(change: Callable[[Any], object]) -> Callable[[Any], None]:
    return _in_updates(lambda u: change(u.entity.table_entry))


def _prefix(value: bytes, length: int) -> Callable[[Any], None]:
    return _entry(lambda e: e.match.append(v1.FieldMatch(field_id=2, lpm={"value": value, "prefix_len": length})))


def _longer(e: Any) -> None:
    e.match[0].exact.value = b"\x02\x00"


CHANGES: dict[str, Callable[[Any], object]] = {
    "an entry twice": _twice,
    "a deletion": _in_updates(lambda u: setattr(u, "type", v1.Update.DELETE)),
    "no type": _in_updates(lambda u: u.ClearField("type")),
    "another entity": _in_updates(lambda u: u.entity.meter_entry.SetInParent()),
    "no entity": _in_updates(lambda u: u.ClearField("entity")),
    "another table": _entry(lambda e: setattr(e, "table_id", e.table_id + 1)),
    "another action": _entry(lambda e: setattr(e.action.action, "action_id", 77)),
    "no action": _entry(lambda e: e.ClearField("action")),
    "a member": _entry(lambda e: setattr(e.action, "action_profile_member_id", 1)),
    "an argument less": _entry(lambda e: e.action.action.params.pop()),
    "an argument twice": _entry(lambda e: setattr(e.action.action.params[1], "param_id", 1)),
    "an unknown argument": _entry(lambda e: setattr(e.action.action.params[1], "param_id", 5)),
    "an empty argument": _entry(lambda e: e.action.action.params[0].ClearField("value")),
    "a wide argument": _entry(lambda e: setattr(e.action.action.params[0], "value", b"\2\0")),
    "a very long argument": _entry(lambda e: setattr(e.action.action.params[0], "value", b"\1" * 300)),
    "a priority": _entry(lambda e: setattr(e, "priority", 3)),
    "metadata": _entry(lambda e: setattr(e, "metadata", b"x")),
    "a time-out": _entry(lambda e: setattr(e, "idle_timeout_ns", 5)),
    "a counter": _entry(lambda e: e.counter_data.SetInParent()),
    "the default entry": _entry(lambda e: setattr(e, "is_default_action", True)),
    "an unknown key": _entry(lambda e: setattr(e.match[0], "field_id", 9)),
    "a key twice": _entry(lambda e: e.match.append(e.match[0])),
    "no exact key": _entry(lambda e: e.match.pop(0)),
    "a key of another kind": _entry(lambda e: e.match[0].ternary.SetInParent()),
    "a wide key": _entry(_longer),
    "bits behind the prefix": _prefix(b"\1", 31),
    "a negative prefix": _prefix(b"\0", -1),
    "too long a prefix": _prefix(b"\0", 33),
    "a field of the future": _in_updates(lambda u: u.MergeFromString(b"\xfa\x3e\x01a")),
    "no room": lambda r: r.updates.extend(Requests(Pipeline(PROGRAM, Switch), 9).insertions("routes", 450).updates),
}


@pytest.mark.full
@pytest.mark.parametrize("what", CHANGES)
def test_what_is_something_else_is_left_alone(what: str) -> None:
    """Nothing is done then, and the ordinary way says what is wrong, or does it."""
    pipeline = Pipeline(PROGRAM, NativeSwitch)
    requests = Requests(pipeline, 2)
    assert bulk.insert_all(pipeline, requests.insertions("routes", 70), free)
    before = contents(pipeline)
    request = requests.insertions("routes")
    last = request.updates[-1].entity.table_entry
    del last.match[1:]  # its prefix is there once, or not at all
    CHANGES[what](request)
    assert not bulk.insert_all(pipeline, request, free)
    assert contents(pipeline) == before


@pytest.mark.full
def test_a_role_that_may_not_write_the_table() -> None:
    pipeline = Pipeline(PROGRAM, NativeSwitch)

    def refuse(_: Any) -> None:
        raise OfframpError("no")

    assert not bulk.insert_all(pipeline, Requests(pipeline, 3).insertions("wide"), refuse)
    assert not any(contents(pipeline).values())


def test_ternary_tables_and_short_requests_go_the_ordinary_way(monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = Pipeline(PROGRAM, NativeSwitch)
    requests = Requests(pipeline, 4)
    monkeypatch.setattr(EntryBatch, "check", lambda *_: pytest.fail("a batch was made"))
    assert not bulk.insert_all(pipeline, requests.insertions("wide", bulk.FEWEST - 1), free)
    request = requests.insertions("hosts")
    for update in request.updates:
        update.entity.table_entry.table_id = requests.tables["masks"]
    assert not bulk.insert_all(pipeline, request, free)
