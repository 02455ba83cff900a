# SPDX-License-Identifier: Apache-2.0
"""Mirror, resubmit and digest."""

from __future__ import annotations

import pytest

from offramp_p4 import PlainSwitch
from offramp_p4.frontend import load_text
from offramp_p4.source import Unsupported
from offramp_p4.state import CloneSession, Replica
from offramp_p4.switch import Digest
from tna_programs import make, packet, tna

pytestmark = pytest.mark.p4

MIRRORED = "state copied { pkt.extract(hdr.mirror); pkt.extract(hdr.h); transition accept; }"
EITHER = (
    "transition select(pkt.lookahead<bit<8>>()) { 0xAA: copied; default: usual; } }"
    " state usual { pkt.extract(hdr.h); transition accept;"
)


def switch(body: str = "", **parts: str) -> PlainSwitch:
    return make(load_text(tna(body, **parts), "prog.p4"))


def mirroring(condition: str = "", constructor: str = "Mirror(2) mirror;", **parts: str) -> PlainSwitch:
    s = switch(
        "tm.ucast_egress_port = 1; dprsr.mirror_type = hdr.h.b[2:0]; md.session = 7; hdr.h.c = 0xCCCC;" + condition,
        idlocal=constructor,
        idbody=parts.pop("idbody", "mirror.emit<mirror_h>(md.session, {0xAA, hdr.h.c});"),
        epbody=EITHER,
        epstates=MIRRORED,
        **parts,
    )
    s.pre.clones[7] = CloneSession((Replica(4, 9), Replica(5, 9)), class_of_service=6)
    return s


def test_an_ingress_mirror_copies_the_packet_as_it_came_in() -> None:
    s = mirroring(ebody="if (hdr.mirror.isValid()) { hdr.h.a = (bit<8>) eg.egress_rid + (bit<8>) eg.egress_cos; }")
    copy = b"\xaa\xcc\xcc" + packet(a=15, b=2)
    assert s.process_one(0, packet(b=2)) == [(1, packet(b=2, c=0xCCCC)), (4, copy), (5, copy)]
    assert s.stats.clones == 2


def test_a_mirror_is_made_only_for_its_type() -> None:
    assert len(mirroring().process_one(0, packet(b=1))) == 1


def test_a_mirror_without_a_type_is_made_where_the_program_says_so() -> None:
    s = mirroring(
        constructor="Mirror() mirror;",
        idbody="if (dprsr.mirror_type == 3) { mirror.emit<mirror_h>(md.session, {0xAA, 0}); }",
    )
    assert len(s.process_one(0, packet(b=3))) == 3
    assert len(s.process_one(0, packet(b=2))) == 1


def test_a_mirror_without_a_header() -> None:
    s = mirroring(idbody="mirror.emit(md.session);")
    assert s.process_one(0, packet(b=2))[1:] == [(4, packet(b=2)), (5, packet(b=2))]


def test_a_dropped_packet_is_mirrored_unless_bit_2_forbids_it() -> None:
    assert len(mirroring("dprsr.drop_ctl = 1;").process_one(0, packet(b=2))) == 2
    assert mirroring("dprsr.drop_ctl = 5;").process_one(0, packet(b=2)) == []


def test_unknown_sessions_and_lengths() -> None:
    s = mirroring()
    s.pre.clones[7] = CloneSession((Replica(4, 0),), packet_length=12)
    long = packet(b=2, rest=bytes(range(20)))
    assert s.process_one(0, long)[1] == (4, (b"\xaa\xcc\xcc" + long)[:12])
    assert s.stats.truncated == 1
    s.pre.clones.clear()
    assert len(s.process_one(0, long)) == 1


@pytest.mark.full
def test_an_egress_mirror_copies_what_egress_has_made() -> None:
    s = switch(
        "tm.ucast_egress_port = 1;",
        epbody=EITHER,
        epstates=MIRRORED,
        ebody="hdr.h.c = 0xEEEE; if (!hdr.mirror.isValid()) { dprsr.mirror_type = 1; }",
        edlocal="Mirror(1) mirror;",
        edbody="mirror.emit<mirror_h>(3, {0xAA, 0x1234});",
    )
    s.pre.clones[3] = CloneSession((Replica(2, 0),))
    out = packet(c=0xEEEE, rest=b"x")
    assert s.process_one(0, packet(rest=b"x")) == [(1, out), (2, b"\xaa\x12\x34" + out)]


RESUBMIT = {
    "idlocal": "Resubmit(1) resubmit;",
    "idbody": "resubmit.emit<resubmit_h>({hdr.h.a + 1, 0});",
}


def test_a_resubmitted_packet_comes_in_again_as_it_was_with_its_data() -> None:
    s = switch(
        "hdr.h.c = 0xCCCC; hdr.h.b = md.again.tag; tm.ucast_egress_port = ig.ingress_port;"
        "if (ig.resubmit_flag == 0) { dprsr.resubmit_type = 1; }",
        **RESUBMIT,
    )
    assert s.process_one(6, packet(a=4)) == [(6, packet(a=4, b=5, c=0xCCCC))]
    assert (s.stats.resubmissions, s.stats.passes) == (1, 2)


def test_bits_that_fill_no_byte_are_resubmitted_in_front_of_zeros() -> None:
    s = switch(
        "hdr.h.b = md.again.tag; tm.ucast_egress_port = 1; if (ig.resubmit_flag == 0) { dprsr.resubmit_type = 1; }",
        top="header three_h { bit<3> n; }",
        idlocal="Resubmit(1) resubmit;",
        idbody="resubmit.emit<three_h>({hdr.h.a[2:0]});",
    )
    assert s.process_one(6, packet(a=5)) == [(1, packet(a=5, b=0xA0))]


def test_a_packet_is_resubmitted_once() -> None:
    s = switch("dprsr.resubmit_type = 1; tm.ucast_egress_port = 1;", **RESUBMIT)
    assert s.process_one(0, packet()) == []
    assert (s.stats.passes, s.stats.looped) == (2, 1)


def test_drop_ctl_stops_a_resubmission() -> None:
    s = switch("dprsr.resubmit_type = 1; dprsr.drop_ctl = 1;", **RESUBMIT)
    assert s.process_one(0, packet()) == []
    assert s.stats.passes == 1


def test_resubmission_is_for_ingress() -> None:
    with pytest.raises(Unsupported, match="Resubmit in an egress deparser"):
        switch(edlocal="Resubmit(1) r;", edbody="r.emit();")


def test_headers_of_mirrors_are_whole_bytes() -> None:
    with pytest.raises(Unsupported, match=r"Mirror\.emit of 9 bits: whole bytes, at most 32, are possible"):
        switch(top="struct odd_t { bit<9> x; }", idlocal="Mirror(1) m;", idbody="m.emit<odd_t>(1, {0});")
    with pytest.raises(Unsupported, match=r"Resubmit\.emit of 72 bits: whole bytes, at most 8, are possible"):
        switch(top="header big_h { bit<72> x; }", idlocal="Resubmit(1) r;", idbody="r.emit<big_h>({0});")


def test_digests_are_sent_for_their_type() -> None:
    s = switch(
        "dprsr.digest_type = hdr.h.b[2:0];",
        top="struct seen_t { bit<8> a; bit<16> c; }",
        idlocal="Digest<seen_t>(5) learn;",
        idbody="learn.pack({hdr.h.a, hdr.h.c});",
    )
    s.process_one(0, packet(b=5))  # nobody listens
    got: list[Digest] = []
    s.on_digest = got.append
    s.process_one(0, packet(a=1, b=5, c=2))
    s.process_one(0, packet(a=1, b=4, c=2))
    assert got == [Digest("pipe.ID.learn", (1, 2))]
