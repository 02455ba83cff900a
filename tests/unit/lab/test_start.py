# SPDX-License-Identifier: Apache-2.0
"""A laboratory in namespaces on a machine without the commands for them is refused before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from offramp.cluster import parse_cluster
from offramp_base.errors import OfframpError
from offramp_sim.lab.holder import addressed
from offramp_sim.lab.start import possible_mode, start

CLUSTER = "name: none\nhosts:\n  - {name: h1}\nswitches:\n  - {name: s1}\nlinks:\n  - {ends: [h1, s1], rate: 1gbit}\n"


@pytest.mark.parametrize("mode", ["root", "user"])
def test_missing_commands_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mode: str) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OfframpError, match="no ip and tc and unshare and nsenter on PATH; they come with iproute2"):
        start(tmp_path / "cluster.yaml", mode=mode)
    assert possible_mode()[0] == "sockets"


def test_links_that_fail_are_for_simulators() -> None:
    cluster = parse_cluster(f"{CLUSTER}failures:\n  - {{link: [h1, s1], at: 1s, until: 2s}}\n", "cluster.yaml")
    with pytest.raises(OfframpError, match=r"cluster\.yaml: failures: no link of a laboratory fails by itself"):
        addressed(cluster)
