# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate packets`` from its options to its numbers."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

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
    assert list(controls) == ["none", "dctcp", "dcqcn", "swift"]
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
