# SPDX-License-Identifier: Apache-2.0
"""A PyTorch program in a laboratory: planned, deployed on two levels of switches, run, compared with gloo, reported.

Blind spot: times of a busy machine say little, so bytes are compared; they follow from the algorithms.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from offramp.cluster import read_cluster
from offramp.job import look
from offramp_sim.lab import possible_mode

pytest.importorskip("torch")
pytestmark = [pytest.mark.netns, pytest.mark.slow]
CLUSTER = """\
name: {name}
hosts: [{{name: "h[1-4]"}}]
switches: [{{name: "leaf[1-2]", memory: 8MB}}, {{name: spine, memory: 8MB}}]
links:
  - {{ends: ["h[1-2]", leaf1], rate: 200mbit}}
  - {{ends: ["h[3-4]", leaf2], rate: 200mbit}}
  - {{ends: ["leaf[1-2]", spine], rate: 400mbit}}
"""
PROGRAM = """
import sys
import torch
import torch.distributed as dist
import offramp.torch
from offramp.job import step

torch.set_num_threads(1)
dist.init_process_group("offramp")
for number in range(4):
    values = torch.full((250_000,), float(dist.get_rank() + number))
    with step(number):
        dist.all_reduce(values)
    assert (values == sum(rank + number for rank in range(4))).all()
print(offramp.torch.counters())
dist.destroy_process_group()
"""


def offramp(*words: str, cwd: Path) -> str:
    command = [sys.executable, "-m", "offramp", *words]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=500, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_program_through_everything(tmp_path):
    mode, reason = possible_mode()
    if mode == "sockets":
        pytest.skip(f"no network namespaces: {reason}")
    name = f"job-{time.monotonic_ns() % 10**9}"
    (tmp_path / "c.yaml").write_text(CLUSTER.format(name=name))
    (tmp_path / "train.py").write_text(PROGRAM)
    job = {"name": "sums", "command": [sys.executable, str(tmp_path / "train.py")], "all_reduce": "1MB"}
    (tmp_path / "job.yaml").write_text(json.dumps(job))
    offramp("lab", "up", "c.yaml", cwd=tmp_path)
    try:
        words = ["job", "run", "job.yaml", "--on", f"lab:{name}", "--no-calibrate", "--ablate", "--out", "out"]
        content = json.loads(offramp(*words, "--json", "-", cwd=tmp_path))
        top = ["job", "top", "--on", f"lab:{name}", "--out", "out", "--looks", "2", "--interval", "0.1"]
        looked = json.loads(offramp(*top, "--prometheus", "offramp.prom", "--json", "-", cwd=tmp_path))
    finally:
        offramp("lab", "down", name, cwd=tmp_path)
    assert content["taken"] == "allreduce"
    assert "'allreduce': {'all_reduce': {'calls': 4" in (tmp_path / "out/allreduce/rank-0.log").read_text()
    moved = {way: each["bytes_by_link"] for way, each in content["measured"].items()}
    for host in ("h1", "h2", "h3", "h4"):  # 4 sums of 1 MB and a few kB: once, and 1.5 times in a ring
        assert 4.0e6 < moved["allreduce"][host][0] < 5.0e6
        assert 6.0e6 < moved["gloo"][host][0] < 7.5e6
    assert content["measured_step_s"] > 0
    trace = json.loads((tmp_path / "out/trace.json").read_text())["traceEvents"]
    assert {event["pid"] for event in trace if event["ph"] == "X"} == {0, 1, 2, 3}
    page = (tmp_path / "out/report.html").read_text()
    assert "times as fast as gloo" in page
    assert "http" not in page.replace("http-equiv", "")
    assert all(each["answers"] and not each["taken"] for each in looked["switches"].values())
    assert len(looked["ranks"]) == 4
    lines = (tmp_path / "offramp.prom").read_text().splitlines()
    assert f'offramp_switch_up{{cluster="{name}",switch="spine"}} 1' in lines
    assert all(line.startswith("#") or len(line.rsplit(" ", 1)) == 2 for line in lines)


TWO = """\
name: {name}
hosts: [{{name: "h[1-2]"}}]
switches: [{{name: s, memory: 2MB}}]
links: [{{ends: ["h[1-2]", s], rate: 1gbit}}]
"""


def test_one_job_whose_switch_sums_features_and_gradients(tmp_path):
    """Its gradients' sums differ from gloo's in rounding only; what the switch counts while it runs is of both."""
    mode, reason = possible_mode()
    if mode == "sockets":
        pytest.skip(f"no network namespaces: {reason}")
    name = f"job-{time.monotonic_ns() % 10**9}"
    (tmp_path / "c.yaml").write_text(TWO.format(name=name))
    (tmp_path / "train.yaml").write_text("graph: karate\nhidden: 600\npartition: hash\nepochs: 4\n")
    (tmp_path / "job.yaml").write_text(json.dumps({"name": "both", "train": "train.yaml"}))
    offramp("lab", "up", "c.yaml", cwd=tmp_path)
    try:
        words = ["job", "run", "job.yaml", "--on", f"lab:{name}", "--no-calibrate"]
        offramp(*words, "--by", "switchgnn", "--out", "one", cwd=tmp_path)
        labs = json.loads(offramp("lab", "status", "--json", "-", cwd=tmp_path))["labs"]
        cluster = read_cluster(Path(next(each["folder"] for each in labs if each["name"] == name)) / "cluster.yaml")
        command = [sys.executable, "-m", "offramp", *words, "--by", "switchgnn+allreduce", "--out", "both"]
        with subprocess.Popen(command, cwd=tmp_path) as running:
            completed = results = 0
            while running.poll() is None:
                seen = look(cluster, None).switches["s"]
                completed = max(completed, seen.verdicts.get("completed", 0))
                results = max(results, seen.passes.get("results", 0))
        assert running.returncode == 0
    finally:
        offramp("lab", "down", name, cwd=tmp_path)
    assert completed > 0 < results
    ways = {"one": "switchgnn", "both": "switchgnn+allreduce"}
    losses = [
        [row["loss"] for row in json.loads((tmp_path / out / way / "train.json").read_text())["per_epoch"]]
        for out, way in ways.items()
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
