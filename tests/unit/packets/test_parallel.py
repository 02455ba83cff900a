# SPDX-License-Identifier: Apache-2.0
"""Partitions against one: what several cores simulate is bit for bit what one does; fat trees against closed forms.

Blind to what both get wrong: completion times are compared with ns-3 in tests/bench/test_packets_ns3.py.
"""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from offramp.graph.boundary import Boundary
from offramp.graph.generate import generate
from offramp.graph.partition import partition
from offramp.switchgnn.plan import make_plan
from offramp_base.errors import OfframpError
from offramp_sim.packets import ExchangeProtocol, Framing, LinkProperties, fat_tree, leaf_spine, star
from offramp_sim.packets import machine as machine_module
from offramp_sim.packets.control import Dctcp, Hpcc, Swift
from offramp_sim.packets.flows import background, flows
from offramp_sim.packets.machine import NetworkPartition
from offramp_sim.packets.simulate import simulate
from offramp_sim.packets.watch import QueueWatch

LINKS = LinkProperties(rate_bps=10_000_000_000, delay_ps=2_000_000)
LOSSY = LinkProperties(rate_bps=10_000_000_000, delay_ps=500_000, buffer_bytes=12_000, mark_bytes=5_000, loss=0.01)
LOAD = flows([(source, (7 * source + 3) % 5, 40_000, source * 1000) for source in range(5, 16)])
QUICK = Framing(retry_ps=20_000_000)
SHAPES = {
    "star": lambda links: star(16, links),
    "leaf-spine": lambda links: leaf_spine(4, 3, 4, links),
    "fat-tree": lambda links: fat_tree(4, 2, 2, 2, 3, links),
}


def assert_equal(one, other):
    for field in fields(one):
        if field.name not in {"state_bytes", "wall_s"}:
            np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name), field.name)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("links", [LINKS, LOSSY], ids=["lossless", "lossy"])
@pytest.mark.parametrize("spray", [False, True])
def test_any_number_of_cores_gives_the_same(shape, links, spray):
    topology = SHAPES[shape](links)
    one, *more = (
        simulate(topology, flows=LOAD, framing=QUICK, seed=5, spray=spray, cores=cores) for cores in (1, 2, 3)
    )
    if links is LOSSY:
        assert min(one.dropped, one.lost, one.marked) > 0
    for other in more:
        assert_equal(one, other)


@pytest.mark.full
@pytest.mark.parametrize(
    "control",
    [
        pytest.param(None, id="none", marks=pytest.mark.slow),
        pytest.param(Dctcp(), id="dctcp"),
        pytest.param(Swift(), id="swift", marks=pytest.mark.slow),
        pytest.param(Hpcc(), id="hpcc", marks=pytest.mark.slow),
    ],
)
def test_a_divided_star_is_the_whole_one(control):
    """Some hosts for each core, more than one flow each, answers, a queue that is watched, drops and losses."""
    topology = star(11, LOSSY)
    rows = [(k % 11, (k % 11 + 1 + k % 4) % 11 // 3 * 3, 9_000 + 1_000 * k, 700 * k) for k in range(60)]
    rows = [row for row in rows if row[0] != row[1]]
    watch = QueueWatch(3, 10_000_000, 20)
    one, *more = (
        simulate(topology, flows=flows(rows), framing=QUICK, seed=4, cores=cores, control=control, watch=watch)
        for cores in (1, 2, 5, 11, 12)
    )
    assert one.lost > 0
    assert control is not None or min(one.dropped, one.marked) > 0
    for other in more:
        assert_equal(one, other)


@pytest.mark.parametrize("passes", [None, 1e8])
def test_an_exchange_on_two_cores_is_that_on_one(passes):
    graph = generate("sbm:n=300,k=8,gamma=2.4,degree=16,homophily=0.2", "1/0/0", 1)
    boundary = Boundary(graph, partition(graph, 8, "hash"), 8)
    plan = make_plan(boundary, 2, boundary.B // 2 * 2 * 128)
    topology = leaf_spine(4, 2, 2, LinkProperties(loss=0.001, mark_bytes=10_000))
    load = background(8, 0.3, 10**11, 10**8, seed=1)
    one, two = (
        simulate(topology, plan, load, ExchangeProtocol(passes_pps=passes), seed=2, cores=cores) for cores in (1, 2)
    )
    assert one.lost > 0
    assert_equal(one, two)


def test_room_that_is_short_changes_nothing(monkeypatch):
    """Blocks, calendars and sorting begin with next to nothing and grow within windows."""
    topology = SHAPES["fat-tree"](LOSSY)
    expected = simulate(topology, flows=LOAD, framing=QUICK, seed=1)
    monkeypatch.setattr(machine_module, "_FIRST_EVENTS", 2)
    monkeypatch.setattr(machine_module, "_FIRST_BLOCKS", 1)
    assert_equal(expected, simulate(topology, flows=LOAD, framing=QUICK, seed=1))
    assert_equal(expected, simulate(topology, flows=LOAD, framing=QUICK, seed=1, cores=2))


def test_a_partition_without_memory_ends_the_others(monkeypatch):
    add_room = NetworkPartition.reserve

    def reserve(self):
        if self.fields.part == 1:
            raise MemoryError
        add_room(self)

    monkeypatch.setattr(NetworkPartition, "reserve", reserve)
    rows = [(source, 15 - source, 10_000_000, 0) for source in range(16) if source != 15 - source]
    with pytest.raises(OfframpError, match="packet-level simulation: not enough memory"):
        simulate(SHAPES["leaf-spine"](LINKS), flows=flows(rows), cores=2)


@pytest.mark.parametrize(("sink", "links"), [(1, 2), (2, 4), (15, 6)])
def test_a_packet_through_a_fat_tree_crosses_its_levels(sink, links):
    run = simulate(SHAPES["fat-tree"](LINKS), flows=flows([(0, sink, 1000, 0)]), framing=Framing(1000, 50))
    assert run.end_ps == links * (1050 * 800 + LINKS.delay_ps)
    assert run.packets == links


def test_sprayed_packets_use_all_paths():
    """A flow alone keeps one path by its hash; sprayed, its packets overtake nobody but load every spine."""
    topology = leaf_spine(2, 4, 2, LINKS)
    rows = flows([(0, 2, 400_000, 0), (1, 3, 400_000, 0)])
    hashed, sprayed = (simulate(topology, flows=rows, spray=spray) for spray in (False, True))
    assert hashed.core_bytes == sprayed.core_bytes
    best = 391 * 1106 * 800
    assert best < sprayed.end_ps < 1.15 * best


def test_cores_have_a_range():
    with pytest.raises(OfframpError, match="cores 0: expected 1 to 64"):
        simulate(star(2, LINKS), cores=0)
