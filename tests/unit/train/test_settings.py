# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from offramp.graph.data import build_graph
from offramp.switchgnn.fabric import parse_ports
from offramp.train.planned import plan_run
from offramp.train.settings import TrainSettings
from offramp_base.errors import OfframpError


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"propagator": "tcp"}, "propagator tcp: expected one of local, p2p, strawman, switch"),
        ({"target": "psa"}, "target psa: expected one of v1model, v1model-replicated, tna, fpga"),
        ({"racks": 0}, "racks 0: expected at least 1"),
        ({"racks": 5}, "racks 5: expected at most one for each of 4 workers"),
        ({"spines": 2}, "spines: goes with racks of at least 2"),
        ({"racks": 2, "spines": 0}, "spines 0: expected at least 1"),
        ({"racks": 2, "propagator": "p2p"}, "racks 2: goes with propagator switch and target v1model only"),
        ({"racks": 2, "target": "tna"}, "racks 2: goes with propagator switch and target v1model only"),
        ({"target": "tna", "propagator": "strawman"}, "target tna: goes with propagator switch only"),
        ({"aggregator": "max"}, "aggregator max: expected one of gcn, mean, sum"),
        ({"codec": "fp8"}, "codec fp8: expected one of adaqp, fixed, fp32, q1, q2, q4, q8, sylvie"),
        ({"order": "up"}, "order up: expected one of gamr, degree, bfs, random, id"),
        ({"layers": 1}, "layers 1: expected 2 to 64"),
        ({"layers": 65}, "layers 65: expected 2 to 64"),
        ({"workers": 0}, "workers 0: expected at least 1"),
        ({"hidden": 0}, "hidden 0: expected at least 1"),
        ({"epochs": 0}, "epochs 0: expected at least 1"),
        ({"lr": 0.0}, "lr 0: expected more than 0"),
        ({"lr": float("nan")}, "lr nan: expected more than 0"),
        ({"dropout": 1.0}, "dropout 1: expected at least 0 and below 1"),
        ({"window": 0}, "window 0: expected at least 1"),
        ({"gap_s": -1.0}, "gap_s -1: expected at least 0"),
        (
            {"scheme": "hybrid", "racks": 2},
            "scheme hybrid: pairwise and hybrid go with one switch only, not with racks",
        ),
        ({"scheme": "pairwise", "propagator": "p2p"}, "scheme pairwise: goes with propagator switch only"),
        ({"scheme": "q8", "scale": "carried"}, "scheme q8: goes with scale agreed only"),
        ({"scheme": "auto", "plan": "p.npz"}, "scheme auto: goes without plan, which is of the paper's scheme"),
        ({"rates": "r.json"}, "rates: goes with scheme auto only"),
        ({"descent_lag": 0}, "descent_lag 0: expected at least 1"),
        (
            {"descent_lag": 9, "propagator": "p2p", "schedule": "stale"},
            "descent_lag 9: goes with schedule adaptive or codec sylvie only",
        ),
        ({"descent_lag": 9, "propagator": "p2p"}, "descent_lag 9: goes with schedule other than plain"),
        ({"timeout_s": 0.0}, "timeout_s 0: expected more than 0"),
    ],
)
def test_golden_errors(changes, message: str) -> None:
    with pytest.raises(OfframpError) as caught:
        TrainSettings("digits", **changes)
    assert str(caught.value) == message


def test_partitions_are_named_in_the_error() -> None:
    with pytest.raises(OfframpError, match=r"^partition best: expected one of auto, .*hash"):
        TrainSettings("digits", partition="best")


def test_more_workers_than_vertices(graph) -> None:
    with pytest.raises(OfframpError) as caught:
        plan_run(graph, TrainSettings("g", workers=41))
    message = "workers 41: the graph has 40 vertices, expected at most one worker for each"
    assert str(caught.value) == message


def test_memory_below_one_aggregator(graph) -> None:
    with pytest.raises(OfframpError, match=r"^memory 100 B: holds 0 aggregators; .* expected at least 256 B$"):
        plan_run(graph, TrainSettings("g", workers=2, partition="hash", memory=100))


def test_a_graph_without_labels_is_refused() -> None:
    ends = np.arange(5)
    graph = build_graph("bare", 5, (ends, (ends + 1) % 5), split="1/0/0")
    with pytest.raises(OfframpError, match=r"^graph bare.txt: no labels to train on; expected at least 2"):
        plan_run(graph, TrainSettings("bare.txt"))


def test_ports() -> None:
    assert parse_ports("veth0,veth1", 2) == [(1, "veth0"), (2, "veth1")]
    assert parse_ports("7@veth0,9@unix:/tmp/b", 2) == [(7, "veth0"), (9, "unix:/tmp/b")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("veth0", "ports: expected 2 links, one for each worker, got 1"),
        ("", "ports: expected 2 links, one for each worker, got 0"),
        ("x@veth0,veth1", "ports x@veth0: expected LINK or PORT@LINK with a port number"),
    ],
)
def test_ports_golden_errors(text: str, message: str) -> None:
    with pytest.raises(OfframpError) as caught:
        parse_ports(text, 2)
    assert str(caught.value) == message


def test_settings_are_all_in_the_description(graph) -> None:
    settings = TrainSettings("g", workers=2, partition="hash", features=str(Path("f.npy")))
    described = plan_run(graph, settings).describe()
    assert described.items() >= settings.as_dict().items()
    assert described["vertices"] == 40
    assert described["boundary_vertices"] > 0
    assert described["blocks"] == [1]


@pytest.mark.parametrize(
    "changes",
    [
        {"racks": 2, "spines": 2},
        {"target": "tna"},
        {"lanes": 64},
        {"loss": 0.1, "duplication": 0.1},
        {"scheme": "pairwise+hybrid"},
        {"codec": "q8"},
        {"checkpoint": Path("weights"), "resume": Path("weights")},
    ],
)
def test_the_same_training_by_another_propagator(changes: dict[str, object]) -> None:
    settings = TrainSettings(graph="karate", hidden=24, epochs=7, seed=3, **changes)
    for way in ("p2p", "local"):
        other = settings.by(way)
        assert other.propagator == way
        assert (other.graph, other.hidden, other.epochs, other.seed) == ("karate", 24, 7, 3)
        assert (other.racks, other.target, other.checkpoint, other.resume) == (1, "v1model", None, None)
