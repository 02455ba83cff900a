# SPDX-License-Identifier: Apache-2.0
"""``offramp train`` through a switch that is there already: ours and bmv2, on veth pairs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from offramp import p4_text
from offramp_cli.train import train
from switch_targets import Bmv2, GrpcVeth, Target

WORKERS = 3
OPTIONS = {"graph": "sbm:n=60,k=3", "workers": WORKERS, "partition": "hash", "hidden": 8, "epochs": 2}
# bmv2 drops what does not fit its queues, so its packets come one by one.
PACE = {GrpcVeth: {}, Bmv2: {"window": 1, "gap": 0.004}}


@pytest.mark.p4
@pytest.mark.netns
@pytest.mark.parametrize("kind", [GrpcVeth, pytest.param(Bmv2, marks=pytest.mark.bmv2)], ids=lambda kind: kind.name)
def test_training_gives_the_bits_of_quantised_p2p(kind: type[Target], tmp_path: Path) -> None:
    target = kind(list(range(1, WORKERS + 1)), tmp_path)
    try:
        live = {"switch": target.address(), "ports": ",".join(f"{n}@host{n}" for n in target.ports)}
        if kind is Bmv2:
            target.program = tmp_path / "switchgnn.p4"
            target.program.write_text(p4_text("switchgnn/v1model.p4"))
            target._device_config()
            live |= {"p4info": tmp_path / "program.txtpb", "device-config": tmp_path / "program.json"}
        options = {**OPTIONS, **live, **PACE[kind], "timeout": 20, "json": tmp_path / "live.json"}
        flags = [f"--{name}={value}" for name, value in options.items()]
        command = [*target._namespace.command, sys.executable, "-m", "offramp", "train", *flags]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    finally:
        target.close()
    assert done.returncode == 0, done.stderr
    train(**OPTIONS, propagator="p2p", codec="fixed", json=tmp_path / "p2p.json")
    result, host = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("live", "p2p"))
    assert [epoch["loss"] for epoch in result["per_epoch"]] == [epoch["loss"] for epoch in host["per_epoch"]]
    assert result["test_accuracy"] == host["test_accuracy"]
    cut_edges = result["settings"]["cut_edges"]
    assert result["passes"] == 2 * 4 * 2 * cut_edges  # two epochs of four exchanges
    assert (result["aggregators_peak"] is None) == (kind is Bmv2)  # bmv2 does not let registers be read
