# SPDX-License-Identifier: Apache-2.0
"""Hashes that are the same whichever of two fields is which."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from offramp_p4 import PlainSwitch
from offramp_p4.frontend import load_text
from offramp_p4.source import P4Error, Unsupported
from offramp_p4.tna import hashing
from tna_programs import make, packet, tna

pytestmark = pytest.mark.p4

FIELDS = "{ hdr.h.a, hdr.h.b, hdr.h.c, hdr.inner.c, 8w3 }"
BODY = "tm.ucast_egress_port = 1; tm.bypass_egress = 1; hdr.h.w = h.get(%s);"
PARSE = {"ipbody": "transition next;", "ipstates": "state next { pkt.extract(hdr.inner); transition accept; }"}


def switch(annotations: str, fields: str = FIELDS, algorithm: str = "CRC32") -> PlainSwitch:
    local = f"{annotations} Hash<bit<32>>(HashAlgorithm_t.{algorithm}) h;"
    return make(load_text(tna(BODY % fields, local=local, **PARSE), "prog.p4"))


def hashed(s: PlainSwitch, a: int, b: int, c: int, d: int) -> int:
    ((_, out),) = s.process_one(0, packet(a, b, c) + packet(0, 0, d))
    return int.from_bytes(out[4:8], "big")


PAIRS = '@symmetric("hdr.h.a", "hdr.h.b") @symmetric("hdr.inner.c", "hdr.h.c")'


def test_each_pair_by_itself_can_be_the_other_way_round() -> None:
    s, rng = switch(PAIRS), Random(1)
    crc32, seen = hashing.crc(hashing.CRCS["CRC32"], 56, 32), set()
    for _ in range(20):
        a, b, c, d = (rng.getrandbits(n) for n in (8, 8, 16, 16))
        values = {hashed(s, *one, *other) for one, other in product(((a, b), (b, a)), ((c, d), (d, c)))}
        assert values == {crc32((a ^ b) << 40 | (c ^ d) << 8 | 3)}
        seen |= values
    assert len(seen) == 20


def test_without_it_they_differ() -> None:
    s = switch("")
    assert hashed(s, 1, 2, 3, 4) != hashed(s, 2, 1, 3, 4)


def test_fields_of_a_header_that_is_hashed_whole() -> None:
    s = switch('@symmetric("hdr.h.a", "hdr.h.b")', "{ hdr.h, hdr.inner.c }")
    assert hashed(s, 1, 2, 3, 4) == hashed(s, 2, 1, 3, 4) != hashed(s, 2, 1, 4, 3)


def test_a_selector() -> None:
    local = """
        ActionProfile(16) profile;
        Hash<bit<32>>(HashAlgorithm_t.CRC32) h;
        @symmetric("hdr.h.b", "hdr.h.a") ActionSelector(profile, h, SelectorMode_t.FAIR, 8, 4) selector;
        action set(bit<32> x) { hdr.h.w = x; }
        table t { key = { hdr.h.c: exact; hdr.h.a: selector; hdr.h.b: selector; }
                  actions = { set; } implementation = selector; }
    """
    from offramp_p4.state import ActionData, Exact, GroupAction, TableEntry

    s = make(load_text(tna("tm.ucast_egress_port = 1; tm.bypass_egress = 1; t.apply();", local=local, **PARSE)))
    for i in range(8):
        s.profiles["pipe.I.profile"].insert_member(i, ActionData("I.set", (i,)))
    s.profiles["pipe.I.selector"].insert_group(1, range(8))
    s.tables["pipe.I.t"].insert(TableEntry((Exact(0),), GroupAction(1)))
    picked = [(hashed(s, a, b, 0, 0), hashed(s, b, a, 0, 0)) for a, b in product(range(9), range(100, 109))]
    assert all(one == other for one, other in picked)
    assert len(set(picked)) == 8


@pytest.mark.parametrize(
    ("annotations", "algorithm", "what"),
    [
        ('@symmetric("hdr.h.a", "hdr.h.c")', "CRC32", "hdr.h.a has 8 bits, hdr.h.c has 16"),
        ('@symmetric("hdr.h.a", "hdr.inner.b")', "CRC32", "hdr.inner.b is not one of the fields that are hashed"),
        ('@symmetric("hdr.h.a", "hdr.h.a")', "CRC32", "in more than one pair, or twice in one"),
        ('@symmetric("hdr.h.a")', "CRC32", "needs the names of two fields"),
        ('@symmetric("hdr.h.a", "hdr.h.b")', "XOR16", "which is not a CRC"),
    ],
)
def test_refused(annotations: str, algorithm: str, what: str) -> None:
    with pytest.raises((P4Error, Unsupported), match=what):
        switch(annotations, algorithm=algorithm)
