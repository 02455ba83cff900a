# SPDX-License-Identifier: Apache-2.0
"""Paths of a fabric: against the routes that our switches' tables follow, and against counting by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fabrics import random_cluster
from offramp.cluster import parse_cluster
from offramp.fabric import fabric_of, make_cluster
from offramp_base.errors import OfframpError
from routes import route


@pytest.mark.parametrize("seed", range(20))
def test_paths_by_destination_are_those_of_the_switches_tables(seed: int) -> None:
    cluster = random_cluster(np.random.default_rng(seed))
    fabric = fabric_of(cluster)
    number = {cable: k for k, cable in enumerate(cluster.links)}
    for a in range(fabric.hosts):
        for b in range(fabric.hosts):
            if a != b:
                expected = [number[link] for link in route(cluster, fabric.nodes[a], fabric.nodes[b]).links]
                _, links, share = fabric.paths.rows(np.array([a]), np.array([b]))
                assert links.tolist()[: len(expected)] == [
                    2 * cable + (fabric.ends[2 * cable, 0] != near)
                    for cable, near in zip(expected, _nodes(fabric, a, expected), strict=True)
                ]
                assert (share == 1).all()


def _nodes(fabric, first: int, cables: list[int]) -> list[int]:  # type: ignore[no-untyped-def]
    nodes = [first]
    for cable in cables[:-1]:
        a, b = fabric.ends[2 * cable]
        nodes.append(int(b if a == nodes[-1] else a))
    return nodes


@pytest.mark.parametrize("routing", ["destination", "ecmp", "spray", "adaptive"])
@pytest.mark.parametrize("seed", range(10))
def test_bytes_are_kept_at_every_node(seed: int, routing: str) -> None:
    random = np.random.default_rng(seed)
    fabric = fabric_of(random_cluster(random, nics=3, routing=routing, gpus=2))
    source, sink = random.integers(0, fabric.ranks, (2, 40))
    size = random.integers(1, 1000, 40).astype(float)
    load = fabric.load(source, sink, size)[: len(fabric.ends)]
    away = fabric.rank_host[source] != fabric.rank_host[sink]
    out, into = (np.bincount(fabric.ends[:, k], load, len(fabric.nodes)) for k in (0, 1))
    sent = np.bincount(fabric.rank_host[source[away]], size[away], fabric.hosts)
    heard = np.bincount(fabric.rank_host[sink[away]], size[away], fabric.hosts)
    assert np.allclose(out[: fabric.hosts], sent)
    assert np.allclose(into[: fabric.hosts], heard)
    assert np.allclose(out[fabric.hosts :], into[fabric.hosts :])


def test_spray_takes_all_equal_paths_evenly() -> None:
    fabric = fabric_of(make_cluster("leaf-spine:2x4x1", routing="spray"))
    load = fabric.load([0], [1], [8.0])
    between = [k for k, (a, b) in enumerate(fabric.ends.tolist()) if min(a, b) >= fabric.hosts]
    assert sorted(load[between].tolist()) == [0.0] * 8 + [2.0] * 8


def test_ranks_send_by_their_rails() -> None:
    fabric = fabric_of(make_cluster("rails:2x4x1", gpus=8))
    assert fabric.rail.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]
    load = fabric.load([2], [10], [1.0])
    assert [fabric.shown(k) for k in np.flatnonzero(load)] == ["h0 > rail1", "rail1 > h1"]


def test_a_failed_link_is_gone_round_and_the_last_one_is_named() -> None:
    fabric = fabric_of(make_cluster("leaf-spine:2x2x1"))
    one = fabric.failing(
        [next(k for k, c in enumerate(fabric.cluster.links) if (c.a.node, c.b.node) == ("leaf0", "spine0"))]
    )
    assert {fabric.shown(k) for k in np.flatnonzero(one.load([0], [1], [1.0]))} == {
        "h0 > leaf0",
        "leaf0 > spine1",
        "spine1 > leaf1",
        "leaf1 > h1",
    }
    cut = fabric.failing(
        [k for k, c in enumerate(fabric.cluster.links) if "leaf0" in (c.a.node, c.b.node) and c.b.node != "leaf0"]
    )
    with pytest.raises(OfframpError, match="no way from h0 to h1"):
        cut.load([0], [1], [1.0])


@pytest.mark.parametrize(
    "shape", ["leaf-spine:4096x4096x4096", "mesh:4097", "leaf-spine:4097x1x1", "fat-tree:64x64x64x64x64", "torus:3"]
)
def test_shapes_beyond_a_cluster_are_refused_before_they_are_made(shape: str) -> None:
    with pytest.raises(OfframpError, match="shape"):
        make_cluster(shape)


def test_failures_of_a_file_have_their_times() -> None:
    text = """
hosts: [{name: "h[1-2]"}]
switches: [{name: s1, target: plain}, {name: s2, target: plain}]
links: [{ends: ["h[1-2]", s1], rate: 1gbit}, {ends: ["h[1-2]", s2], rate: 1gbit}]
failures: [{link: [h1, s1], at: 1s, until: 3s}]
"""
    fabric = fabric_of(parse_cluster(text))
    assert fabric.at(0.0) is fabric
    assert [fabric.at(t * 1e9).without for t in (0.5, 1, 2.9, 3)] == [frozenset(), {0}, {0}, frozenset()]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("failures: [{link: [h1, h2]}]", "no link joins h1 and h2"),
        ("failures: [{link: [h1]}]", "expected link"),
        ("failures: [{link: [h1, s1], at: 2s, until: 1s}]", "expected a time after that of at"),
        ("routing: hot-potato", "hot-potato: expected one of destination, ecmp, spray, adaptive"),
    ],
)
def test_what_a_file_cannot_say_is_one_line(line: str, problem: str) -> None:
    text = 'hosts: [{name: "h[1-2]"}]\nswitches: [{name: s1, target: plain}]\n'
    text += 'links: [{ends: ["h[1-2]", s1], rate: 1gbit}]\n' + line
    with pytest.raises(OfframpError, match=f"cluster.yaml:4: .*{problem}"):
        parse_cluster(text)


def test_ten_thousand_gpus_on_rails() -> None:
    """1,280 hosts of 8 GPUs and 8 NICs; each GPU's flow to the next host takes its own rail."""
    fabric = fabric_of(make_cluster("rails:1280x8x4", gpus=8))
    ranks = np.arange(fabric.ranks)
    load = fabric.load(ranks, np.roll(ranks, -8), np.ones(fabric.ranks))
    assert (fabric.ranks, fabric.cluster.switches[0].ports) == (10_240, 1284)
    assert (load[fabric.nics.up] == 1).all()
    assert load[: len(fabric.ends)].sum() == 2 * fabric.ranks


def test_a_switch_that_takes_programs_has_ports_of_nine_bits() -> None:
    text = "hosts: [{name: h1}]\nswitches: [{name: s1, target: %s, ports: 511}]\nlinks: [{ends: [h1, s1], rate: 1gbit}]"
    assert parse_cluster(text % "plain").switches[0].ports == 511
    with pytest.raises(OfframpError, match=r":2: .*511: expected at most 510 at a switch of target v1model"):
        parse_cluster(text % "v1model")


@pytest.mark.parametrize(
    ("shape", "most"),
    [("leaf-spine:2x2x4", 1.0), ("leaf-spine:8x4x8", 1.0), ("leaf-spine:4x3x8", 1.2), ("fat-tree:4x4x4x4x4", 1.6)],
)
def test_destinations_take_all_ways_in_turn(shape: str, most: float) -> None:
    """What the busiest link between switches carries of an all-to-all, as a multiple of the mean of its kind."""
    fabric = fabric_of(make_cluster(shape, routing="destination"))
    source, sink = (each.ravel() for each in np.indices((fabric.ranks,) * 2))
    load = fabric.load(source[source != sink], sink[source != sink], np.ones(int((source != sink).sum())))
    level = {name: name.rstrip("0123456789") for name in fabric.nodes}
    kinds: dict[tuple[str, str], list[float]] = {}
    for (a, b), each in zip(fabric.ends.tolist(), load[: len(fabric.ends)].tolist(), strict=True):
        if min(a, b) >= fabric.hosts:
            kinds.setdefault((level[fabric.nodes[a]], level[fabric.nodes[b]]), []).append(each)
    assert kinds
    for loads in kinds.values():
        assert max(loads) <= most * np.mean(loads) + 1e-9
