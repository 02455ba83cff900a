# SPDX-License-Identifier: Apache-2.0
"""The packet-level simulator against closed forms, the slot model, and the exchange's own invariants.

Blind to frames' contents: packets here are a few words, and sums are counts (the P4 tests add real integers).
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.graph.boundary import Boundary
from offramp.graph.csr import symmetric_csr
from offramp.graph.generate import generate
from offramp.graph.partition import partition
from offramp.switchgnn.plan import make_plan
from offramp_base.errors import OfframpError
from offramp_sim.packets import ExchangeProtocol, LinkProperties, leaf_spine, star
from offramp_sim.packets.exchange import ACKS
from offramp_sim.packets.flows import all_to_all, background, balanced, flows, mean_hadoop_bytes
from offramp_sim.packets.layout import PACKET_BYTES
from offramp_sim.packets.simulate import simulate
from offramp_sim.slot.host_based import HOST_PACKET_BYTES, bns_gcn
from offramp_sim.slot.ports import PACKET_WIRE_BYTES, StarFabric, exchange_trace
from offramp_sim.slot.strawman import decide

BYTE_PS = 80
SLOT_PS = PACKET_WIRE_BYTES * BYTE_PS
SHORT_PS = 84 * BYTE_PS
QUIET = ExchangeProtocol(acks="none")


def random_boundary(seed, workers=None):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 40))
    workers = workers or int(rng.integers(2, 7))
    indptr, indices = symmetric_csr(n, *rng.integers(0, n, (2, 3 * n)))
    return Boundary(SimpleNamespace(indptr=indptr, indices=indices), rng.integers(0, workers, n), workers)


@pytest.mark.full
@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(0, 50), st.sampled_from(["gamr", "random"]))
def test_without_loss_every_block_takes_what_the_slot_model_says(seed, chunks, delay, order):
    """Store and forward adds the time of one packet, DONE and GO add their own."""
    boundary = random_boundary(seed)
    plan = make_plan(boundary, chunks, max(2, boundary.B // 2) * chunks * 128, order, seed)
    slots = exchange_trace(plan, StarFabric(delay_s=delay * SLOT_PS / 1e12)).slots
    run = simulate(star(boundary.workers, LinkProperties(delay_ps=delay * SLOT_PS)), plan, protocol=QUIET)
    assert run.end_ps == slots * SLOT_PS + len(plan.blocks) * (SLOT_PS + 2 * SHORT_PS)
    control = len(plan.blocks) * boundary.workers * 84
    assert run.up_bytes == run.down_bytes == plan.packets * PACKET_WIRE_BYTES + control
    assert run.passes == plan.passes
    assert (run.dropped, run.lost, run.fetches, run.timeouts) == (0, 0, 0, 0)


def test_a_flow_and_an_incast_have_closed_forms():
    links = LinkProperties(rate_bps=100_000_000_000, delay_ps=2_000_000)
    packet = HOST_PACKET_BYTES * BYTE_PS
    one = simulate(star(2, links), flows=flows([(0, 1, 10 * 1024, 500)]))
    assert one.finish_ps.tolist() == [500 + 11 * packet + 2 * links.delay_ps]
    incast = simulate(star(9, links), flows=flows([(source, 8, 5 * 1024, 0) for source in range(8)]))
    assert incast.end_ps == 41 * packet + 2 * links.delay_ps
    # Eight lines bring 40 packets in five times; four of them have left when the last of these is there.
    assert incast.peak_port_bytes == (40 - 4) * HOST_PACKET_BYTES
    across = simulate(leaf_spine(2, 1, 1, links), flows=flows([(0, 1, 1024, 0)]))
    assert across.end_ps == 4 * packet + 4 * links.delay_ps


def test_two_flows_of_a_host_share_its_line():
    run = simulate(star(3, LinkProperties(delay_ps=0)), flows=flows([(0, 1, 10 * 1024, 0), (0, 2, 5 * 1024, 0)]))
    packet = HOST_PACKET_BYTES * BYTE_PS
    assert sorted(run.finish_ps.tolist()) == [11 * packet, 16 * packet]


def test_dropped_packets_of_flows_are_sent_again():
    links = LinkProperties(buffer_bytes=5 * HOST_PACKET_BYTES, loss=0.05)
    table = flows([(source, 8, 40 * 1024, 0) for source in range(8)])
    run = simulate(star(9, links), flows=table, seed=3)
    assert run.dropped > 0
    assert run.lost > 0
    assert (run.finish_ps > 0).all()
    again = simulate(star(9, links), flows=table, seed=3)
    assert (again.finish_ps == run.finish_ps).all()
    assert simulate(star(9, links), flows=table, seed=4).end_ps != run.end_ps


def test_an_all_to_all_takes_what_the_slot_model_says_up_to_the_order_of_packets():
    boundary = random_boundary(5, workers=5)
    features = 3000
    run = simulate(star(5, LinkProperties(delay_ps=0)), flows=all_to_all(boundary, features))
    slots = bns_gcn(boundary, features, StarFabric(delay_s=0.0))
    assert run.up_bytes == slots.up_bytes
    assert run.seconds == pytest.approx(slots.seconds, rel=0.1)


@pytest.mark.parametrize("loss", [0.002, 0.02, 0.1])
@pytest.mark.parametrize("racks", [False, True])
def test_every_exchange_ends_in_spite_of_loss(loss, racks):
    boundary = random_boundary(11, workers=4)
    plan = make_plan(boundary, 2, boundary.B // 2 * 2 * 128)
    links = LinkProperties(loss=loss)
    topology = leaf_spine(2, 2, 2, links) if racks else star(4, links)
    lossless = simulate(leaf_spine(2, 2, 2, LinkProperties()) if racks else star(4, LinkProperties()), plan)
    lost = 0
    for seed in range(10):
        run = simulate(topology, plan, seed=seed)
        lost += run.lost
        assert run.end_ps >= 0.99 * lossless.end_ps  # a lost acknowledgement is one packet less in the way
        assert (run.fetches > 0) <= (run.timeouts > 0) <= (run.lost > 0)
    assert lost > 0


def six_vertices():
    edges = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (2, 4), (3, 5)]
    indptr, indices = symmetric_csr(6, *np.transpose(edges))
    return indptr, indices


def test_two_levels_send_one_partial_sum_for_each_leaf_that_contributes():
    """Six PARTIALs of the worked example (section 14.8); worker 3 of leaf 1 owns nothing."""
    indptr, indices = six_vertices()
    boundary = Boundary(SimpleNamespace(indptr=indptr, indices=indices), [0, 0, 1, 1, 2, 2], 4)
    (block,) = (plan := make_plan(boundary, 1, 10**4)).blocks
    run = simulate(leaf_spine(2, 2, 2, LinkProperties()), plan, protocol=QUIET)
    control = 2 * 2 * 84  # DONE of leaf 1's hosts, GO to them, twice a hop
    assert run.core_bytes == 2 * 6 * PACKET_WIRE_BYTES + 2 * control
    assert run.passes == plan.passes + 6
    assert len(block.vertices) == 6


@settings(derandomize=True, deadline=None, max_examples=50)
@given(st.integers(0, 10**6), st.integers(0, 8))
def test_strawman_delivers_what_its_decisions_say(seed, limit):
    """One worker a vertex and all uploads at different times: the order of arrival is known."""
    boundary = random_boundary(seed, workers=2)
    boundary.owner[boundary.vertices] = np.arange(boundary.B) % 2
    if not boundary.B:
        return
    indptr, indices = boundary.indptr, boundary.neighbours
    alone = Boundary(SimpleNamespace(indptr=indptr, indices=indices), np.arange(boundary.B))
    plan = make_plan(alone, 1, alone.B * 128, "id")
    run = simulate(star(alone.B, LinkProperties()), plan, protocol=replace(QUIET, aggregators=limit))
    decided = decide(alone, np.arange(alone.B), limit)
    vectors = int(decided.aggregated.sum()) + len(decided.raw)
    assert run.down_bytes == vectors * PACKET_WIRE_BYTES + alone.B * 84


@pytest.mark.parametrize("limit", [0, 10**6])
def test_strawman_of_leaves_sends_owners_one_sum_of_each_leaf_or_every_feature(limit):
    boundary = random_boundary(3, workers=8)
    plan = make_plan(boundary, 2, boundary.B * 2 * 128, "random")
    topology = leaf_spine(4, 2, 2, LinkProperties())
    owner = boundary.owner[boundary.vertices]
    vertex, source = np.repeat(np.arange(boundary.B), np.diff(boundary.indptr)), boundary.neighbours
    copies = {(u, owner[v]) for v, u in zip(vertex, source, strict=True)}
    sums = {(v, topology.leaf_of()[owner[u]]) for v, u in zip(vertex, source, strict=True)}
    run = simulate(topology, plan, protocol=replace(QUIET, aggregators=limit))
    vectors = plan.chunks * len(sums if limit else copies)
    assert run.down_bytes == vectors * PACKET_WIRE_BYTES + boundary.workers * 84
    assert run.fetches == 0


@pytest.mark.parametrize("limit", [0, 10, 50, 10**6])
def test_strawman_of_leaves_ends_where_ports_drop(limit):
    graph = generate("sbm:n=400,k=8,gamma=2.4,degree=24,homophily=0.2", "1/0/0", 1)
    boundary = Boundary(graph, partition(graph, 8, "hash"), 8)
    plan = make_plan(boundary, 2, boundary.B * 2 * 128, "random")
    run = simulate(
        leaf_spine(4, 2, 2, LinkProperties(buffer_bytes=20_000)), plan, protocol=replace(QUIET, aggregators=limit)
    )
    assert run.dropped > 0 < run.fetches


def test_what_a_host_might_ask_for_takes_no_more_memory_than_its_packets():
    """Nothing is lost here; room is kept for the longest list of missing features, which leaves by one port."""
    boundary, chunks = random_boundary(3, workers=4), 255
    plan = make_plan(boundary, chunks, boundary.B * chunks * 128)
    (block,) = plan.blocks
    most = np.bincount(block.owner, block.need).max() * chunks
    run = simulate(star(4, LinkProperties(10**11, 10**6)), plan, protocol=ExchangeProtocol(acks="none", control=False))
    assert run.fetches == 0
    assert most > 5_000
    assert run.state_bytes < 3 * PACKET_BYTES * most + 2**20


def test_passes_at_a_finite_rate_delay_the_results():
    boundary = random_boundary(2)
    plan = make_plan(boundary, 1, boundary.B * 128)
    free = simulate(star(boundary.workers, LinkProperties()), plan, protocol=QUIET)
    slow = simulate(star(boundary.workers, LinkProperties()), plan, protocol=replace(QUIET, passes_pps=1e7))
    assert slow.end_ps - free.end_ps == pytest.approx(plan.passes * 1e5, rel=0.5)
    assert slow.end_ps > plan.passes * 1e5


def test_marks_slow_uploads_down_and_keep_queues_short():
    graph = generate("sbm:n=400,k=8,gamma=2.4,degree=24,homophily=0.2", "1/0/0", 1)
    boundary = Boundary(graph, partition(graph, 8, "hash"), 8)
    plan = make_plan(boundary, 8, boundary.B * 8 * 128)
    links = LinkProperties(mark_bytes=20_000)
    load = background(8, 0.6, links.rate_bps, 2 * 10**9, seed=1)
    obeyed, ignored = (
        simulate(star(8, links), plan, load, ExchangeProtocol(control=control), until_ps=10**12)
        for control in (True, False)
    )
    assert ignored.marked > 0
    assert ignored.cuts == 0 < obeyed.cuts


def test_acknowledging_every_sum_costs_what_its_copies_take_on_the_busiest_link():
    """Section 3.4's answers to all who contributed are most of an exchange; notices of marks are next to nothing."""
    graph = generate("sbm:n=1200,k=16,gamma=2.4,degree=60,homophily=0.4", "1/0/0", 1)
    boundary = Boundary(graph, partition(graph, 64, "metis"), 64)
    chunks = 4
    plan = make_plan(boundary, chunks, boundary.B * chunks * 128)
    network = star(64, LinkProperties(mark_bytes=2_000))
    quiet, marked, every = (
        simulate(network, plan, protocol=ExchangeProtocol(acks=acks, control=False)) for acks in ACKS
    )
    copies = np.bincount(boundary.copies[:, 1], minlength=64)
    answers = int(copies.max()) * chunks * SHORT_PS
    assert answers <= every.end_ps <= answers + 2 * quiet.end_ps
    assert every.down_bytes - quiet.down_bytes == int(copies.sum()) * chunks * 84
    assert every.end_ps > 2 * quiet.end_ps
    assert quiet.marked > 0
    assert quiet.end_ps <= marked.end_ps < 1.2 * quiet.end_ps


def test_balanced_streams_load_all_hosts_alike():
    streams = all_to_all(random_boundary(7, workers=6), 256)
    flows = balanced(streams)
    assert flows.size.sum() == pytest.approx(streams.size.sum(), rel=1e-3)
    for ends in (flows.source, flows.sink):
        load = np.bincount(ends, weights=flows.size)
        assert load.max() == pytest.approx(load.min(), rel=0.02)
    assert (flows.source == streams.source).all()


def test_background_has_the_load_that_it_is_asked_for():
    flows = background(16, 0.4, 10**11, 10**12, seed=2)
    assert flows.size.mean() == pytest.approx(mean_hadoop_bytes(), rel=0.1)
    assert flows.size.sum() * 8 / 16 == pytest.approx(0.4e11, rel=0.1)
    assert (flows.source != flows.sink).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: LinkProperties(rate_bps=7 * 10**9), "rate_bps 7000000000: expected a divisor of 8 Tbit/s"),
        (lambda: LinkProperties(loss=1.0), r"loss 1\.0: expected 0 to below 1"),
        (lambda: star(0, LinkProperties()), "hosts 0: expected at least 1"),
        (
            lambda: leaf_spine(2, 0, 2, LinkProperties()),
            "leaf-spine 2x0, 2 hosts per leaf: expected at least 1 of each",
        ),
        (lambda: flows([(1, 1, 5, 0)]), "flows: expected two different hosts"),
        (lambda: background(4, 1.5, 1, 1, 0), r"load 1\.5: expected 0 to below 1"),
        (lambda: simulate(star(2, LinkProperties()), flows=flows([(0, 5, 1, 0)])), "flows: expected hosts from 0 to 1"),
        (
            lambda: simulate(star(3, LinkProperties()), make_plan(random_boundary(1, workers=2), 1, 10**4)),
            "plan for 2 workers: the topology has 3 hosts",
        ),
        (
            lambda: simulate(star(2, LinkProperties()), flows=flows([(0, 1, 10**6, 0)]), until_ps=10**6),
            "not finished at [0-9]+ ps of simulated time",
        ),
    ],
)
def test_errors_say_what_was_expected(call, message):
    with pytest.raises(OfframpError, match=message):
        call()
