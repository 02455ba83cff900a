# SPDX-License-Identifier: Apache-2.0
"""Low-pass filters and random early detection against their closed forms.

Blind spot: what the chip's own arithmetic rounds away is not public.
"""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp_p4 import PlainSwitch, make_switch
from offramp_p4.frontend import load_text
from offramp_p4.source import Unsupported
from offramp_p4.state import ActionData, Exact, StateError, TableEntry
from offramp_p4.tna.filter_state import FilterState, configure, decay_of, filtered, left_after, new_cell
from tna_programs import make, packet, tna

pytestmark = pytest.mark.p4

FORWARD = "tm.ucast_egress_port = 1; tm.bypass_egress = 1;"
LPF = "hdr.h.w = l.execute(hdr.h.w, hdr.h.a);"
WRED = "hdr.h.b = r.execute(hdr.h.w, hdr.h.a);"


def switch(body: str, local: str, seed: int = 0) -> PlainSwitch:
    return make(load_text(tna(FORWARD + body, local=local), "prog.p4"), seed=seed)


def low_pass(**settings: int | bool) -> PlainSwitch:
    s = switch(LPF, "Lpf<bit<32>, bit<8>>(4) l;")
    s.filters["pipe.I.l"].configure(2, **settings)
    return s


def level(s: PlainSwitch, now_us: int, value: int, index: int = 2) -> int:
    s.now_us = now_us
    ((_, frame),) = s.process_one(0, packet(a=index, w=value))
    return int.from_bytes(frame[4:8], "big")


def test_a_filter_without_a_time_constant_passes_what_it_gets() -> None:
    s = low_pass(rise_ns=0)
    assert [level(s, t, v) for t, v in ((0, 7), (0, 1 << 31), (5, 3))] == [7, 1 << 31, 3]
    assert level(s, 6, 9, index=1) == 9
    assert level(s, 6, 9, index=4) == 0  # there are four


def test_a_step_is_followed_with_the_time_constant() -> None:
    s = low_pass(rise_ns=10**6)
    assert level(s, 0, 0) == 0
    for t in (1_000, 2_000, 5_000):  # one, two and five time constants later
        assert abs(level(s, t, 10**6) - 10**6 * (1 - math.exp(-t / 1_000))) < 2


def test_rising_and_falling_have_their_own_constants() -> None:
    s = low_pass(rise_ns=10**9, fall_ns=10**6)
    risen = level(s, 10_000, 10**6)
    assert abs(risen - 10**6 * (1 - math.exp(-0.01))) < 2
    assert abs(level(s, 11_000, 0) - risen / math.e) < 2


def test_rates_add_up_and_are_scaled() -> None:
    s = low_pass(rise_ns=10**9, rate=True, scale=3)
    assert [level(s, 0, 80) for _ in range(3)] == [10, 20, 30]
    assert abs(level(s, 10**6, 0) - 30 / math.e) < 1


@settings(derandomize=True, max_examples=200, deadline=None)
@given(constant_ns=st.integers(1, 10**12), time_us=st.integers(0, 10**8))
def test_decay_is_exponential(constant_ns: int, time_us: int) -> None:
    left = left_after(decay_of(constant_ns), time_us) / 2**64
    assert abs(left - math.exp(-1000 * time_us / constant_ns)) < 1e-6


def test_a_filter_stays_between_what_it_has_seen() -> None:
    state = FilterState("f", 1)
    state.configure(0, rise_ns=5_000, fall_ns=70_000)
    seen = [filtered(state.cells[0], v, t) for t, v in enumerate([100, 900, 300, 100, 500, 900] * 50)]
    assert min(seen[1:]) >= 95
    assert max(seen) <= 900


def test_early_detection_drops_between_its_thresholds_at_random() -> None:
    s = switch(WRED, "Wred<bit<32>, bit<8>>(2, 8w77, 8w11) r;", seed=4)

    def drops(average: int, count: int) -> int:
        frames = [s.process_one(0, packet(a=1, w=average))[0][1] for _ in range(count)]
        assert {f[1] for f in frames} <= {77, 11}
        return sum(f[1] == 77 for f in frames)

    assert drops(1 << 31, 5) == 0  # not set up
    s.filters["pipe.I.r"].configure(1, rise_ns=0, low=100, high=300, probability=0.5)
    assert (drops(99, 20), drops(100, 20), drops(300, 20)) == (0, 0, 20)
    assert 400 < drops(299, 1_000) < 600
    assert 180 < drops(200, 1_000) < 320
    s.reset()
    assert drops(300, 5) == 0


def test_what_is_refused() -> None:
    with pytest.raises(StateError, match=r"filter pipe\.I\.l: index 4 is outside 0\.\.3"):
        low_pass(rise_ns=1).filters["pipe.I.l"].configure(4, rise_ns=1)
    with pytest.raises(Unsupported, match="Lpf of bit<48>"):
        switch("bit<48> v = l.execute(48w1, hdr.h.a);", "Lpf<bit<48>, bit<8>>(4) l;")


DIRECT = """
    DirectLpf<bit<32>>() l; DirectWred<bit<32>>(8w77, 8w11) r;
    action smooth() { hdr.h.w = l.execute(hdr.h.w); }
    action early() { hdr.h.b = r.execute(hdr.h.w); }
    table t { key = { hdr.h.a: exact; } actions = { smooth; NoAction; } default_action = NoAction; filters = l; }
    table u { key = { hdr.h.a: exact; } actions = { early; NoAction; } default_action = NoAction; filters = r; }
"""


def test_every_entry_has_a_filter_of_its_own() -> None:
    program = load_text(tna(FORWARD + "u.apply(); t.apply();", local=DIRECT), "prog.p4")
    with pytest.raises(Unsupported, match=r"a filter for each entry of a table .* in machine code"):
        make_switch(program, "native")
    s = make_switch(program, "auto")
    for a in (1, 2):
        for table, action in (("pipe.I.t", "I.smooth"), ("pipe.I.u", "I.early")):
            entry = TableEntry((Exact(a),), ActionData(action))
            s.tables[table].insert(entry)
            entry.filter = new_cell()
            configure(entry.filter, rise_ns=10_000, low=100 * a, high=200 * a)
    s.process_one(0, packet(a=1, w=0))
    s.now_us = 10
    (_, smoothed), (_, other) = (s.process_one(0, packet(a=a, w=250))[0] for a in (1, 2))
    assert int.from_bytes(smoothed[4:], "big") == int(250 * (1 - math.exp(-1)))
    assert other[1] == 11  # below the lower threshold; the other is between both, or not, by chance
    assert s.process_one(0, packet(a=3, w=5))[0][1] == packet(a=3, w=5)
