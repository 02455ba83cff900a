# SPDX-License-Identifier: Apache-2.0
"""Topologies of SimAI as clusters and as networks of dimensions, worked out by hand.

Blind to: files of the generators themselves, which `test_public_inputs.py` reads from a folder.
"""

from __future__ import annotations

import pytest

from offramp.cluster.formats import Defaults, import_cluster
from offramp.themis.network import DimensionTopology
from offramp.themis.network_file import load_network
from offramp_base.errors import OfframpError

GPUS, NVSWITCHES, LEAVES, SPINES = range(8), (8, 9, 10, 11), (12, 13, 14, 15), (16,)


def topology(uplink: str = "200Gbps", servers_of_a_leaf: int = 2) -> str:
    """Four servers of two GPUs; each rail has a leaf switch for two servers, or for all."""
    lines = [f"{gpu} {8 + gpu // 2} 900Gbps 0.000025ms 0" for gpu in GPUS]
    for gpu in GPUS:
        block = gpu // 2 // servers_of_a_leaf
        lines.append(f"{gpu} {12 + 2 * block + gpu % 2} 400Gbps 0.0005ms 0")
    lines += [f"{leaf} 16 {uplink} 0.001ms 0" for leaf in LEAVES]
    return "\n".join([f"17 2 4 5 {len(lines)} H100", " ".join(map(str, range(8, 17))), *lines, ""])


def write(tmp_path, text):
    path = tmp_path / "Rail_8g_2gps_400Gbps_H100"
    path.write_text(text)
    return path


def test_dimensions(tmp_path):
    """Two GPUs on a leaf at 400 Gb/s each share 200 or 800 Gb/s up; the way over the spine is 0.5 + 1 + 1 + 0.5 us."""
    inside, rail = load_network(str(write(tmp_path, topology()))).dimensions
    assert (inside.kind, inside.size, inside.bandwidth_bps, inside.latency_ns) == (
        DimensionTopology.SWITCH,
        2,
        900e9,
        50,
    )
    assert (rail.kind, rail.size, rail.bandwidth_bps, rail.latency_ns) == (DimensionTopology.SWITCH, 4, 100e9, 3000)
    assert load_network(str(write(tmp_path, topology("800Gbps")))).dimensions[1].bandwidth_bps == 400e9
    whole = load_network(str(write(tmp_path, topology(servers_of_a_leaf=4)))).dimensions[1]
    assert (whole.bandwidth_bps, whole.latency_ns) == (400e9, 1000)  # no need of the spine


@pytest.mark.parametrize("uplink", ["200000000000bps", "200000000Kbps", "200000Mbps", "0.2Tbps"])
def test_units_of_rates(tmp_path, uplink):
    same, known = (load_network(str(write(tmp_path, topology(rate)))) for rate in (uplink, "200Gbps"))
    assert same.dimensions == known.dimensions


def test_servers_of_no_power_of_two(tmp_path):
    """Three servers of two GPUs, on two rails."""
    lines = [f"{gpu} {6 + gpu // 2} 900Gbps 0.000025ms 0" for gpu in range(6)]
    lines += [f"{gpu} {9 + gpu % 2} 400Gbps 0.0005ms 0" for gpu in range(6)]
    text = "\n".join(["11 2 3 2 12 H100", " ".join(map(str, range(6, 11))), *lines, ""])
    rail = load_network(str(write(tmp_path, text))).dimensions[1]
    assert (rail.kind, rail.size, rail.bandwidth_bps, rail.latency_ns) == (DimensionTopology.SWITCH, 3, 400e9, 1000)


def test_cluster(tmp_path):
    cluster = import_cluster("simai", [write(tmp_path, topology())], Defaults())
    assert [(h.name, h.gpus) for h in cluster.hosts] == [(f"server{k}", 2) for k in range(4)]
    assert [(s.name, s.target, s.ports) for s in cluster.switches] == [
        *((f"switch{n}", "plain", 3) for n in LEAVES),
        ("switch16", "plain", 4),
    ]
    first = cluster.links[0]
    assert (str(first.a), first.b.node, first.rate_bps, first.delay_ns) == ("server0:eth0", "switch12", 4 * 10**11, 500)
    assert len(cluster.links) == len(GPUS) + len(LEAVES)
    assert [(d.size, d.latency_ns) for d in cluster.dimensions] == [(2, 50), (4, 3000)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("17 2 4 5", "17 3 4 5"), "line 1: 8 GPUs in servers of 3: expected whole servers"),
        (("17 2 4 5", "17 2 4 3"), "line 2: expected the 7 switches, from 10 to 16"),
        (("8 9 10", "8 8 10"), "line 2: expected the 9 switches, from 8 to 16"),
        (("4 5 20 H100", "4 5 21 H100"), "line 1: 21 links, but 20 lines of links"),
        (("900Gbps 0.000025ms 0", "900Gbps 0.000025ms"), "line 3: expected FROM TO RATE LATENCY ERROR_RATE"),
        (("0 8 900Gbps", "0 17 900Gbps"), "line 3: 0 17: expected two nodes, below 17"),
        (("0 8 900Gbps", "0 0 900Gbps"), "line 3: 0 0: expected two nodes, below 17"),
        (("0 8 900Gbps", "17 8 900Gbps"), "line 3: 17 8: expected two nodes, below 17"),
        (("0 8 900Gbps", "x 8 900Gbps"), "line 3: x 8: expected two nodes, below 17"),
        (("0 8 900Gbps", "0 8 fast"), "line 3: fast: expected a rate such as 400Gbps"),
        (("0.000025ms", "soon"), "line 3: soon: "),
        (("0 8 900Gbps", "0 12 900Gbps"), "no NVSwitch joins the GPUs of a server"),
        (("15 16 200Gbps", "13 16 200Gbps"), None),
        (("14 16 200Gbps", "13 16 200Gbps"), "no way from GPU 0 to GPU 4: expected links through switches"),
    ],
)
def test_faults(tmp_path, change, message):
    path = write(tmp_path, topology().replace(*change, 1))
    if message is None:  # the other rail is not looked at: rails are alike
        load_network(str(path))
        return
    with pytest.raises(OfframpError, match=message):
        load_network(str(path))
    with pytest.raises(OfframpError, match=message):
        import_cluster("simai", [path], Defaults())
