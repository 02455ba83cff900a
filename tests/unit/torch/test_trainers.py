# SPDX-License-Identifier: Apache-2.0
"""Other people's trainers with an offload switched on: their losses are gloo's (docs/torch.md).

    OFFRAMP_TRAINERS_PYTHON=DIR/bin/python pytest -m slow tests/unit/torch/test_trainers.py

Sums are made by a P4 switch on this machine, in fixed point. Blind spot: GPUs, and several machines.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import trainer_programs
from offramp.allreduce.control import with_session
from offramp.p4src import p4_text
from offramp_p4.embedded import EmbeddedSwitch
from trainers import needs_module, trainers_python

__all__ = ["trainers_python"]
pytestmark = pytest.mark.slow
PROGRAM = Path(trainer_programs.__file__)
RANKS = {"fsdp": 4}
MODULES = {"fsdp": "torch", "ray": "ray.train.torch"}
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node")


@pytest.fixture
def network(request, tmp_path: Path) -> Iterator[Path]:
    """The file of a switch that sums, with a port for each rank."""
    ports = list(range(1, 1 + RANKS.get(request.node.callspec.params["name"], 2)))
    with EmbeddedSwitch(None, ports) as switch:
        text = p4_text("allreduce/v1model.p4", {"PAGES": 8}).encode()
        with_session(switch.address, lambda session: session.push(b"", text), 20.0)
        folder = Path(switch.port_specs[0].removeprefix("unix:")).parent
        settings = {
            "offloads": ["allreduce"],
            "least": 1,
            "link": f"unix:{folder}/port{{port}}",
            "control": switch.address,
            "ports": ports,
        }
        path = tmp_path / "network.json"
        path.write_text(json.dumps(settings))
        yield path


def installed(folder: Path) -> str:
    """A folder for ``PYTHONPATH`` that makes ``import torch`` register the backend, as an installation does."""
    info = folder / "path" / "offramp-0.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.4\nName: offramp\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text("[torch.backends]\nofframp = offramp.torch:autoload\n")
    return str(info.parent)


def command(python: str, name: str, words: list[str]) -> list[str]:
    """The words by which a user starts a program."""
    if name == "torchx":
        torchx = [str(Path(python).with_name("torchx")), "run", "-s", "local_cwd", "dist.ddp", "-j", "1x2"]
        return [*torchx, "--script", str(PROGRAM), "--", *words]
    launcher = () if name in {"lightning", "ray"} else (*TORCHRUN, str(RANKS.get(name, 2)))
    return [python, *launcher, str(PROGRAM), *words]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", trainer_programs.PROGRAMS)
def test_losses_are_those_of_gloo_and_sums_are_the_switch_s(
    name: str, network: Path, trainers_python, tmp_path
) -> None:
    needs_module(trainers_python, MODULES.get(name, name))
    ours = [
        each
        for each in sys.path
        if each and Path(each).is_dir() and "site-packages" not in each and "lib/python" not in each
    ]
    path = os.pathsep.join([installed(tmp_path), *ours])
    environment = os.environ | {"PYTHONPATH": path, "OFFRAMP_NETWORK": str(network), "OMP_NUM_THREADS": "1"}
    environment["PATH"] = os.pathsep.join([str(Path(trainers_python).parent), os.environ["PATH"]])
    results = {}
    for backend in ("gloo", "offramp"):
        folder = tmp_path / backend
        folder.mkdir()
        words = command(trainers_python, name, [name, backend, str(folder)])
        done = subprocess.run(
            words, check=False, capture_output=True, text=True, env=environment, cwd=folder, timeout=240
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
        results[backend] = json.loads((folder / "result.json").read_text())
    assert len(results["gloo"]["losses"]) >= trainer_programs.STEPS
    assert results["offramp"]["losses"] == pytest.approx(results["gloo"]["losses"], abs=1e-5)
    assert results["gloo"]["offloaded"] == 0
    assert results["offramp"]["offloaded"] >= trainer_programs.STEPS
