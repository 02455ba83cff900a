# SPDX-License-Identifier: Apache-2.0
"""The part of a cluster file that each system takes."""

from __future__ import annotations

import pytest

from offramp.dgtp.setup_file import cluster_of, read_setup
from offramp.leo.config import load_config
from offramp_base.errors import OfframpError

STAR = """\
hosts:
  - {name: "h[1-4]", address: 10.0.0.1, cores: 8, gpus: 1, memory: 16GB, speed: 2, hardware: off-path}
switches:
  - {name: s, control: "10.0.0.100:9559"}
links:
  - {ends: ["h[1-4]", s], rate: 10gbit}
dimensions:
  - {type: switch, size: 4, rate: 10gbit}
"""


@pytest.fixture
def star(tmp_path):
    (tmp_path / "star.yaml").write_text(STAR)
    return tmp_path / "star.yaml"


def test_dgtp(star):
    machines = cluster_of(star).machines
    assert [machine.address for machine in machines] == ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"]
    assert machines[0].capacity == {"cpu": 8, "gpu": 1, "memory": 16e9}
    assert (machines[0].egress_bps, machines[0].speed["worker"]) == (1e10, 2)
    setup = star.with_name("setup.yaml")
    setup.write_text("cluster: star.yaml\ntasks: [{name: a, seconds: 1, cpu: 8}, {name: b, seconds: 1, home: h2}]\n")
    assert len(read_setup(setup).problem.cluster) == 4
    setup.write_text("tasks: [{name: a}]\n")
    with pytest.raises(OfframpError, match="expected either machines, or cluster"):
        read_setup(setup)


def test_leo(star):
    assert load_config([star, "kvs"]).hardware == load_config(["off-path", "kvs"]).hardware
    star.write_text(STAR.replace(", hardware: off-path", ""))
    with pytest.raises(OfframpError, match=r"star.yaml:1: hosts: hardware: no host has a model"):
        load_config([star, "kvs"])


def test_a_model_in_the_cluster_file_has_its_lines(star):
    model = """    hardware:
      model: off-path
      nodes: {cpu: {kind: cpu}, acc: {kind: fpga}, nic: {kind: rnic}}
      links:
        - {id: pcie, a: cpu, b: nic, bw_gbps: 126, latency_ns: 300}
        - {id: router, a: nic, b: nowhere, bw_gbps: 100, latency_ns: 100}
"""
    star.write_text("hosts:\n  - name: h\n" + model)
    with pytest.raises(OfframpError, match=r"star.yaml:8: hardware.links\[1\].b: nowhere: no such node"):
        load_config([star, "kvs"])


def test_torch(star, monkeypatch):
    pytest.importorskip("torch")
    from offramp.torch.settings import VARIABLE, NetworkSettings

    network = star.with_name("network.yaml")
    network.write_text("offloads: [allreduce, themis]\ncluster: star.yaml\n")
    monkeypatch.setenv(VARIABLE, str(network))
    settings = NetworkSettings.from_environment()
    assert (settings.link, settings.control, settings.ports) == ("af_packet:eth0", "10.0.0.100:9559", (1, 2, 3, 4))
    assert settings.dimensions == str(star)
    network.write_text("offloads: [allreduce]\ncluster: star.yaml\nlink: 'udp:10.0.0.9:7000'\n")
    assert NetworkSettings.from_environment().link == "udp:10.0.0.9:7000"
