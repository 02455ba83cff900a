# SPDX-License-Identifier: Apache-2.0
"""Networks and workloads from files, ours and ASTRA-sim's, and one line for every fault."""

from __future__ import annotations

import json

import pytest

from offramp.themis.network import Collective, DimensionTopology
from offramp.themis.network_file import load_network
from offramp.themis.plan import Scheduler
from offramp.themis.topologies import PAPER
from offramp_base.errors import OfframpError
from offramp_sim.themis.iteration import train
from offramp_sim.themis.workload import CommunicationScope
from offramp_sim.themis.workload_file import load_workload

POD = """name: pod
dimensions:
  - {type: switch, size: 16, rate: 1200gbit, latency: 700ns}
  - {type: in-network, size: 8, rate: 400gbit, payload_share: 0.63}
"""
ASTRA = """
topology: [ Ring, FullyConnected, Switch ]  # comment
npus_count: [ 4, 4, 8 ]
bandwidth: [ 50.0, 25.0, 12.5 ]  # GB/s
latency: [ 500.0, 500, 1000.0 ]
"""
HIERARCHICAL = {
    "topology-name": "Hierarchical",
    "topologies-per-dim": ["Ring", "FullyConnected", "Switch"],
    "dimension-type": ["T", "N", "P"],
    "dimensions-count": 3,
    "units-count": [4, 8, 2],
    "links-count": [4, 7, 3],
    "link-latency": [400, 500, 600],
    "link-bandwidth": [100, 20, 10],
    "nic-latency": [0, 0, 5],
    "router-latency": [0, 0, 30],
    "hbm-latency": [450, 450, 450],
    "hbm-bandwidth": [50, 50, 50],
    "hbm-scale": [0, 0, 0],
}
LAYERS = """
name = "mine"
model_parallel = 128
[[layer]]
name = "a"
forward_us = 1.5
forward = [{ collective = "all-to-all", bytes = 1000, scope = "model", blocking = true }]
[[layer]]
name = "b"
weight_us = 2
weight = [{ bytes = 4096, scope = "data" }]
awaits = "a"
"""
DLRM = """HYBRID_DLRM 1
4
Embedding -1 300 ALLTOALL 98304 300 ALLTOALL 98304 300 NONE 0 98
Bottom_0 -1 1280 NONE 0 794 NONE 0 896 ALLREDUCE 13312 13
Top_0 -1 6400 NONE 0 6400 NONE 0 4480 ALLREDUCE 1064960 1065
Top_1 -1 2560 NONE 0 2560 NONE 0 1792 ALLREDUCE 524288 524
"""


def test_a_ring_says_its_directions(tmp_path):
    path = tmp_path / "n.yaml"
    for word, expected in ((", bidirectional: false", False), (", bidirectional: true", True), ("", None)):
        path.write_text(f"name: r\ndimensions:\n  - {{type: ring, size: 4, rate: 100gbit{word}}}\n")
        assert load_network(str(path)).dimensions[0].bidirectional is expected
    path.write_text("name: r\ndimensions:\n  - {type: switch, size: 4, rate: 100gbit, bidirectional: true}\n")
    with pytest.raises(OfframpError, match="dim1: switch dimension: bidirectional: applies to rings only"):
        load_network(str(path))


def test_network_of_a_cluster_file(tmp_path):
    (tmp_path / "n.yaml").write_text(POD)
    network = load_network(str(tmp_path / "n.yaml"))
    assert (network.name, network.npus) == ("pod", 128)
    first, second = network.dimensions
    assert (first.bandwidth_bps, first.latency_ns) == (1200e9, 700)
    assert (second.kind, second.payload_share) == (DimensionTopology.IN_NETWORK, 0.63)


def test_astra_network(tmp_path):
    (tmp_path / "n.yml").write_text(ASTRA)
    network = load_network(str(tmp_path / "n.yml"))
    assert [d.kind for d in network.dimensions] == [
        DimensionTopology.RING,
        DimensionTopology.FULLY_CONNECTED,
        DimensionTopology.SWITCH,
    ]
    assert [d.bandwidth_bps for d in network.dimensions] == [rate * 8 * 2**30 for rate in (100, 75, 12.5)]
    assert load_network("2D-SW_SW") is PAPER["2D-SW_SW"]


def test_astra_network_of_one_dimension_without_brackets(tmp_path):
    (tmp_path / "n.yml").write_text("topology: Switch  # one\nnpus_count: [4]\nbandwidth: 25.0\nlatency: [1.0]\n")
    (only,) = load_network(str(tmp_path / "n.yml")).dimensions
    assert (only.kind, only.size, only.bandwidth_bps, only.latency_ns) == (
        DimensionTopology.SWITCH,
        4,
        25 * 8 * 2**30,
        2,
    )


def test_astra_1_networks_as_lists(tmp_path):
    """Links of an NPU count together; a switch has two links on the way, and each end has a card."""
    (tmp_path / "n.json").write_text(json.dumps(HIERARCHICAL))
    network = load_network(str(tmp_path / "n.json"))
    assert [d.kind for d in network.dimensions] == [
        DimensionTopology.RING,
        DimensionTopology.FULLY_CONNECTED,
        DimensionTopology.SWITCH,
    ]
    assert [d.bandwidth_bps / 8 / 2**30 for d in network.dimensions] == [400, 7 * 20, 3 * 10]
    assert [d.latency_ns for d in network.dimensions] == [400, 500, 2 * 600 + 30 + 2 * 5]
    (tmp_path / "m.json").write_text(json.dumps(HIERARCHICAL | {"links-count": [5, 14, 1], "hbm-scale": [0, 2, 1]}))
    ring, full, switch = load_network(str(tmp_path / "m.json")).dimensions
    assert ring.bandwidth_bps == 4 * 100 * 8 * 2**30  # of five links, as many one way as the other
    assert (full.bandwidth_bps, full.latency_ns) == (7 * 50 / 2 * 8e9, 2 * 450)  # memory is what bounds it
    assert switch.latency_ns == 1240


@pytest.mark.parametrize(
    ("fields", "dimensions"),
    [
        ({"topology-name": "Ring_AllToAll_SW", "units-count": [2, 4, 8]}, "ring 2, fully-connected 4, switch 8"),
        ({"topology-name": "FullyConnected", "units-count": [5]}, "fully-connected 5"),
        ({"topology-name": "Torus2D", "units-count": [8, 6]}, "ring 8, ring 6"),
        ({"topology-name": "Torus3D", "units-count": [4, 2, 3]}, "ring 4, ring 2, ring 3"),
        ({"topology-name": "Torus2D", "packages-counts": [12], "topology-shape-configs": [[3, 4]]}, "ring 3, ring 4"),
        ({"topology-name": "torus", "dims-count": 1, "nodes-per-dim": 9}, "ring 3, ring 3"),
        ({"topology-name": "Switch", "packages-counts": [4]}, "switch 4"),
    ],
)
def test_earlier_forms_of_astra_1_networks(tmp_path, fields, dimensions):
    count = len(fields.get("units-count", fields.get("packages-counts", [0])))
    rates = {key: [25] * count for key in ("link-bandwidth", "link-latency", "nic-latency")}
    (tmp_path / "n.json").write_text(json.dumps(fields | rates))
    network = load_network(str(tmp_path / "n.json"))
    assert ", ".join(f"{d.kind} {d.size}" for d in network.dimensions) == dimensions


def test_the_oldest_form_with_the_run_beside_the_topology(tmp_path):
    shape = {"name": "switch", "hosts_count": 32, "bandwidth": 3.125, "link_latency": 500, "switch_latency": 10}
    text = json.dumps({"topology_configuration": shape, "run_configuration": {"num_passes": 2}})
    (tmp_path / "n.json").write_text(text)
    (only,) = load_network(str(tmp_path / "n.json")).dimensions
    assert (only.kind, only.size, only.bandwidth_bps, only.latency_ns) == (
        DimensionTopology.SWITCH,
        32,
        3.125 * 8 * 2**30,
        1010,
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"topologies-per-dim": ["Ring", "Dragonfly", "Switch"]}, "dim2: dimension type 'Dragonfly': expected one of"),
        ({"topologies-per-dim": ["Ring", "Switch"]}, "dimensions-count: 3, but 2 topologies and 3 counts of NPUs"),
        ({"units-count": "many"}, "units-count: .'many'.: expected the NPUs of each dimension"),
        ({"links-count": [2, 3, 1]}, "dim2: 3 links: expected one to each of 7 others"),
        ({"link-latency": [1, 2]}, "link-latency: 2 items: expected one for each dimension"),
        ({"link-bandwidth": [1, "fast", 2]}, "link-bandwidth: 'fast': expected a number of at least 0"),
        ({"link-bandwidth": [1, 2, 0]}, "dim3: 2 NPUs, 0 bit/s"),
        ({"hbm-scale": [1, 1, 1], "hbm-bandwidth": [1, 1]}, "hbm-bandwidth: 2 items: expected one for each"),
        ({"links": 1}, "links: no such field of a network"),
        ({"packages-counts": [1]}, "packages-counts: units-count for a second time"),
        ({"topology-name": "Torus2D", "units-count": [7]}, "expected the sides of a torus of 2 dimensions"),
    ],
)
def test_bad_astra_1_networks(tmp_path, change, message):
    (tmp_path / "n.json").write_text(json.dumps(HIERARCHICAL | change))
    with pytest.raises(OfframpError, match=f"n.json: .*{message}"):
        load_network(str(tmp_path / "n.json"))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("n.toml", "name =", "n.toml: not TOML"),
        ("n.yaml", "name: x", "n.yaml:1: hosts: expected at least one host"),
        ("n.yaml", "hosts: [{name: a}]", "n.yaml: dimensions: expected how the ranks are joined"),
        ("n.yaml", POD.replace("switch", "torus"), r"n.yaml:3: dimensions\[0\].type: torus: expected one of ring"),
        ("n.yaml", POD.replace("400gbit", "0"), r"n.yaml:4: dimensions\[1\].rate: 0: expected 1 to 1000Tbit"),
        ("n.yaml", POD.replace("size: 16,", ""), r"n.yaml:3: dimensions\[0\]: expected size"),
        ("n.yaml", POD.replace("700ns", "fast"), r"n.yaml:3: dimensions\[0\].latency: fast: expected a time such as"),
        ("n.yaml", POD.replace("payload_share", "share"), r"n.yaml:4: dimensions\[1\].share: no such field"),
        ("n.yml", ASTRA.replace("npus_count", "npus"), "line 3: expected one of topology"),
        ("n.yml", ASTRA.replace(", 12.5", ""), "bandwidth: expected one item for each dimension"),
        ("n.yml", ASTRA + "latency: [ 1 ]", "line 6: latency for a second time"),
        ("n.yml", ASTRA.replace("12.5", "x"), "dim3: 8, x, 1000.0: expected an integer and two numbers"),
    ],
)
def test_bad_networks(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(OfframpError, match=message):
        load_network(str(tmp_path / name))


def test_missing_files():
    with pytest.raises(OfframpError, match=r"network nowhere\.toml: cannot be read: No such file"):
        load_network("nowhere.toml")
    with pytest.raises(OfframpError, match=r"workload nowhere\.toml: cannot be read: No such file"):
        load_workload("nowhere.toml", PAPER["2D-SW_SW"])


def test_toml_workload(tmp_path):
    (tmp_path / "w.toml").write_text(LAYERS)
    network = PAPER["3D-SW_SW_SW_homo"]
    workload = load_workload(str(tmp_path / "w.toml"), network)
    first, second = workload.layers
    assert (first.forward_ps, first.forward[0].scope, first.forward[0].blocking) == (
        1_500_000,
        CommunicationScope.MODEL,
        True,
    )
    assert (second.weight[0].collective, second.awaits) == (Collective.ALL_REDUCE, "a")
    dims = workload.dims(network)
    assert (dims[CommunicationScope.ALL], dims[CommunicationScope.MODEL], dims[CommunicationScope.DATA]) == (
        (0, 1, 2),
        (0, 1),
        (2,),
    )
    assert train(workload, network, Scheduler.THEMIS_SCF).compute == 3_500_000


def test_astra_workload(tmp_path):
    (tmp_path / "dlrm.txt").write_text(DLRM)
    workload = load_workload(str(tmp_path / "dlrm.txt"), PAPER["2D-SW_SW"])
    embedding, bottom, top, _ = workload.layers
    assert embedding.forward[0].collective is Collective.ALL_TO_ALL
    assert (embedding.input, top.awaits, top.input[0].size) == ((), "Embedding", 98304)
    assert (bottom.forward_ps, bottom.weight[0].size) == (1_280_000, 13312)
    breakdown = train(workload, PAPER["2D-SW_SW"], Scheduler.THEMIS_SCF)
    assert breakdown.compute == 1000 * (300 + 1280 + 6400 + 2560 + 300 + 794 + 6400 + 2560 + 300 + 896 + 4480 + 1792)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("w.toml", "", r"expected a table \[\[layer\]\]"),
        ("w.toml", LAYERS.replace("1.5", "true"), "layer a: forward_us True: expected microseconds"),
        ("w.toml", LAYERS.replace("1.5", "1e308"), "layer a: forward_us 1e[+]308: expected microseconds"),
        ("w.toml", LAYERS.replace("1.5", "nan"), "layer a: forward_us nan: expected microseconds"),
        ("w.toml", '[[layer]]\nname = "a"\nweight = 1.5', "layer a: weight: expected a list of exchanges"),
        ("w.toml", "layer = " + "[" * 1000, "not TOML: nested deeper than 50"),
        ("w.txt", DLRM.replace("\n4\n", "\n\u00b2\n"), "line 2: \u00b2: expected the number of layers"),
        ("w.txt", "DATA\n1", "expected a line with the parallelism"),
        (
            "w.txt",
            DLRM.replace("HYBRID_DLRM 1", f"HYBRID_DLRM {'9' * 5000}"),
            "line 1: 9{40}: expected a number, or one of model_parallel",
        ),
        ("w.toml", LAYERS.replace("1000", "-1"), "layer a: forward: bytes -1"),
        ("w.toml", LAYERS.replace('"model"', '"some"'), "layer a: forward: scope 'some': expected one of all"),
        ("w.toml", LAYERS.replace("all-to-all", "gossip"), "collective 'gossip'"),
        ("w.toml", LAYERS.replace("awaits", "waits"), "layer 2: unknown field 'waits'"),
        ("w.toml", LAYERS.replace("128", "0"), "model_parallel 0"),
        ("w.txt", DLRM.replace("HYBRID_DLRM 1", "PIPELINE"), "parallelism 'PIPELINE'"),
        ("w.txt", DLRM.replace("\n4\n", "\n5\n"), "expected 5 layers, there are 4"),
        ("w.txt", DLRM.replace("HYBRID_DLRM 1", "HYBRID_DLRM 9"), "expected the number of the last bottom layer"),
        ("w.txt", DLRM.replace("13312", "many"), "line 4: layer Bottom_0: many: expected bytes"),
        ("w.txt", DLRM.replace("ALLTOALL", "GOSSIP"), "line 3: layer Embedding: 'GOSSIP': expected NONE, or ALLREDUCE"),
    ],
)
def test_bad_workload_files(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(OfframpError, match=message):
        load_workload(str(tmp_path / name), PAPER["2D-SW_SW"])
