# SPDX-License-Identifier: Apache-2.0
"""TNA in machine code: what is particular to it. Everything else runs on both engines in tests/p4/tna."""

from __future__ import annotations

import random

import numpy as np
import pytest

from offramp_base.errors import OfframpError
from offramp_base.wire.batch import PacketBatch
from offramp_p4 import make_switch
from offramp_p4.frontend import load_text
from offramp_p4.native import NativeSwitch
from offramp_p4.native.tna.objects import hash_table
from offramp_p4.state import ActionData, Exact, TableEntry
from offramp_p4.tna import hashing
from tna_programs import packet, tna
from twins import Twins

pytestmark = pytest.mark.p4

FORWARD = "tm.ucast_egress_port = 1; tm.bypass_egress = 1;"


@pytest.mark.full
def test_a_batch_with_a_port_that_is_not_there_changes_nothing() -> None:
    switch = NativeSwitch(load_text(tna(FORWARD)))
    data = np.zeros((3, 8), np.uint8)
    with pytest.raises(OfframpError, match=r"port 200: this Tofino has ports 0 to 127 \(128 per pipe\)"):
        switch.process(PacketBatch(np.array([0, 200, 1]), np.full(3, 8), data))
    assert switch.stats.packets_in == 0


def test_what_only_python_executes_goes_there_with_the_reason() -> None:
    body = "hdr.h.w = (bit<32>)(h.get({hdr.h.w})[31:0]);"
    program = load_text(tna(FORWARD + body, local="Hash<bit<80>>(HashAlgorithm_t.CRC32) h;"), "x.p4")
    switch = make_switch(program)
    assert switch.engine == "python"
    with pytest.raises(OfframpError, match=r"x\.p4:.*Hash pipe\.I\.h with results of more than 64 bits") as caught:
        make_switch(program, "native")
    assert switch.engine_reason in str(caught.value).replace("error: ", "")


HASHES = {
    "identity": hashing.identity(13),
    "xor": hashing.xor(16, 41, 16),
    "random": hashing.random_matrix(41, 64, random.Random(3)),
    **{name: hashing.crc(crc, 41, min(crc.width, 64)) for name, crc in hashing.CRCS.items()},
    "repeated": hashing.crc(hashing.CRCS["CRC16"], 41, 40),
    "high bits": hashing.crc(hashing.CRCS["CRC32"], 41, 9, msb=True),
}


@pytest.mark.parametrize("name", HASHES)
def test_the_table_of_a_hash_is_the_hash(name: str) -> None:
    function, table, rng = HASHES[name], [int(w) % 2**64 for w in hash_table(HASHES[name], 41)], random.Random(1)
    for number in (0, 1, 2**41 - 1, *(rng.randrange(2**41) for _ in range(200))):
        value = table[0]
        for half in range(12):
            value ^= table[1 + 16 * half + (number >> 44 - 4 * half & 15)]
        assert value == function(number)


DIRECT = """
    DirectRegister<bit<16>>(7) r;
    DirectRegisterAction<bit<16>, bit<16>>(r) step = {
        void apply(inout bit<16> value, out bit<16> rv) { rv = value; value = value + 1; }
    };
    action take() { hdr.h.c = step.execute(); }
    table t { key = { hdr.h.a : exact; } actions = { take; NoAction; } default_action = NoAction; registers = r; }
"""


@pytest.mark.full
def test_direct_registers_go_with_their_entries() -> None:
    """Entries come and go while packets run: a new one begins with the initial value, wherever it is kept."""
    twins = Twins(load_text(tna(FORWARD + "t.apply();", local=DIRECT)))
    rng = random.Random(2)
    for _ in range(60):
        key = (Exact(rng.randrange(40)),)
        kept = {e.keys for e in twins.engine.tables["pipe.I.t"].entries}
        if key in kept:
            twins.each(lambda s, key=key: s.tables["pipe.I.t"].delete(key))  # type: ignore[misc]
        else:
            entry = ActionData("I.take")
            twins.each(lambda s, key=key, entry=entry: s.tables["pipe.I.t"].insert(TableEntry(key, entry)))  # type: ignore[misc]
        twins.send([(0, packet(a=rng.randrange(40))) for _ in range(5)])
        mine, yours = ([e.register for e in s.tables["pipe.I.t"].entries] for s in twins.engines)
        assert yours == mine
