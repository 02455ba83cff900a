# SPDX-License-Identifier: Apache-2.0
"""Networks and workloads from files, ours and ASTRA-sim's, and one line for every fault."""

from __future__ import annotations

import pytest

from offramp.themis.network import Collective, Kind
from offramp.themis.network_file import load_network
from offramp.themis.plan import Scheduler
from offramp.themis.topologies import PAPER
from offramp_base.errors import OfframpError
from offramp_sim.themis.iteration import train
from offramp_sim.themis.workload import Scope
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


def test_network_of_a_cluster_file(tmp_path):
    (tmp_path / "n.yaml").write_text(POD)
    network = load_network(str(tmp_path / "n.yaml"))
    assert (network.name, network.npus) == ("pod", 128)
    first, second = network.dimensions
    assert (first.bandwidth_bps, first.latency_ns) == (1200e9, 700)
    assert (second.kind, second.payload_share) == (Kind.IN_NETWORK, 0.63)


def test_astra_network(tmp_path):
    (tmp_path / "n.yml").write_text(ASTRA)
    network = load_network(str(tmp_path / "n.yml"))
    assert [d.kind for d in network.dimensions] == [Kind.RING, Kind.FULLY_CONNECTED, Kind.SWITCH]
    assert [d.bandwidth_bps for d in network.dimensions] == [rate * 8 * 2**30 for rate in (100, 75, 12.5)]
    assert load_network("2D-SW_SW") is PAPER["2D-SW_SW"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("n.toml", "name =", "n.toml: not TOML"),
        ("n.yaml", "name: x", "n.yaml:1: hosts: expected at least one host"),
        ("n.yaml", "hosts: [{name: a}]", "n.yaml: dimensions: expected how the ranks are joined"),
        ("n.yaml", POD.replace("switch", "torus"), r"n.yaml:3: dimensions\[0\].type: torus: expected one of ring"),
        ("n.yaml", POD.replace("size: 16", "size: 12"), "dim1: switch dimension: size 12"),
        ("n.yaml", POD.replace("400gbit", "0"), r"n.yaml:4: dimensions\[1\].rate: 0: expected at least 1"),
        ("n.yaml", POD.replace("size: 16,", ""), r"n.yaml:3: dimensions\[0\]: expected size"),
        ("n.yaml", POD.replace("700ns", "fast"), r"n.yaml:3: dimensions\[0\].latency: fast: expected a time such as"),
        ("n.yaml", POD.replace("payload_share", "share"), r"n.yaml:4: dimensions\[1\].share: no such field"),
        ("n.yml", ASTRA.replace("npus_count", "npus"), "line 3: expected one of topology"),
        ("n.yml", ASTRA.replace(", 12.5", ""), "bandwidth: expected one item for each dimension"),
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
    assert (first.forward_ps, first.forward[0].scope, first.forward[0].blocking) == (1_500_000, Scope.MODEL, True)
    assert (second.weight[0].collective, second.awaits) == (Collective.ALL_REDUCE, "a")
    assert workload.dims(network) == {Scope.ALL: (0, 1, 2), Scope.MODEL: (0, 1), Scope.DATA: (2,)}
    assert train(workload, network, Scheduler.THEMIS_SCF).compute == 3_500_000


def test_astra_workload(tmp_path):
    (tmp_path / "dlrm.txt").write_text(DLRM)
    workload = load_workload(str(tmp_path / "dlrm.txt"), PAPER["2D-SW_SW"])
    embedding, bottom, top, _ = workload.layers
    assert embedding.forward[0].collective is Collective.ALL_TO_ALL
    assert (embedding.input, top.awaits, top.input[0].size) == ((), "Embedding", 98304)
    assert (bottom.forward_ps, bottom.weight[0].size) == (1_280_000, 13312)
    found = train(workload, PAPER["2D-SW_SW"], Scheduler.THEMIS_SCF)
    assert found.compute == 1000 * (300 + 1280 + 6400 + 2560 + 300 + 794 + 6400 + 2560 + 300 + 896 + 4480 + 1792)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("w.toml", "", r"expected a table \[\[layer\]\]"),
        ("w.toml", LAYERS.replace("1.5", "true"), "layer a: forward_us True: expected microseconds"),
        ("w.toml", LAYERS.replace("1.5", "1e308"), "layer a: forward_us 1e[+]308: expected microseconds"),
        ("w.toml", LAYERS.replace("1.5", "nan"), "layer a: forward_us nan: expected microseconds"),
        ("w.toml", '[[layer]]\nname = "a"\nweight = 1.5', "layer a: weight: expected a list of exchanges"),
        ("w.toml", "layer = " + "[" * 1000, "not TOML: nested deeper than 50"),
        ("w.txt", DLRM.replace("\n4\n", "\n\u00b2\n"), "expected a line with the parallelism"),
        (
            "w.txt",
            DLRM.replace("HYBRID_DLRM 1", f"HYBRID_DLRM {'9' * 5000}"),
            "HYBRID_DLRM: expected a number behind it",
        ),
        ("w.toml", LAYERS.replace("1000", "-1"), "layer a: forward: bytes -1"),
        ("w.toml", LAYERS.replace('"model"', '"some"'), "layer a: forward: scope 'some': expected one of all"),
        ("w.toml", LAYERS.replace("all-to-all", "gossip"), "collective 'gossip'"),
        ("w.toml", LAYERS.replace("awaits", "waits"), "layer 2: unknown field 'waits'"),
        ("w.toml", LAYERS.replace("128", "0"), "model_parallel 0"),
        ("w.txt", DLRM.replace("HYBRID_DLRM 1", "PIPELINE"), "parallelism 'PIPELINE'"),
        ("w.txt", DLRM.replace("\n4\n", "\n5\n"), "expected 5 layers, there are 4"),
        ("w.txt", DLRM.replace("HYBRID_DLRM 1", "HYBRID_DLRM 9"), "expected the number of the last bottom layer"),
        ("w.txt", DLRM.replace("13312", "many"), "layer Bottom_0: 896, many: expected cycles and bytes"),
        ("w.txt", DLRM.replace("ALLTOALL", "GOSSIP"), "layer Embedding: 'GOSSIP': expected NONE or one of ALLREDUCE"),
    ],
)
def test_bad_workload_files(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(OfframpError, match=message):
        load_workload(str(tmp_path / name), PAPER["2D-SW_SW"])
