# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate switchgnn`` from its options to its numbers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from offramp.cluster.write import cluster_text
from offramp.fabric import fabric_of, make_cluster
from offramp.graph import Boundary, load_graph, partition_graph
from offramp.switchgnn import make_plan
from offramp_cli.app import app
from offramp_sim.packets.exchange_load import exchange_load
from offramp_sim.packets.flows import all_to_all


def numbers(path: Path, *arguments: str) -> dict:
    done = CliRunner().invoke(app, ["simulate", "switchgnn", *arguments, "--json", str(path / "out.json")])
    assert done.exit_code == 0, done.output
    return json.loads((path / "out.json").read_text())


def test_bytes_on_a_cluster_s_links_are_those_of_its_fabric(tmp_path: Path) -> None:
    """The command simulates packets; the fabric counts from the plan and from pairs of hosts alone."""
    cluster = make_cluster("leaf-spine:2x2x2", rate_bps=10**10, delay_ns=500, routing="destination")
    file = tmp_path / "c.yaml"
    file.write_text(cluster_text(cluster))
    common = ["karate", "--network", str(file), "--partition", "hash", "--width", "64", "--memory", "64KB"]
    out = numbers(tmp_path, *common, "--acks", "none")
    boundary = Boundary(load_graph("karate"), partition_graph(load_graph("karate"), 4, "hash"), 4)
    fabric = fabric_of(cluster)
    expected = exchange_load(fabric, make_plan(boundary, 2, 64_000), "none").sum()
    run = out["schemes"]["switchgnn"]
    assert run["up_bytes"] + run["down_bytes"] + run["core_bytes"] == expected
    streams = all_to_all(boundary, 64)
    packets = -(-streams.size // 1024)
    between = fabric.load(streams.source, streams.sink, (streams.size + 82 * packets).astype(np.float64))
    hosts = out["schemes"]["bns-gcn"]
    assert hosts["up_bytes"] + hosts["down_bytes"] + hosts["core_bytes"] == between[: len(fabric.ends)].sum()
    everything = numbers(tmp_path, *common)["schemes"]["switchgnn"]
    assert everything["ack_bytes"] > 0 == run["ack_bytes"]
    assert everything["seconds"] > run["seconds"]


def test_a_link_that_fails_makes_the_exchange_longer(tmp_path: Path) -> None:
    text = cluster_text(make_cluster("leaf-spine:2x2x4", rate_bps=10**9, uplink_bps=10**9, delay_ns=500))
    file = tmp_path / "c.yaml"
    seconds = []
    for failures in ("", "failures:\n  - {link: [leaf1, spine1], at: 0}\n"):
        file.write_text(text + failures)
        out = numbers(tmp_path, "karate", "--network", str(file), "--partition", "hash", "--width", "256")
        seconds.append(out["schemes"]["bns-gcn"]["seconds"])
    assert seconds[1] > 1.2 * seconds[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--scheme", "strawman", "--network", "leaf-spine:2x1x2"],
            "--scheme strawman: its aggregators are in a single",
        ),
        (["--scheme", "ring"], "--scheme ring: expected one of"),
        (["--memory", "64"], "--memory 64 B: holds 0 aggregators"),
        (["nobody.npz"], "nobody.npz: no such file"),
    ],
)
def test_wrong_settings_are_one_line(arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(app, ["simulate", "switchgnn", *arguments])
    assert done.exit_code != 0
    assert message in str(done.exception)
    assert "\n" not in str(done.exception)
