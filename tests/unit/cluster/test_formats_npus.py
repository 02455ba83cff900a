# SPDX-License-Identifier: Apache-2.0
"""ASTRA-sim's dimensions as hosts and links, and SimAI's GPUs that are cabled to each other.

Blind to: how fast messages of ASTRA-sim are over these links, beyond rates and delays of the ways.
"""

from __future__ import annotations

import pytest

from cluster_samples import imported
from routes import route

GPU_LINKS = """\
7 6 1 0 14 A800
6
0 6 202Gbps 0.00173ms 0
1 6 202Gbps 0.0017ms 0
2 6 1481Gbps 0.00242ms 0
3 6 1481Gbps 0.00253ms 0
4 0 147Gbps 0.00225ms 0
4 1 146Gbps 0.00224ms 0
4 2 147Gbps 0.00222ms 0
4 3 147Gbps 0.00244ms 0
4 5 1481Gbps 0.00253ms 0
5 0 148Gbps 0.00228ms 0
5 1 148Gbps 0.00227ms 0
5 2 148Gbps 0.00227ms 0
5 3 147Gbps 0.00226ms 0
5 4 1481Gbps 0.00252ms 0
"""


def network(topology: str, counts: str, rates: str = "1", latency: str = "10") -> str:
    n = len(counts.split(","))
    lists = (topology, counts, ",".join([rates] * n), ",".join([latency] * n))
    keys = ("topology", "npus_count", "bandwidth", "latency")
    return "".join(f"{key}: [ {text} ]\n" for key, text in zip(keys, lists, strict=True))


@pytest.mark.parametrize(
    ("kind", "counts", "hosts", "switches", "links"),
    [
        ("Switch", "4", 4, 1, 4),
        ("FullyConnected", "5", 5, 0, 10),
        ("Ring", "2", 2, 0, 1),
        ("Ring", "3", 3, 0, 3),
        ("Ring", "6", 6, 6, 12),  # a router in front of each NPU, which forward for others
        ("Ring, Switch", "2, 3", 6, 8, 6 + 3 + 6),
        ("Ring, FullyConnected, Switch", "4, 1, 2", 8, 12, 8 + 8 + 8),
        ("Switch", "1", 1, 0, 0),
    ],
)
def test_hosts_and_links(tmp_path, kind, counts, hosts, switches, links):
    cluster = imported(tmp_path, "astra-sim", network(kind, counts))
    assert (len(cluster.hosts), len(cluster.switches), len(cluster.links)) == (hosts, switches, links)
    assert {h.processes for h in cluster.hosts} == {1}
    for host in cluster.hosts:
        if cluster.links:
            assert cluster.rate_bps(host.name) >= max(d.rate_bps for d in cluster.dimensions)


def test_a_step_along_a_dimension_takes_its_latency(tmp_path):
    """10 ns for a link, and two links through a switch; a rank's links of a dimension have its rate together."""
    cluster = imported(tmp_path, "astra-sim", network("Ring, Switch", "4, 2"))
    ring, switch = cluster.dimensions
    assert route(cluster, "npu0", "npu1").delay_ns == ring.latency_ns == 10
    assert route(cluster, "npu0", "npu2").delay_ns == 20
    assert route(cluster, "npu0", "npu4").delay_ns == switch.latency_ns == 20
    assert route(cluster, "npu0", "npu1").rate_bps * 2 == ring.rate_bps
    assert route(cluster, "npu0", "npu4").rate_bps == switch.rate_bps


def test_what_does_not_fit_is_dimensions_alone(tmp_path):
    notes = []
    cluster = imported(tmp_path, "astra-sim", network("Switch, Switch", "64, 512"), note=notes.append)
    assert (cluster.hosts, [d.size for d in cluster.dimensions]) == ((), [64, 512])
    assert notes == [f"{tmp_path}/astra-sim0: dimensions alone: a cluster file cannot hold as many hosts and links"]


def test_gpus_that_are_cabled_to_each_other(tmp_path):
    """One server; the GPU with the slowest links has 202 + 146 + 148 Gbit/s, and 2 to 3 is the longest way."""
    cluster = imported(tmp_path, "simai", GPU_LINKS)
    assert [(h.name, h.gpus) for h in cluster.hosts] == [("server0", 6)]
    (inside,) = cluster.dimensions
    assert (inside.type, inside.size, inside.rate_bps) == ("switch", 6, 496 * 10**9)
    assert inside.latency_ns == pytest.approx(2420 + 2530)
