# SPDX-License-Identifier: Apache-2.0
"""The budget of steps: programs that would never end, on both engines, with and without a traffic manager.

Oracle: the counts of the switch, and the packet after the one that used up its steps. Blind to how long a step takes.
"""

from __future__ import annotations

import pytest

from offramp_base.errors import OfframpError
from offramp_base.wire.batch import PacketBatch
from offramp_p4.frontend import load_text
from offramp_p4.limits import check_limits
from offramp_p4.paced import PacedSwitch
from offramp_p4.state import CloneSession, Replica
from offramp_p4.switch import Switch
from offramp_p4.tm import TmConfig
from p4_programs import program
from tna_programs import tna

ENDLESS, PLAIN = bytes([9, 0, 0, 0]), bytes([1, 0, 0, 0])
FOREVER = "for (bit<8> i = 0; i < 10; i = i + 0) { hdr.h.b = hdr.h.b + 1; }"


def at_9(body):
    """``body`` for the packets that begin with a 9; all go to port 3."""
    return program(f"sm.egress_spec = 3; if (hdr.h.a == 9) {{ {body} }}")


LOOPS = {
    "for": at_9(FOREVER),
    "for with continue": at_9("for (bit<8> i = 0; i < 10; i = i + 0) { if (hdr.h.a == 9) { continue; } hdr.h.b = 1; }"),
    "a long range": at_9("for (bit<32> i in 0..32w0xffffffff) { hdr.h.b = hdr.h.b + 1; }"),
    "nested ranges": at_9("for (bit<16> i in 0..16w65535) { for (bit<16> j in 0..16w65535) { hdr.h.b = 1; } }"),
    "short ranges, nested": at_9(
        "for (bit<8> a in 0..8w200) { for (bit<8> b in 0..8w200) { for (bit<8> c in 0..8w200) { hdr.h.b = 1; } } }"
    ),
    "in a function": program(
        "sm.egress_spec = 3; hdr.h.b = f(hdr.h.a);",
        top="bit<8> f(in bit<8> a) { bit<8> r = 0; if (a == 9) {"
        " for (bit<8> i = 0; i < 10; i = i + 0) { r = r + 1; } } return r; }",
    ),
    "in an action": program(
        "sm.egress_spec = 3; if (hdr.h.a == 9) { turn(); }", local=f"action turn() {{ {FOREVER} }}"
    ),
    "in a control": program(
        "sm.egress_spec = 3; c.apply(hdr);",
        top=f"control c_t(inout headers hdr) {{ apply {{ if (hdr.h.a == 9) {{ {FOREVER} }} }} }}",
        local="c_t() c;",
    ),
    "in the deparser's place": program("sm.egress_spec = 3;").replace(
        "control CC(inout headers hdr, inout meta_t meta) { apply { } }",
        f"control CC(inout headers hdr, inout meta_t meta) {{ apply {{ if (hdr.h.a == 9) {{ {FOREVER} }} }} }}",
    ),
    "in egress": program("sm.egress_spec = 3;").replace(
        "standard_metadata_t sm) { apply { } }",
        f"standard_metadata_t sm) {{ apply {{ if (hdr.h.a == 9) {{ {FOREVER} }} }} }}",
    ),
    "in the parser": program(
        "sm.egress_spec = 3;",
        pbody="transition select(hdr.h.a) { 9: turn; default: accept; }",
        states=f"state turn {{ {FOREVER} transition accept; }}",
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_without_end_ends(make_switch, name):
    switch = make_switch(LOOPS[name], max_steps=100_000)
    frames = PacketBatch.of([(0, PLAIN), (0, ENDLESS), (0, PLAIN)])
    out = switch.process(frames)
    assert list(out.frames()) == [PLAIN, PLAIN]
    stats = switch.stats
    assert (stats.packets_in, stats.packets_out, stats.exhausted) == (3, 2, 1)
    assert (stats.failed_checks, stats.dropped) == (0, 0)


@pytest.mark.parametrize("name", ["for", "in egress"])
def test_with_a_traffic_manager(engine, name):
    switch = PacedSwitch(load_text(LOOPS[name]), TmConfig(), engine, max_steps=100_000)
    assert not switch.process_one(0, ENDLESS)
    switch.process_one(0, PLAIN)
    switch.now_us = 1_000_000
    switch.process(PacketBatch.empty())
    assert (switch.stats.exhausted, switch.stats.packets_out) == (1, 1)


def test_loops_that_end_are_free_to(make_switch):
    body = "for (bit<32> i in 0..32w999) { hdr.h.c = hdr.h.c + 1; } for (bit<8> j in 0..8w9) { hdr.h.b = hdr.h.b + 1; }"
    switch = make_switch(at_9(body), max_steps=4_000)
    assert switch.process_one(0, ENDLESS) == [(3, b"\x09\x0a\x03\xe8")]


def test_the_budget_is_exact_and_alike(make_switch):
    """A round takes a step for itself, its statement, the block around it and its update; the pass takes 64."""
    text = at_9("for (bit<32> i = 0; i < 1000; i = i + 1) { hdr.h.b = hdr.h.b + 1; }")
    exact = 64 + 1000 * 4
    assert make_switch(text, max_steps=exact).process_one(0, ENDLESS)
    assert not make_switch(text, max_steps=exact - 1).process_one(0, ENDLESS)


@pytest.mark.parametrize("states", [2, 30])
def test_parser_loops_count(make_switch, states):
    """Each pass is below the limit of states of one parser, all passes together are not."""
    text = program(
        "sm.egress_spec = 3; meta.w = meta.w + 1; if (hdr.h.a == 9) { resubmit_preserving_field_list(1); }",
        pbody="transition select(hdr.h.a) { 9: s0; default: accept; }",
        states="".join(f"state s{n} {{ transition s{n + 1}; }}" for n in range(states))
        + f"state s{states} {{ pkt.extract(hdr.s.next); transition select(hdr.s.last.a) {{ 0: accept; _: s0; }} }}",
    )
    switch = make_switch(text, max_steps=5_000)
    assert not switch.process_one(0, bytes([9, 0, 0, 0]) + bytes([1, 1, 1, 1, 0, 0, 0, 0]))
    assert switch.stats.exhausted == 1
    assert switch.stats.passes < 100


CLONING = (
    program("sm.egress_spec = 3;")
    .replace(
        "standard_metadata_t sm) { apply { } }",
        "standard_metadata_t sm) { apply { clone_preserving_field_list(CloneType.E2E, 5, 0); } }",
    )
)  # fmt: skip


def test_clones_of_clones_end(make_switch):
    """Two clones of each clone: a tree of 2^47 copies."""
    switch = make_switch(CLONING, max_steps=200_000)
    switch.pre.clones[5] = CloneSession((Replica(4, 0), Replica(5, 0)))
    out = switch.process_one(0, PLAIN)
    assert switch.stats.exhausted == 1
    assert len(out) <= 200_000 // 64
    switch.pre.clones.clear()
    assert switch.process_one(0, PLAIN) == [(3, PLAIN)]


def test_a_chain_of_clones_ends(make_switch):
    switch = make_switch(CLONING)
    switch.pre.clones[5] = CloneSession((Replica(4, 0),))
    assert switch.process_one(0, PLAIN)
    assert (switch.stats.looped, switch.stats.exhausted) == (1, 0)
    assert 40 <= switch.stats.clones <= 60


def test_recirculated_clones_end(make_switch):
    text = program("sm.egress_spec = 3; sm.mcast_grp = 1;").replace(
        "standard_metadata_t sm) { apply { } }",
        "standard_metadata_t sm) { apply { recirculate_preserving_field_list(0); } }",
    )
    switch = make_switch(text, max_steps=500_000, max_passes=1_000_000_000)
    switch.pre.multicast[1] = (Replica(1, 0), Replica(2, 0), Replica(3, 0))
    assert not switch.process_one(0, PLAIN)
    assert switch.stats.exhausted == 1


def test_functions_that_double_are_refused(make_switch):
    top = "bit<8> f0(in bit<8> a) { return a + 1; }" + "".join(
        f"bit<8> f{n}(in bit<8> a) {{ return f{n - 1}(a) + f{n - 1}(a); }}" for n in range(1, 40)
    )
    with pytest.raises(OfframpError, match=r"I: a packet may run \d+ statements; at most 1048576 are allowed"):
        make_switch(program("hdr.h.a = f39(1);", top=top))


def test_failed_checks_of_parser_and_deparser_drop_the_packet(make_switch):
    """The Python engine let the exception of such a check out, and the data plane with it."""
    parser = program("sm.egress_spec = 3;", pbody="assert(hdr.h.a != 9); transition accept;")
    switch = make_switch(parser)
    assert not switch.process_one(0, ENDLESS)
    assert switch.process_one(0, PLAIN) == [(3, PLAIN)]
    assert (switch.stats.failed_checks, switch.stats.dropped) == (1, 1)


@pytest.mark.full
def test_log_messages_without_end_take_no_memory(make_switch):
    switch = make_switch(at_9('for (bit<8> i = 0; i < 10; i = i + 0) { log_msg("x"); }'), max_steps=1 << 20)
    assert not switch.process_one(0, ENDLESS)
    assert switch.stats.exhausted == 1


def test_a_tofino_program_ends_too():
    text = tna("for (bit<8> i = 0; i < 10; i = i + 0) { hdr.h.a = hdr.h.a + 1; }")
    switch = Switch(load_text(text, "prog.p4"), max_steps=100_000)
    assert not switch.process_one(0, bytes(64))
    assert switch.stats.exhausted == 1


@pytest.mark.parametrize("steps", [0, -1])
def test_a_budget_is_a_count(make_switch, steps):
    with pytest.raises(OfframpError, match="a packet needs at least 1 step"):
        make_switch(program(""), max_steps=steps)


@pytest.mark.parametrize("size", [4294967295, 200_000_000])
def test_arrays_beyond_the_memory_for_them_are_refused(make_switch, size):
    with pytest.raises(OfframpError, match=r"register I.r: the arrays of the program take \d+ bytes; at most"):
        make_switch(program("r.write(0, 1);", local=f"register<bit<64>>({size}) r;"))


def test_one_pass_is_enough_and_none_is_not(make_switch):
    for passes in (0, -1):
        with pytest.raises(OfframpError, match="a packet needs at least 1 pass"):
            make_switch(program(""), max_passes=passes)
    assert make_switch(program("sm.egress_spec = 1;"), max_passes=1).process_one(0, bytes(8))


@pytest.mark.parametrize(
    ("array", "size"),
    [
        ("register<bit<8>>(1000) r;", 8 * 1000),  # a cell is at least a word
        ("register<bit<72>>(1000) r;", 9 * 1000),
        ("register<bit<72>>(0) none; register<bit<65>>(1000) r;", 9 * 1000),
    ],
)
def test_arrays_may_take_all_that_is_allowed_and_no_byte_more(array, size):
    program_ = load_text(program("", local=array))
    check_limits(program_, max_passes=1, max_steps=1000, max_state=size)
    with pytest.raises(
        OfframpError, match=rf"I\.r: the arrays of the program take {size} bytes; at most {size - 1} are"
    ):
        check_limits(program_, max_passes=1, max_steps=1000, max_state=size - 1)
