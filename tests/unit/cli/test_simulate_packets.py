# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate packets`` from its options to its numbers."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from offramp_base.errors import OfframpError
from offramp_cli.app import app


def run(*arguments):
    return CliRunner().invoke(app, ["simulate", "packets", *arguments])


@pytest.mark.parametrize("network", ["star:9", "leaf-spine:2x2x4", "fat-tree:2x2x2x2x2"])
@pytest.mark.parametrize("traffic", ["incast", "permutation", "all-to-all"])
def test_controls_beside_none(network, traffic, tmp_path):
    path = tmp_path / "r.json"
    result = run("--network", network, "--traffic", traffic, "--size", "300KB", "--rate", "10gbit", "--json", str(path))
    assert result.exit_code == 0, result.output
    controls = json.loads(path.read_text())["controls"]
    assert list(controls) == ["none", "dctcp", "dcqcn", "swift", "hpcc"]
    if traffic == "incast":
        assert controls["none"]["peak_queue_bytes"] > 2 * controls["dctcp"]["peak_queue_bytes"]
        assert all(each["fairness"] > 0.9 for each in controls.values())
        line_s = 300_000 * 8 * 7 / 1e10
        assert all(each["seconds"] > line_s for each in controls.values())


def test_cores_and_thresholds_that_are_set(tmp_path):
    path, results = tmp_path / "r.json", []
    base = ("--network", "leaf-spine:2x2x4", "--traffic", "permutation", "--mark", "3KB", "--mark-all", "9KB")
    for cores in ("1", "2"):
        options = ("--mark-probability", "0.2", "--control", "dctcp", "--cores", cores, "--loss", "0.001")
        assert run(*base, *options, "--json", str(path)).exit_code == 0
        control = json.loads(path.read_text())["controls"]["dctcp"]
        results.append({name: value for name, value in control.items() if name != "packets_per_second"})
    assert results[0] == results[1]
    assert results[0]["marked"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--network", "ring:4"), "expected star:HOSTS"),
        (("--network", "leaf-spine:2x0x4"), "expected star:HOSTS"),
        (("--network", "star:1"), "expected at least 2"),
        (("--mark-all", "4KB"), "expected more than --mark"),
        (("--rate", "7gbit"), "expected a divisor"),
        (("--control", "reno"), "reno"),
    ],
)
def test_settings_that_make_no_network(arguments, message):
    result = run(*arguments)
    assert result.exit_code != 0
    assert message in " ".join((result.output + str(result.exception)).split())


CLUSTER = """
hosts: [{name: "h[1-4]"}]
switches: [{name: "l[1-2]", target: plain}, {name: "s[1-2]", target: plain}]
links:
  - {ends: ["h[1-2]", l1], rate: 40gbit}
  - {ends: ["h[3-4]", l2], rate: 40gbit}
  - {ends: ["l[1-2]", s1], rate: 12gbit, delay: 1us}
  - {ends: ["l[1-2]", s2], rate: 12gbit, delay: 1us}
routing: ecmp
failures: [{link: [l1, s2]}]
"""


def test_a_cluster_file_and_a_matrix_of_connections(tmp_path):
    """Both flows cross the one link left, of a rate without whole picoseconds per byte."""
    (tmp_path / "c.yaml").write_text(CLUSTER)
    (tmp_path / "two.cm").write_text(
        "Nodes 4\nConnections 2\n0->2 id 1 start 0 size 600000\n1->3 id 2 start 0 size 600000\n"
    )
    path = tmp_path / "r.json"
    options = ("--flows", str(tmp_path / "two.cm"), "--control", "none", "--json", str(path))
    result = run("--network", str(tmp_path / "c.yaml"), *options)
    assert result.exit_code == 0, result.output
    seconds = json.loads(path.read_text())["controls"]["none"]["seconds"]
    assert seconds == pytest.approx(1_200_000 * (1024 + 82) / 1024 * 8 / 12e9, rel=0.03)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0->9 id 1 start 0 size 5\n", "two.cm:1: 0->9: expected two of 4 hosts"),
        ("0->1 id 1 start 0\n", "two.cm:1: expected start and size"),
        ("0->1 id 1 trigger 4 size 9 start 0\n", "no triggers"),
        ("hello\n", "two.cm:1: hello: expected SOURCE->SINK"),
        ("Nodes 4\n", "no connections"),
    ],
)
def test_a_matrix_that_says_what_cannot_be_is_one_line(tmp_path, text, message):
    (tmp_path / "two.cm").write_text(text)
    result = run("--network", "star:4", "--flows", str(tmp_path / "two.cm"))
    assert isinstance(result.exception, OfframpError | SystemExit)
    assert message in " ".join(f"{result.exception} {result.output}".split())


def test_pauses_beside_all_controls(tmp_path):
    path = tmp_path / "r.json"
    result = CliRunner().invoke(
        app,
        [
            "simulate",
            "packets",
            "--network",
            "star:5",
            "--size",
            "200KB",
            "--pfc",
            "50KB",
            "--spray",
            "--json",
            str(path),
        ],
    )
    assert result.exit_code == 0, result.output
    controls = json.loads(path.read_text())["controls"]
    assert list(controls) == ["none", "dctcp", "dcqcn", "swift", "hpcc"]
    assert controls["none"]["pauses"] > 0
    assert not any(each["dropped"] for each in controls.values())


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--loss", "0.1"), "--loss: does not go with pauses (--pfc)"),
        (("--cores", "2"), "--cores: does not go with pauses (--pfc)"),
    ],
)
def test_what_does_not_go_with_pauses_is_one_line(words, problem):
    result = CliRunner().invoke(app, ["simulate", "packets", "--pfc", "50KB", *words])
    assert result.exit_code != 0
    assert problem in " ".join(f"{result.exception} {result.output}".split())
