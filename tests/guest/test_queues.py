# SPDX-License-Identifier: Apache-2.0
"""Queues that Debian's kernel has and those of many machines lack: ``prio`` under Hermod's deployment, ``netem`` below
SwitchGNN. Blind to the order in which prio serves bands: nothing waits on a veth pair."""

from __future__ import annotations

from pathlib import Path

import guest


def test_hermods_deployment_on_linux(tmp_path: Path) -> None:
    run = guest.suite(tmp_path, "tests/unit/hermod/deploy/test_linux.py")
    run.require(least=25)
    assert sum("prio" in name for name in run.passed) >= 5


def test_switchgnn_over_netem(tmp_path: Path) -> None:
    guest.suite(tmp_path, "tests/e2e/test_netem.py").require(least=1)
