# SPDX-License-Identifier: Apache-2.0
"""Jobs on a real Slurm with four nodes, whose ranks exchange features through two leaves and a spine.

Blind to nodes with kernels, clocks and files of their own: nodes are namespaces of this machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml

import job_rank
import slurm_cluster
from cluster_case import LIMIT_S, Racks, model_of, offramp, run_words, train_job, until
from offramp.job.engine import BatchSubmission
from offramp.job.engines.slurm import LOG, script
from offramp.job.kind import PlacedJob
from offramp.job.settings import JobSettings
from slurm_cluster import SlurmCluster

STEPS = 10
pytestmark = [pytest.mark.cluster, pytest.mark.full]


@pytest.fixture(scope="module")
def slurm(racks: Racks, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:
    slurm_cluster.require(*slurm_cluster.PROGRAMS)
    with SlurmCluster(tmp_path_factory.mktemp("slurm"), racks.keepers) as cluster:
        yield cluster


def submit(slurm: SlurmCluster, racks: Racks, folder: Path) -> subprocess.Popen[str]:
    return offramp(slurm.inside, folder, slurm.environment, *run_words(f"slurm:{racks.file}"))


def reached(folder: Path, epoch: int) -> bool:
    """Whether a run that goes on has written its log up to an epoch."""
    log = folder / "out/switchgnn/rank-0.log"
    return log.is_file() and f"epoch {epoch:>2}/" in log.read_text()


def ended(process: subprocess.Popen[str], folder: Path) -> str:
    out, err = process.communicate(timeout=LIMIT_S)
    log = folder / "out/slurm.log"
    assert process.returncode == 0, f"{out}{err}{log.read_text() if log.is_file() else ''}"
    return out


def number_of(slurm: SlurmCluster) -> str:
    return slurm.run("squeue", "--noheader", "--format=%i").split()[0]


@pytest.mark.parametrize("node", ["h3", "h1"])  # h1 runs the command itself, which leaves its state on the switches
def test_a_node_dies_and_the_job_resumes_to_the_same_bits(slurm, racks, undisturbed, tmp_path, node):
    before = racks.states()
    train_job(tmp_path, restarts=3)
    process = submit(slurm, racks, tmp_path)
    until(lambda: reached(tmp_path, 5) or process.poll() is not None, lambda: "no epoch 5")
    assert process.poll() is None, process.communicate()
    number = number_of(slurm)
    slurm.kill_node(node)
    until(lambda: "Restarts=0" not in slurm.run("scontrol", "show", "job", number), lambda: "not requeued")
    slurm.start_node(node)
    ended(process, tmp_path)
    account = json.loads((tmp_path / "out/report.json").read_text())["measured"]["switchgnn"]["account"]
    assert (account["state"], account["nodes"]) == ("COMPLETED", "h[1-4]")
    assert account["restarts"] >= 1
    assert (tmp_path / "out/switchgnn/rank-0.log").read_text().count("epoch  1/") == 1  # it did not begin anew
    assert model_of(tmp_path / "out/switchgnn") == undisturbed
    racks.nothing_left(before)


def test_scancel_takes_everything_away(slurm, racks, tmp_path):
    before = racks.states()
    train_job(tmp_path)
    process = submit(slurm, racks, tmp_path)
    until(lambda: reached(tmp_path, 1) or process.poll() is not None, lambda: "no epoch 1")
    slurm.run("scancel", number_of(slurm))
    out, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 2, out
    assert "is CANCELLED" in err
    racks.nothing_left(before)


def test_a_command_that_ends_cancels_its_job(slurm, racks, tmp_path):
    before = racks.states()
    train_job(tmp_path)
    process = submit(slurm, racks, tmp_path)
    until(lambda: reached(tmp_path, 1) or process.poll() is not None, lambda: "no epoch 1")
    number = number_of(slurm)
    process.terminate()
    process.communicate(timeout=LIMIT_S)
    assert process.returncode == 143
    until(lambda: "CANCELLED" in slurm.run("scontrol", "show", "job", number), lambda: "it goes on")
    racks.nothing_left(before)


def test_a_sweep_is_an_array_job(slurm, tmp_path):
    code = "from math import sqrt; from offramp.sweep import sweep; "
    code += "print(sweep(sqrt, [n * n for n in range(12)], dask='slurm:--cpus-per-task=2') == list(range(12)))"
    done = subprocess.run(
        [*slurm.inside, sys.executable, "-c", code], cwd=tmp_path, env=os.environ | slurm.environment,
        capture_output=True, text=True, check=False, timeout=LIMIT_S,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("True\n", 0), done.stderr
    assert list(tmp_path.iterdir()) == []
    assert slurm.run("squeue", "--noheader") == ""


@pytest.mark.parametrize("count", [6, pytest.param(50, marks=pytest.mark.slow)])
def test_jobs_in_a_queue_share_the_switches_and_give_back_all_slots(slurm, racks, tmp_path, count, monkeypatch):
    """Each has half of the slots and a quarter of a node: four run at once, two have room on the spine, two wait."""
    before = racks.states()
    monkeypatch.chdir(tmp_path)
    command = (sys.executable, job_rank.__file__, str(STEPS), "0.01")
    numbers = []
    for number in range(count):
        hosts = ("h1,h3", "h2,h4", "h1,h4", "h2,h3")[number % 4]
        folder = tmp_path / f"out-{number}"
        text = yaml.safe_dump({"command": list(command), "hosts": hosts, "all_reduce": 1000, "pages": 8, "wait": 600})
        path = tmp_path / f"job-{number}.yaml"
        path.write_text(text + "segments: 4\nslurm: [--cpus-per-task=4]\n")
        placed = PlacedJob.on(JobSettings.read(path), racks.cluster)
        batch = tmp_path / f"{number}.sbatch"
        folder.mkdir()
        batch.write_text(script(placed, BatchSubmission(path, str(racks.file), "allreduce", [], folder)))
        numbers.append(slurm.run("sbatch", "--parsable", str(batch)).strip())
    until(lambda: not slurm.run("squeue", "--noheader"), lambda: slurm.run("squeue"), 100.0 + 30.0 * count)
    waited = 0
    for number, job in enumerate(numbers):
        log = (tmp_path / f"out-{number}" / LOG).read_text()
        assert "JobState=COMPLETED" in slurm.run("scontrol", "show", "job", job), log
        steps = json.loads((tmp_path / f"out-{number}/report.json").read_text())["measured"]["allreduce"]["steps"]
        waited += any(step.startswith("wait ") for step in steps)
        for rank in range(2):
            model = np.load(tmp_path / f"out-{number}/allreduce/model-{rank}.npy")
            assert (model == job_rank.expected(STEPS, 2)).all()
    print(f"{count} jobs, {waited} waited for room")  # noqa: T201 - the figure of a campaign
    racks.nothing_left(before)
