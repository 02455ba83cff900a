# SPDX-License-Identifier: Apache-2.0
"""A laboratory in namespaces on a machine without the commands for them is refused before anything starts."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from offramp.cluster import parse_cluster
from offramp_base.errors import OfframpError
from offramp_sim.lab.holder import addressed, build
from offramp_sim.lab.start import possible_mode, start

CLUSTER = "name: none\nhosts:\n  - {name: h1}\nswitches:\n  - {name: s1}\nlinks:\n  - {ends: [h1, s1], rate: 1gbit}\n"


@pytest.mark.parametrize("mode", ["root", "user"])
def test_missing_commands_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mode: str) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OfframpError, match="no ip and tc and unshare and nsenter on PATH; they come with iproute2"):
        start(tmp_path / "cluster.yaml", mode=mode)
    assert possible_mode()[0] == "sockets"


@pytest.mark.parametrize(
    ("ends", "at", "problem"),
    [
        ("h1, s1", "1s", "failures: at 1s: h1 > s1: packets need the links of hosts from start to end"),
        ("s1, s2", "2s", "failures: at 2s: no way from s1 to s2"),
        ("h1, s1", "0s", "failures: at 0ns: h1 > s1: packets need the links of hosts"),
    ],
)
def test_failures_that_cut_a_host_off_are_one_line(ends: str, at: str, problem: str, tmp_path: Path) -> None:
    text = "hosts: [{name: h1}, {name: h2}]\nswitches: [{name: s1}, {name: s2}]\nlinks:\n"
    text += "  - {ends: [h1, s1], rate: 1gbit}\n  - {ends: [h2, s2], rate: 1gbit}\n  - {ends: [s1, s2], rate: 1gbit}\n"
    cluster = parse_cluster(f"{text}failures:\n  - {{link: [{ends}], at: {at}}}\n", "cluster.yaml")
    with ExitStack() as stack, pytest.raises(OfframpError, match=f"cluster.yaml: {problem}"):
        build(addressed(cluster), tmp_path, "sockets", stack)
