# SPDX-License-Identifier: Apache-2.0
"""Training through a switch behind the kernel's lossy links: frames that netem drops, doubles and puts out of order.

Oracle: the losses of quantised p2p, to the bit, and netem's own counts. Blind to what netem does not do here: bursts,
and damage that Ethernet's checksums would not find. The kernel needs ``sch_netem``; ``make guest`` brings one that has.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import namespaces
from offramp.hermod.deploy import Tc
from offramp_cli.train import train
from offramp_p4 import EmbeddedSwitch

WORKERS = 2
OPTIONS = {"graph": "karate", "workers": WORKERS, "partition": "hash", "hidden": 8, "epochs": 2}
NETEM = "limit 100000 delay 2ms 1ms loss 2% duplicate 2% reorder 20%"


@pytest.mark.p4
@pytest.mark.netns
def test_switchgnn_over_netem(tmp_path: Path) -> None:
    namespaces.require()
    if not Tc().knows("netem"):
        pytest.skip("the kernel has no netem (sch_netem)")
    numbers = list(range(1, WORKERS + 1))
    with namespaces.Namespace() as space:
        for number in numbers:
            space.cable(f"host{number}", f"sw{number}", NETEM)
        interfaces = [f"sw{number}" for number in numbers]
        switch = EmbeddedSwitch(
            None, numbers, workdir=tmp_path, interfaces=interfaces, launcher=space.command, compile_seconds=300.0
        )
        with switch:
            live = {"switch": switch.address, "ports": ",".join(f"{n}@host{n}" for n in numbers)}
            options = {**OPTIONS, **live, "retry": 0.1, "timeout": 120, "json": tmp_path / "live.json"}
            command = [sys.executable, "-m", "offramp", "train", *(f"--{name}={v}" for name, v in options.items())]
            done = subprocess.run([*space.command, *command], capture_output=True, text=True, check=False, timeout=600)
        shown = subprocess.run(
            [*space.command, "tc", "-s", "qdisc", "show"], capture_output=True, text=True, check=True
        ).stdout
    assert done.returncode == 0, done.stderr
    train(**OPTIONS, propagator="p2p", codec="fixed", json=tmp_path / "p2p.json")
    result, host = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("live", "p2p"))
    assert [epoch["loss"] for epoch in result["per_epoch"]] == [epoch["loss"] for epoch in host["per_epoch"]]
    counts = re.findall(r"qdisc netem .*\n Sent \d+ bytes (\d+) pkt \(dropped (\d+)", shown)
    assert len(counts) == 2 * WORKERS
    assert all(int(sent) > 0 for sent, _ in counts)
    assert sum(int(dropped) for _, dropped in counts) > 0, shown
