# SPDX-License-Identifier: Apache-2.0
"""One job by every engine that starts ranks: the same model to the bit, and nothing left.

The servers of ssh, mpirun and torchrun are the real ones. Blind to hosts with files of their own.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import ray_cluster
import slurm_cluster
from cluster_case import LIMIT_S, Racks, model_of, offramp, run_words, train_job, until
from offramp.cluster.write import cluster_text
from offramp_sim.lab.start import held
from ray_cluster import RayCluster
from ssh_hosts import SshHosts

pytestmark = [pytest.mark.cluster, pytest.mark.full]


@pytest.fixture(scope="module")
def ssh(racks: Racks, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHosts]:
    slurm_cluster.require("sshd", "ssh", "ssh-agent", "ssh-add", "ssh-keygen")
    keepers = {host.where: racks.keepers[host.name] for host in racks.cluster.hosts}
    with SshHosts(tmp_path_factory.mktemp("ssh"), keepers) as hosts:
        yield hosts


@pytest.fixture
def by_ssh(racks: Racks, ssh: SshHosts, tmp_path: Path) -> Path:
    """The cluster's file, whose hosts are reached by ssh."""
    hosts = tuple(replace(host, reach="ssh", known_hosts=str(ssh.known_hosts)) for host in racks.cluster.hosts)
    path = tmp_path / "by-ssh.yaml"
    path.write_text(cluster_text(replace(racks.cluster, hosts=hosts)))
    return path


def on_first_host(racks: Racks) -> list[str]:
    return ["nsenter", f"--net=/proc/{racks.keepers['h1']}/ns/net", "--"]


@pytest.mark.parametrize("engine", ["ssh", "mpi", "torchrun"])
def test_the_same_model_by_each_engine_and_nothing_left(racks, ssh, by_ssh, undisturbed, tmp_path, engine):
    slurm_cluster.require(*(["mpirun"] if engine == "mpi" else []))
    before = racks.states()
    train_job(tmp_path)
    process = offramp(on_first_host(racks), tmp_path, ssh.environment, *run_words(f"{engine}:{by_ssh}"))
    out, err = process.communicate(timeout=LIMIT_S)
    logs = "".join(path.read_text() for path in sorted((tmp_path / "out/switchgnn").glob("*.log")))
    assert process.returncode == 0, out + err + logs
    assert model_of(tmp_path / "out/switchgnn") == undisturbed
    racks.nothing_left(before)


@pytest.fixture
def ray(racks: Racks) -> Iterator[RayCluster]:
    ray_cluster.require()
    with RayCluster({host.where: racks.keepers[host.name] for host in racks.cluster.hosts}) as cluster:
        yield cluster


def test_the_same_model_by_ray_and_what_ends_its_ranks(racks, ray, undisturbed, tmp_path):
    """A cluster takes half a minute to start: one test for a whole run, a killed command and a node that dies."""
    before = racks.states()
    train_job(tmp_path)
    process = offramp(on_first_host(racks), tmp_path, ray.environment, *run_words(f"ray:{racks.file}"))
    out, err = process.communicate(timeout=LIMIT_S)
    logs = "".join(path.read_text() for path in sorted((tmp_path / "out/switchgnn").glob("*.log")))
    assert process.returncode == 0, out + err + logs
    assert model_of(tmp_path / "out/switchgnn") == undisturbed
    racks.nothing_left(before)
    (tmp_path / "job.yaml").write_text("command: [sleep, '3600']\nall_reduce: 1MB\n")
    words = ["job", "run", "job.yaml", "--on", f"ray:{racks.file}", "--by", "gloo", "--no-calibrate", "--out", "out"]
    for ends in ("the command", "a node"):
        process = offramp(on_first_host(racks), tmp_path, ray.environment, *words)
        until(
            lambda process=process: sleeping(racks) == 4 or process.poll() is not None, lambda: str(racks.processes())
        )
        assert process.poll() is None, process.communicate()
        if ends == "the command":
            os.kill(process.pid, signal.SIGKILL)
            process.communicate(timeout=LIMIT_S)
        else:
            ray.kill_node(racks.cluster.hosts[2].where)
            _, err = process.communicate(timeout=LIMIT_S)
            assert process.returncode == 2
            assert len(err.strip().splitlines()) == 1, err
        racks.nothing_left(before)


def test_the_same_model_on_this_machine_alone(undisturbed, tmp_path):
    (tmp_path / "racks.yaml").write_text(
        (Path(__file__).parents[2] / "examples/job/cluster.yaml").read_text().replace("racks", f"here-{os.getpid()}")
    )
    train_job(tmp_path)
    with held(tmp_path / "racks.yaml", mode="sockets") as (lab, _):
        process = offramp([], tmp_path, {}, *run_words(f"local:{lab.cluster_file}"))
        out, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, out + err
    assert model_of(tmp_path / "out/switchgnn") == undisturbed


@pytest.mark.parametrize("engine", ["ssh", "mpi"])
def test_ranks_end_with_the_command_however_it_ends(racks, ssh, by_ssh, tmp_path, engine):
    slurm_cluster.require(*(["mpirun"] if engine == "mpi" else []))
    before = racks.states()
    (tmp_path / "job.yaml").write_text("command: [sleep, '3600']\nall_reduce: 1MB\n")
    words = ["job", "run", "job.yaml", "--on", f"{engine}:{by_ssh}", "--by", "gloo", "--no-calibrate", "--out", "out"]
    process = offramp(on_first_host(racks), tmp_path, ssh.environment, *words)
    until(lambda: sleeping(racks) == 4 or process.poll() is not None, lambda: str(racks.processes()))
    assert process.poll() is None, process.communicate()
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=LIMIT_S)
    racks.nothing_left(before)


def test_a_lost_connection_ends_its_rank_and_the_job_in_one_line(racks, ssh, by_ssh, tmp_path):
    before = racks.states()
    (tmp_path / "job.yaml").write_text("command: [sleep, '3600']\nall_reduce: 1MB\n")
    words = ["job", "run", "job.yaml", "--on", f"ssh:{by_ssh}", "--by", "gloo", "--no-calibrate", "--out", "out"]
    process = offramp(on_first_host(racks), tmp_path, ssh.environment, *words)
    until(lambda: sleeping(racks) == 4 or process.poll() is not None, lambda: str(racks.processes()))
    (connection,) = racks.pids("h1", lambda words: words.startswith("ssh -o") and "RANK=2 " in words)
    os.kill(connection, signal.SIGKILL)
    _, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 2
    assert "rank 2 on h3" in err
    assert len(err.strip().splitlines()) == 1, err
    racks.nothing_left(before)


def sleeping(racks: Racks) -> int:
    """Ranks that sleep on the hosts."""
    return sum(command == "sleep 3600" for command in racks.processes())
