# SPDX-License-Identifier: Apache-2.0
"""P4Info of a TNA program against p4c's (``p4c-barefoot --p4runtime-force-std-externs``), ids included.

p4c leaves the name of the pipe out of names in that mode, although ids come from names with it; ours keep it, as
p4c's other mode and BF Runtime do.
"""

from __future__ import annotations

from typing import Any

import pytest

from offramp_base.p4rt.schema import v1
from offramp_p4.frontend import load_text
from offramp_p4.runtime import p4info
from offramp_p4.runtime.pipeline import Pipeline
from offramp_p4.switch import Switch
from tna_programs import tna

pytestmark = pytest.mark.p4

PROGRAM = tna(
    "t.apply(); d.apply(); cnt.count(hdr.h.a); hdr.h.b = mt.execute(hdr.h.a); hdr.h.w = inc.execute(hdr.h.c);"
    "dprsr.digest_type = 1;",
    top="struct seen_t { bit<8> a; bit<16> c; }",
    local="""
    Counter<bit<32>, bit<8>>(256, CounterType_t.PACKETS_AND_BYTES) cnt;
    Meter<bit<8>>(256, MeterType_t.BYTES) mt;
    Register<bit<32>, bit<16>>(1024) reg;
    RegisterAction<bit<32>, bit<16>, bit<32>>(reg) inc = {
        void apply(inout bit<32> value, out bit<32> rv) { rv = value; value = value + 1; }
    };
    action fwd(PortId_t port) { tm.ucast_egress_port = port; }
    DirectCounter<bit<64>>(CounterType_t.PACKETS) dc;
    action fwd2(PortId_t port) { tm.ucast_egress_port = port; dc.count(); }
    ActionProfile(64) prof; Hash<bit<16>>(HashAlgorithm_t.CRC16) h;
    ActionSelector(prof, h, SelectorMode_t.FAIR, 8, 4) sel;
    table t {
        key = { hdr.h.c: ternary; hdr.h.w: selector; }
        actions = { fwd; NoAction; }
        implementation = sel;
        size = 512;
        default_action = NoAction;
    }
    table d {
        key = { hdr.h.w: exact; }
        actions = { fwd2; NoAction; }
        counters = dc;
        size = 256;
        const default_action = NoAction;
    }
    """,
    idlocal="Digest<seen_t>(1) learn;",
    idbody="if (dprsr.digest_type == 1) { learn.pack({hdr.h.a, hdr.h.c}); }",
)
# (kind, name, id), from p4c.
OBJECTS = [
    ("tables", "pipe.I.t", 48480649),
    ("tables", "pipe.I.d", 37122729),
    ("actions", "NoAction", 21257015),
    ("actions", "I.fwd", 31384409),
    ("actions", "I.fwd2", 24413092),
    ("action_profiles", "pipe.I.prof", 293624022),
    ("counters", "pipe.I.cnt", 312935896),
    ("direct_counters", "pipe.I.dc", 321655890),
    ("meters", "pipe.I.mt", 343145655),
    ("registers", "pipe.I.reg", 374998162),
    ("digests", "pipe.ID.learn", 386561988),
]


@pytest.fixture(scope="module")
def info() -> Any:
    return p4info.generate(load_text(PROGRAM))


@pytest.mark.parametrize(("kind", "name", "number"), OBJECTS)
def test_names_and_ids_are_p4c_s(info: Any, kind: str, name: str, number: int) -> None:
    assert (name, number) in {(o.preamble.name, o.preamble.id) for o in getattr(info, kind)}


def test_what_belongs_to_what(info: Any) -> None:
    assert info.pkg_info.arch == "tna"
    tables = {t.preamble.name: t for t in info.tables}
    assert tables["pipe.I.t"].implementation_id == 293624022
    assert list(tables["pipe.I.d"].direct_resource_ids) == [321655890]
    (profile,) = info.action_profiles
    assert (profile.with_selector, profile.size, profile.max_group_size) == (True, 64, 8)
    assert list(profile.table_ids) == [48480649]
    (counter,), (meter,), (digest,) = info.counters, info.meters, info.digests
    assert (counter.size, counter.spec.unit) == (256, counter.spec.BOTH)
    assert (meter.size, meter.spec.unit) == (256, meter.spec.BYTES)
    assert digest.type_spec.struct.name == "seen_t"


def test_a_controller_may_bring_p4c_s_p4info_without_the_name_of_the_pipe(info: Any) -> None:
    given = v1.ForwardingPipelineConfig()
    given.p4_device_config = PROGRAM.encode()
    given.p4info.CopyFrom(info)
    for table in given.p4info.tables:
        table.preamble.name = table.preamble.name.removeprefix("pipe.")
    assert Pipeline(load_text(PROGRAM), Switch, given).switch.tables.keys() == {"pipe.I.t", "pipe.I.d"}


def test_pairs_of_words_are_structs() -> None:
    source = tna(
        "hdr.h.w = swap.execute(hdr.h.a);",
        top="struct pair_t { bit<32> first; int<32> second; }",
        local="""Register<pair_t, bit<8>>(4) reg;
        RegisterAction<pair_t, bit<8>, bit<32>>(reg) swap = {
            void apply(inout pair_t value, out bit<32> rv) { rv = value.first; value.first = hdr.h.w; }
        };""",
    )
    pipeline = Pipeline(load_text(source), Switch)
    (register,) = pipeline.info.registers
    handler = pipeline.handler("register_entry")
    wanted = v1.RegisterEntry(register_id=register.preamble.id, index=v1.Index(index=2))
    wanted.data.struct.members.add(bitstring=b"\x09")
    wanted.data.struct.members.add(bitstring=b"\xfe")  # -2
    handler.write(2, wanted)
    assert pipeline.switch.registers["pipe.I.reg"].read(2) == 9 << 32 | 0xFFFFFFFE
    wanted.ClearField("data")
    (entity,) = handler.read(wanted)
    assert [m.bitstring for m in entity.register_entry.data.struct.members] == [b"\x09", b"\xfe"]
