# SPDX-License-Identifier: Apache-2.0
"""The planner's view of a fabric: against routes that are followed node by node, and round links that have failed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from fabrics import random_cluster
from offramp.cluster import Cluster
from offramp.cluster.model import LinkFailure
from offramp.fabric import fabric_of, make_cluster
from offramp.fabric.forwarding import ports_of_hosts
from offramp.job.cuts import cuts
from offramp.job.kind import PlacedJob
from offramp.job.settings import JobSettings
from offramp_base.errors import OfframpError
from routes import next_links, route


def placed(cluster: Cluster) -> PlacedJob:
    return PlacedJob.on(JobSettings(command=("true",)), cluster)


def addressed(cluster: Cluster) -> Cluster:
    hosts = (replace(host, mac=f"02:00:00:00:00:{k:02x}") for k, host in enumerate(cluster.hosts))
    return replace(cluster, hosts=tuple(hosts))


@pytest.mark.parametrize("seed", range(12))
def test_rings_delays_and_ports_are_those_of_the_switches_tables(seed: int) -> None:
    cluster = addressed(random_cluster(np.random.default_rng(seed)))
    job = placed(cluster)
    used: Counter[tuple[str, str]] = Counter()
    rates, delays = {}, [0.0]
    names = [host.name for host in cluster.hosts]
    for a, b in pairwise([*names, names[0]]):
        way = route(cluster, a, b)
        for link, near in zip(way.links, way.nodes, strict=False):
            used[str(link.near(near)), str(link.far(near))] += 1
            rates[str(link.near(near)), str(link.far(near))] = link.rate_bps
    for a in names:
        delays += [route(cluster, a, b).delay_ns for b in names if a != b]
    assert job.ring_bps == min(rates[key] / n for key, n in used.items())
    assert job.farthest_ns == pytest.approx(max(delays))
    ports = ports_of_hosts(fabric_of(cluster))
    for k, host in enumerate(cluster.hosts):
        for name, link in next_links(cluster, host.name).items():
            if name in ports:
                assert ports[name][0x020000000000 + k] == link.near(name).port


def test_a_spine_that_has_failed_leaves_half_of_a_cut_and_of_the_rate() -> None:
    cluster = make_cluster("leaf-spine:2x2x4", rate_bps=10**10, uplink_bps=10**10)
    failed = replace(cluster, failures=(LinkFailure(("leaf0", "spine0")),))
    whole, half = ({cut.inside: cut.rate_bps for cut in cuts(placed(c).fabric, c.hosts)} for c in (cluster, failed))
    rack = frozenset(range(4))
    assert (whole[rack], half[rack]) == (2 * 10**10, 10**10)
    assert placed(replace(cluster, failures=(LinkFailure(("h0", "leaf0")),))).fabric.host_bps[0] == 0
    later = replace(cluster, failures=(LinkFailure(("leaf0", "spine0"), 1e9),))
    assert placed(later).fabric.without == frozenset()


def test_the_first_link_of_a_host_has_its_address() -> None:
    cluster = addressed(make_cluster("rails:2x2x1"))
    ports = ports_of_hosts(fabric_of(cluster))
    assert ports["rail0"] == {0x020000000000: 1, 0x020000000001: 2}
    assert ports["rail1"] == dict.fromkeys((0x020000000000, 0x020000000001), 3)
    failed = replace(cluster, failures=(LinkFailure(("h1", "rail0")),))
    with pytest.raises(OfframpError, match="h1:eth0 has failed: expected the first link of a host to work"):
        ports_of_hosts(fabric_of(failed).at(0.0))


def test_a_host_without_links_is_known_to_no_switch_and_the_others_are() -> None:
    cluster = addressed(make_cluster("rails:2x2x1"))
    alone = replace(cluster.hosts[0], name="alone")
    more = replace(cluster, hosts=(alone, *cluster.hosts))
    assert ports_of_hosts(fabric_of(more))["rail0"] == {0x020000000000: 1, 0x020000000001: 2}
