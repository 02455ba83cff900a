# SPDX-License-Identifier: Apache-2.0
"""States of a switch and their entities. Oracle: :class:`EntityFactory`, which builds one entity at a time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offramp_base.errors import OfframpError
from offramp_base.p4rt import p4info
from offramp_base.p4rt.entities import EntityFactory
from offramp_base.p4rt.p4info import P4InfoIndex
from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.state import RATE, REPLICATE, State, StateCodec, group_key

INFO = """
tables {
  preamble { id: 33554433 name: "In.t" alias: "t" }
  match_fields { id: 1 name: "wide" bitwidth: 48 match_type: EXACT }
  match_fields { id: 2 name: "bit" bitwidth: 1 match_type: EXACT }
}
actions {
  preamble { id: 16777217 name: "In.go" alias: "go" }
  params { id: 1 name: "port" bitwidth: 9 }
  params { id: 4 name: "tag" bitwidth: 16 }
}
actions { preamble { id: 16777218 name: "In.stay" alias: "stay" } }
meters { preamble { id: 335544321 name: "In.m" alias: "m" } spec { unit: BYTES } size: 64 }
"""
INDEX = P4InfoIndex(p4info.parse(INFO))
CODEC, MAKE = StateCodec(INDEX), EntityFactory(INDEX)
INSERT, MODIFY, DELETE = v1.Update.INSERT, v1.Update.MODIFY, v1.Update.DELETE

ACTIONS = st.one_of(
    st.just(("In.stay", ())),
    st.tuples(st.integers(0, 511), st.integers(0, 0xFFFF)).map(lambda n: ("In.go", (("port", n[0]), ("tag", n[1])))),
)
ENTRIES = st.dictionaries(
    st.tuples(st.integers(0, (1 << 48) - 1), st.integers(0, 1)).map(
        lambda n: ("In.t", (("wide", n[0]), ("bit", n[1])))
    ),
    ACTIONS,
    max_size=4,
)
DEFAULTS = st.dictionaries(st.just(("In.t", ())), ACTIONS)
GROUPS = st.dictionaries(
    st.integers(1, 3).map(group_key),
    st.lists(st.integers(1, 511), min_size=1, max_size=4).map(
        lambda ports: (REPLICATE, tuple((f"replica {i}", port) for i, port in enumerate(ports, 1)))
    ),
)
CELLS = st.dictionaries(
    st.integers(0, 63).map(lambda index: ("In.m", (("index", index),))),
    st.tuples(st.integers(1, 1 << 40), st.integers(1, 1 << 30)).map(
        lambda rate: (RATE, (("bytes_per_s", rate[0]), ("burst", rate[1])))
    ),
    max_size=3,
)
STATES = st.tuples(ENTRIES, DEFAULTS, GROUPS, CELLS).map(lambda parts: parts[0] | parts[1] | parts[2] | parts[3])


def sent(key, value):
    """The entity of a key and value, by the factory."""
    table, keys = key
    if table == "In.t":
        action, params = value if value is not None else (None, ())
        make = MAKE.table_entry if keys else lambda name, _, *rest: MAKE.default_entry(name, *rest)
        return make(table, dict(keys), action, dict(params))
    if table == "In.m":
        entry = v1.MeterEntry(meter_id=335544321, index=v1.Index(index=keys[0][1]))
        if value is not None:
            rate = dict(value[1])
            config = v1.MeterConfig(cir=rate["bytes_per_s"], cburst=rate["burst"])
            config.pir, config.pburst = config.cir, config.cburst
            entry.config.CopyFrom(config)
        return v1.Entity(meter_entry=entry)
    ports = () if value is None else value[1]
    return MAKE.multicast_group(keys[0][1], [(port, i) for i, (_, port) in enumerate(ports, 1)])


@given(STATES)
def test_entities_are_the_factorys_and_read_back(state: State) -> None:
    updates = CODEC.updates(state, {})
    assert [update.entity for update in updates] == [sent(key, value) for key, value in state.items()]
    assert CODEC.state([update.entity for update in updates]) == state


@given(STATES, STATES)
def test_updates_lead_from_one_state_to_the_other(before: State, after: State) -> None:
    updates = CODEC.updates(after, before)
    changed = [key for key in before | after if before.get(key) != after.get(key)]
    assert [update.entity for update in updates] == [sent(key, after.get(key)) for key in changed]
    types = [
        MODIFY
        if not key[1] or key[0] == "In.m" or (key in before and key in after)
        else INSERT
        if key in after
        else DELETE
        for key in changed
    ]
    assert [update.type for update in updates] == types


def test_filters_read_entries_defaults_and_groups() -> None:
    every = CODEC.filters(["In.t"], ["In.t"], groups=True)
    assert every == [MAKE.table_entry("t", {}), MAKE.default_entry("t"), MAKE.multicast_group(0, ())]
    assert CODEC.cells([("In.m", (("index", 5),))]) == [sent(("In.m", (("index", 5),)), None)]


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        (("In.t", (("wide", 1 << 48), ("bit", 0))), ("In.stay", ()), r"In\.t: wide: 281474976710656 is outside 0\.\."),
        (("In.t", ()), ("In.go", (("port", 512), ("tag", 0))), r"In\.go: port: 512 is outside 0\.\.511"),
        (("In.tt", ()), ("In.stay", ()), r"no table 'In\.tt' in the pipeline; did you mean 'In\.t'"),
        (("In.t", ()), ("In.sta", ()), r"no action 'In\.sta' in the pipeline; did you mean 'In\.stay'"),
    ],
)
def test_what_the_pipeline_cannot_hold(key, value, line) -> None:
    with pytest.raises(OfframpError, match=line):
        CODEC.updates({key: value}, {})
