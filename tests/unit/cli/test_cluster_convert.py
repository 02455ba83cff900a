# SPDX-License-Identifier: Apache-2.0
"""``offramp cluster import``: what goes to which stream, and what links get for which the files say nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from offramp.cluster import parse_cluster
from offramp_base.errors import OfframpError
from offramp_cli.app import app

LAB = """\
name: lab
topology:
  nodes:
    a: {kind: linux}
    b: {kind: linux}
    idle: {kind: linux}
    s: {kind: bridge}
  links:
    - endpoints: ["a:eth1", "s:e1"]
    - endpoints: ["b:eth1", "s:e2"]
"""


def run(folder: Path, *arguments: str) -> Result:
    (folder / "lab.clab.yml").write_text(LAB)
    return CliRunner().invoke(app, ["cluster", "import", "containerlab", str(folder / "lab.clab.yml"), *arguments])


def test_the_cluster_is_all_that_is_printed(tmp_path: Path) -> None:
    result = run(tmp_path)
    assert result.stderr == f"{tmp_path}/lab.clab.yml: left out: idle: without links to other nodes\n"
    assert result.stdout.endswith("\n")
    assert not result.stdout.endswith("\n\n")
    assert {link.rate_bps for link in parse_cluster(result.stdout, "stdout").links} == {10_000_000_000}
    written = run(tmp_path, "--out", str(tmp_path / "cluster.yaml"))
    assert written.stdout == ""
    assert (tmp_path / "cluster.yaml").read_text() == result.stdout


@pytest.mark.parametrize(("rate", "bits_per_s"), [("100gbit", 10**11), ("1gbit", 10**9)])
def test_a_rate_that_is_given(tmp_path: Path, rate: str, bits_per_s: int) -> None:
    links = parse_cluster(run(tmp_path, "--rate", rate).stdout, "stdout").links
    assert {link.rate_bps for link in links} == {bits_per_s}


def test_what_is_apart_is_joined_only_where_that_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "apart.clab.yml"
    file.write_text(LAB.replace('"b:eth1", "s:e2"', '"b:eth1", "idle:e2"'))
    apart = CliRunner().invoke(app, ["cluster", "import", "containerlab", str(file)])
    assert isinstance(apart.exception, OfframpError)
    joined = CliRunner().invoke(app, ["cluster", "import", "containerlab", str(file), "--flat"])
    assert joined.exit_code == 0
    assert {host.name for host in parse_cluster(joined.stdout, "stdout").hosts} >= {"a", "b"}
