# SPDX-License-Identifier: Apache-2.0
"""Schemes at slot level against the worked example, volumes, brute force and closed forms.

Blind to loss, finite buffers and congestion control, which only the packet-level engine has.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.graph.boundary import Boundary
from offramp.graph.csr import symmetric_csr
from offramp.graph.generate import generate
from offramp.graph.partition import partition
from offramp.switchgnn.volume import host_volume, plan_volume, unlimited_volume
from offramp_base.errors import OfframpError
from offramp_sim.slot.chunk_major import slice_widths
from offramp_sim.slot.host_based import HOST_PACKET_BYTES, epoch_seconds, slot_seconds, stream_packets
from offramp_sim.slot.in_network import ACK_WIRE_BYTES
from offramp_sim.slot.ports import PACKET_WIRE_BYTES, StarFabric
from offramp_sim.slot.schemes import SCHEMES, SchemeParameters, simulate
from offramp_sim.slot.strawman import decide

NEAR = StarFabric(delay_s=0.0)


def boundary_of(n, edges, owner):
    indptr, indices = symmetric_csr(n, *np.transpose(edges))
    return Boundary(SimpleNamespace(indptr=indptr, indices=indices), owner)


G6 = boundary_of(
    6, [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (2, 4), (3, 5)], np.array([0, 0, 1, 1, 2, 2])
)


def test_strawman_of_the_six_vertex_example():
    ample, scarce = decide(G6, np.arange(6), 6), decide(G6, np.arange(6), 2)
    assert ample.aggregated.all()
    assert ample.done.tolist() == [4, 5, 4, 5, 2, 3]
    assert ample.peak_open == 5
    assert np.flatnonzero(scarce.aggregated).tolist() == [2, 3]
    assert scarce.raw.tolist() == [[0, 2], [1, 2], [2, 0], [2, 2], [3, 0], [3, 2], [4, 0], [5, 0]]
    assert scarce.aggregated.sum() + len(scarce.raw) == 10


def walked(boundary, order, limit):
    """The strawman switch one contribution at a time."""
    mode, left, free, raw = {}, dict(enumerate(boundary.need.tolist())), limit, set()
    for u in order.tolist():
        for v in boundary.neighbours[boundary.indptr[u] : boundary.indptr[u + 1]].tolist():
            if v not in mode:
                mode[v] = free > 0
                free -= mode[v]
            left[v] -= 1
            if not mode[v]:
                raw.add((u, int(boundary.owner[boundary.vertices[v]])))
            elif not left[v]:
                free += 1
    return mode, sorted(raw)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(st.integers(0, 10**6), st.integers(0, 8))
def test_strawman_decides_as_a_switch_that_is_walked_through(seed, limit):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 24))
    boundary = boundary_of(n, rng.integers(0, n, (3 * n, 2)), rng.integers(0, 4, n))
    order = rng.permutation(boundary.B)
    decided = decide(boundary, order, limit)
    mode, raw = walked(boundary, order, limit)
    assert decided.aggregated.tolist() == [mode[v] for v in range(boundary.B)]
    assert [tuple(pair) for pair in decided.raw.tolist()] == raw


@pytest.fixture(scope="module")
def skewed():
    graph = generate("sbm:n=1200,k=16,gamma=2.3,degree=60,homophily=0.4", "1/0/0", 3)
    return Boundary(graph, partition(graph, 16, "metis"), 16)


def test_volumes_are_those_of_the_specification(skewed):
    features = 100
    setting = SchemeParameters(skewed, features, memory_bytes=skewed.B // 5 * 4 * 128, fabric=NEAR)
    outcomes = {name: simulate(setting, name) for name in SCHEMES}
    host, unlimited = host_volume(skewed, features), unlimited_volume(skewed, features)
    plan = plan_volume(setting.plan, features)
    assert outcomes["bns-gcn"].up_bytes == outcomes["g3"].down_bytes == host.wire_bytes
    assert outcomes["strawman-unlimited"].down_bytes == outcomes["strawman-unlimited"].up_bytes == unlimited.wire_bytes
    for name in ("switchgnn", "switchgnn-random"):
        assert outcomes[name].up_bytes == outcomes[name].down_bytes == plan.wire_bytes
    assert outcomes["pairwise"].up_bytes == skewed.R * 4 * PACKET_WIRE_BYTES
    assert outcomes["pairwise"].down_vectors == skewed.B
    assert unlimited.vectors < outcomes["strawman"].down_vectors <= host.vectors
    assert outcomes["hybrid"].wire_bytes <= min(2 * host.wire_bytes, outcomes["switchgnn"].wire_bytes)
    for name, outcome in outcomes.items():
        series = outcome.series
        assert len(series.queue) == 0 or series.queue[-1] == 0
        if outcome.aggregators is not None:
            assert outcome.peak_open <= outcome.aggregators, name
    assert outcomes["switchgnn"].series.sent.sum() == setting.plan.packets
    assert outcomes["switchgnn"].series.added.sum() == setting.plan.passes
    assert outcomes["switchgnn"].numbers()["blocks"] == len(setting.plan.blocks)


def test_time_is_never_below_what_the_busiest_link_needs(skewed):
    setting = SchemeParameters(skewed, 64, memory_bytes=skewed.B // 2 * 2 * 128)
    packets = stream_packets(skewed, 64)
    busiest = max(packets.sum(axis=0).max(), packets.sum(axis=1).max())
    bns, g3 = simulate(setting, "bns-gcn"), simulate(setting, "g3")
    assert busiest * slot_seconds(setting.fabric) <= bns.seconds <= 1.5 * busiest * slot_seconds(setting.fabric) + 5e-6
    assert g3.seconds <= bns.seconds
    assert simulate(setting, "strawman-unlimited").seconds < simulate(setting, "strawman").seconds


def test_a_balanced_all_to_all_has_a_closed_form():
    """Every worker owns one vertex that all others need: with n workers each link carries n-1 streams."""
    n, features = 8, 600
    edges = [(i, j) for i in range(n) for j in range(i)]
    setting = SchemeParameters(boundary_of(n, edges, np.arange(n)), features, fabric=NEAR)
    packets = (n - 1) * 3
    assert simulate(setting, "bns-gcn").seconds == pytest.approx(packets * HOST_PACKET_BYTES * 8 / 100e9)
    assert simulate(setting, "g3").seconds == pytest.approx(packets * HOST_PACKET_BYTES * 8 / 100e9)
    assert simulate(setting, "switchgnn").seconds == pytest.approx(19 * PACKET_WIRE_BYTES * 8 / 100e9)


def test_gamr_waits_less_than_a_random_order(skewed):
    setting = SchemeParameters(skewed, 32, memory_bytes=skewed.B * 128, fabric=NEAR)
    gamr, random = simulate(setting, "switchgnn"), simulate(setting, "switchgnn-random")
    assert gamr.seconds < random.seconds
    assert gamr.peak_queue_bytes < random.peak_queue_bytes


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.integers(1, 40), st.integers(6, 300), st.one_of(st.none(), st.integers(1, 5)))
def test_slices_are_as_few_and_as_equal_as_memory_lets_them(chunks, aggregators, widest):
    widths = slice_widths(G6, chunks, aggregators * 128, widest)
    most = min(aggregators // G6.B, chunks, widest or chunks)
    assert sum(widths) == chunks
    assert max(widths) <= most
    assert max(widths) - min(widths) <= 1
    assert len(widths) == -(-chunks // most)


def test_slices_send_every_boundary_vertex_once_and_wide_ones_wait_less(skewed):
    setting = SchemeParameters(skewed, 600, memory_bytes=skewed.B * 128 * 4)
    narrow, wide, blocks = (simulate(setting, name) for name in ("chunk-major", "wide-slices", "switchgnn"))
    assert (narrow.blocks, wide.blocks) == (19, 5)
    for outcome in (narrow, wide):
        assert outcome.up_bytes == unlimited_volume(skewed, 600).wire_bytes < blocks.up_bytes
        assert outcome.series.sent.sum() == skewed.B * 19
        assert outcome.series.added.sum() == 2 * skewed.C * 19
        assert outcome.peak_open <= outcome.aggregators
    assert wide.seconds < narrow.seconds < blocks.seconds


def test_values_that_share_a_lane_make_fewer_packets(skewed):
    plain, packed = (SchemeParameters(skewed, 602, skewed.B * 128 * 19, values=values) for values in (1, 4))
    assert (plain.chunks, packed.chunks) == (19, 5)
    four, one = (simulate(setting, "switchgnn") for setting in (packed, plain))
    assert four.up_bytes * 19 == one.up_bytes * 5
    assert simulate(packed, "bns-gcn").up_bytes == simulate(plain, "bns-gcn").up_bytes


def test_windows_of_pairwise_sums_keep_all_workers_busy(skewed):
    """However small the window, each worker has its share of the destinations in it."""
    whole, windows = (
        simulate(SchemeParameters(skewed, 32, memory_bytes=128 * count, fabric=NEAR), "pairwise")
        for count in (skewed.B, skewed.B // 8)
    )
    assert windows.blocks in (8, 9)
    assert windows.seconds < 1.5 * whole.seconds


def test_windows_upload_each_vertex_once_for_each_window_that_needs_it(skewed):
    """Counted one by one; destinations are taken from the workers in turn."""
    limit = skewed.B // 5
    outcome = simulate(SchemeParameters(skewed, 64, memory_bytes=limit * 2 * 128, fabric=NEAR), "windows")
    queues = {w: [] for w in range(16)}
    for rank, vertex in enumerate(skewed.vertices.tolist()):
        queues[int(skewed.owner[vertex])].append(rank)
    longest = max(len(queue) for queue in queues.values())
    dealt = [queue[turn] for turn in range(longest) for queue in queues.values() if turn < len(queue)]
    uploads = 0
    for start in range(0, skewed.B, limit):
        rows = [skewed.neighbours[skewed.indptr[r] : skewed.indptr[r + 1]] for r in dealt[start : start + limit]]
        uploads += len(set(np.concatenate(rows).tolist()))
    assert outcome.up_bytes == uploads * 2 * PACKET_WIRE_BYTES
    assert outcome.down_bytes == skewed.B * 2 * PACKET_WIRE_BYTES
    assert outcome.series.added.sum() == 2 * skewed.C * 2
    assert outcome.series.sent.sum() == skewed.B * 2
    assert outcome.recirculated_bytes == (2 * skewed.C - uploads) * 2 * PACKET_WIRE_BYTES
    blocks = simulate(SchemeParameters(skewed, 64, memory_bytes=limit * 2 * 128, fabric=NEAR), "switchgnn")
    assert outcome.imbalance < blocks.imbalance


def test_acknowledgements_and_epochs():
    silent, loud = (simulate(SchemeParameters(G6, 32, acks=acks), "switchgnn") for acks in (False, True))
    # Up one for each of six results; down one for each pair of a vertex and a worker: R = 12.
    assert (silent.ack_bytes, loud.ack_bytes) == (0, 18 * ACK_WIRE_BYTES)
    assert epoch_seconds("bns-gcn", 1.0, 4, 2.0) == 6.0
    assert epoch_seconds("g3", 1.0, 4, 2.0) == 4.25


def test_errors_name_what_was_expected():
    with pytest.raises(OfframpError, match=r"scheme 'tcp': expected one of bns-gcn, g3"):
        simulate(SchemeParameters(G6, 32), "tcp")
    with pytest.raises(OfframpError, match="widest 0: expected at least 1 packet"):
        slice_widths(G6, 4, 1000, 0)
    with pytest.raises(OfframpError, match=r"memory 100 B: expected at least 128 B"):
        simulate(SchemeParameters(G6, 32, memory_bytes=100), "pairwise")
