# SPDX-License-Identifier: Apache-2.0
"""Batches of any size, frames of any length, buffers that fill up, loops that do not end."""

from __future__ import annotations

import gc
import random
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from offramp_base.errors import OfframpError
from offramp_base.wire.batch import PacketBatch
from offramp_p4.frontend import load_text
from offramp_p4.native import NativeSwitch
from offramp_p4.native.state import context
from offramp_p4.state import CloneSession, Replica
from p4_programs import program
from twins import Twins

pytestmark = pytest.mark.p4

REFLECT = program("hdr.h.c = hdr.h.c + 1; sm.egress_spec = sm.ingress_port;")
BUSY = program(
    """
    digest(1, hdr.h.c);
    if (meta.m < 20) { recirculate_preserving_field_list(1); }
    sm.mcast_grp = 1;
    """,
    top="",
).replace("struct meta_t { bit<8> m;", "struct meta_t { @field_list(1) bit<8> m;")
BUSY = BUSY.replace("if (meta.m < 20)", "meta.m = meta.m + 1; if (meta.m < 20)")


@pytest.fixture(scope="module")
def reflector() -> NativeSwitch:
    return NativeSwitch(load_text(REFLECT))


@pytest.mark.full
def test_no_packets(reflector: NativeSwitch) -> None:
    assert len(reflector.process(PacketBatch.empty())) == 0
    empty = PacketBatch(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros((0, 64), np.uint8))
    assert len(reflector.process(empty)) == 0


@pytest.mark.full
def test_a_huge_batch(reflector: NativeSwitch) -> None:
    rng = np.random.default_rng(1)
    count = 100_000
    data = rng.integers(0, 256, (count, 60), dtype=np.uint8)
    lengths = rng.integers(4, 61, count).astype(np.int32)
    data[np.arange(60) >= lengths[:, None]] = 0
    ports = rng.integers(0, 510, count).astype(np.int32)
    out = reflector.process(PacketBatch(ports, lengths, data.copy()))
    values = data[:, 2:4].copy().view(">u2")
    data[:, 2:4] = (values + 1).astype(">u2").view(np.uint8)
    assert np.array_equal(out.ports, ports)
    assert np.array_equal(out.lengths, lengths)
    assert np.array_equal(out.data, data[:, : lengths.max()])


def test_outputs_stay_as_they_are(reflector: NativeSwitch) -> None:
    """Memory of an output is used again only when nobody can see it any more."""
    kept, frames = [], []
    for i in range(20):
        out = reflector.process(PacketBatch.of([(1, bytes([i] * 8))] * 50))
        if i % 3:
            kept.append(out.data[3:7])
            frames.append(out.data[3:7].copy())
    assert all(np.array_equal(a, b) for a, b in zip(kept, frames, strict=True))


def test_arrays_of_other_layouts(reflector: NativeSwitch) -> None:
    data = np.arange(64 * 8, dtype=np.int64).reshape(8, 64).astype(np.uint8)
    want = reflector.process(PacketBatch(np.ones(8, np.int32), np.full(8, 40, np.int32), data.copy()))
    wide = np.zeros((16, 128), np.uint8)
    wide[::2, ::2] = data
    got = reflector.process(PacketBatch(np.ones(8, np.int64), np.full(16, 40, np.int32)[::2], wide[::2, ::2]))
    assert np.array_equal(got.data, want.data)


@pytest.mark.parametrize("lengths", [[5, 3], [-1, 4]])
def test_lengths_outside_the_rows(reflector: NativeSwitch, lengths: list[int]) -> None:
    before = reflector.stats
    batch = PacketBatch(np.zeros(2, np.int32), np.array(lengths, np.int32), np.zeros((2, 4), np.uint8))
    with pytest.raises(OfframpError, match=r"packet batch: a length is outside 0\.\.4"):
        reflector.process(batch)
    assert reflector.stats == before


def test_packets_shorter_than_headers() -> None:
    twins = Twins(load_text(REFLECT))
    twins.send([(1, bytes(range(n))) for n in range(9)])
    twins.send([(1, b"")])
    assert [switch.process_one(1, b"") for switch in twins.engines] == [[(1, b"")]] * 2
    assert twins.native.stats.parse_errors == 6


@pytest.mark.full
@pytest.mark.parametrize("first_size", [1, 100, 1 << 16])
def test_buffers_that_fill_up(first_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "_FIRST_SIZE", first_size)
    twins = Twins(load_text(BUSY), max_passes=60)
    replicas = tuple(Replica(port, port) for port in range(3))
    twins.each(lambda s: s.pre.multicast.__setitem__(1, replicas))
    rng = random.Random(first_size)
    for _ in range(3):
        twins.send([(0, rng.randbytes(rng.randrange(2, 300))) for _ in range(20)])
    assert twins.native.stats.looped > 0


@pytest.mark.full
def test_a_packet_that_goes_round_for_ever() -> None:
    twins = Twins(load_text(program("recirculate_preserving_field_list(0); hdr.h.a = hdr.h.a + 1;")), max_passes=1000)
    twins.send([(0, bytes(100)), (1, bytes(4))])
    assert twins.native.stats.looped == 2
    with pytest.raises(OfframpError, match="max_passes"):
        NativeSwitch(load_text(REFLECT), max_passes=0)


def test_clones_of_clones_end() -> None:
    egress = "control E(inout headers hdr, inout meta_t meta, inout standard_metadata_t sm) { apply { "
    text = program("sm.egress_spec = 1;").replace(egress, egress + "clone(CloneType.E2E, 1); ")
    switch = NativeSwitch(load_text(text))
    switch.pre.clones[1] = CloneSession((Replica(2, 0),))
    out = switch.process_one(0, bytes(10))
    assert out[-1][0] == 1
    assert switch.stats.looped == 1
    assert switch.process_one(0, bytes(10)) == out


@pytest.mark.full
def test_time_in_metadata() -> None:
    twins = Twins(load_text(program("hdr.h.c = (bit<16>)(sm.ingress_global_timestamp >> 40); sm.egress_spec = 1;")))
    for now_us in (0, 123 << 40, (1 << 48) + 5):
        twins.at(now_us)
        twins.send([(0, bytes(4))])


def test_threads_take_turns(reflector: NativeSwitch) -> None:
    before = reflector.stats.packets_in
    batch = PacketBatch.of([(1, bytes(64))] * 2000)
    with ThreadPoolExecutor(4) as pool:
        outs = list(pool.map(lambda _: reflector.process(batch), range(40)))
    assert all(len(out) == 2000 for out in outs)
    assert reflector.stats.packets_in == before + 40 * 2000


@pytest.mark.full
def test_a_switch_that_is_gone_leaves_nothing() -> None:
    switch = NativeSwitch(load_text(REFLECT))
    switch.process_one(1, bytes(8))
    context_ = weakref.ref(switch._context)
    del switch
    gc.collect()
    assert context_() is None
