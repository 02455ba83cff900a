# SPDX-License-Identifier: Apache-2.0
"""``offramp leo run``: the product of applications and hosts from YAML, errors, and the numbers that it writes."""

from __future__ import annotations

import json
import signal
import threading
from itertools import product

import numpy as np
import pytest
from typer.testing import CliRunner

from offramp.leo.applications import compare
from offramp.leo.applications.compare import running
from offramp.leo.applications.kvs import Ycsb
from offramp.leo.applications.named import open_application
from offramp.leo.config import builtin
from offramp.leo.runtime.process import ResponderProcess
from offramp.leo.selection import Policy
from offramp_cli.app import app

NEW_HOST = """
hardware:
  name: shelf
  model: custom
  nodes:
    cpu: {kind: cpu}
    card: {kind: fpga}
    wire: {kind: rnic}
  links:
    - {id: bus, a: cpu, b: wire, bw_gbps: 100, latency_ns: 500}
    - {id: lane, a: wire, b: card, bw_gbps: 200, latency_ns: 100}
  map: {CN: [bus], AN: [lane], CA: [bus, lane]}
"""
NEW_APPLICATION = """
paths:
  - {id: cc, type: CPU-CPU}
  - {id: ca, type: CPU-Acc}
  - {id: aa, type: Acc-Acc}
application:
  name: sums
  requests:
    ADD:
      dependency: ADDR
      key: vector
      dataflows: [[cc], [ca]]
      size: {cc: {req: 264, resp: 128}, ca: {req: 264, resp: 128}}
      compute_us: {responder: {cpu: 30, acc: 20}}
      functions: {responder: {cpu: reduce, acc: reduce}}
    PACK:
      dataflows: [[aa], [cc]]
      size: {cc: {req: 2000, resp: 4}, aa: {req: 2000, resp: 4}}
      compute_us: {requester: {cpu: 40, acc: 30}, responder: {cpu: 20, acc: 20}}
      functions: {requester: {cpu: compress, acc: compress}, responder: {cpu: decompress, acc: decompress}}
"""


def files(tmp_path):
    """M applications and N hosts, the last of each only in YAML written here."""
    (tmp_path / "host.yaml").write_text(NEW_HOST)
    (tmp_path / "application.yaml").write_text(NEW_APPLICATION)
    applications = [str(builtin(name)) for name in ("kvs", "dfs", "ebs", "dml")] + [str(tmp_path / "application.yaml")]
    hosts = [str(builtin(name)) for name in ("direct", "on-path", "off-path")] + [str(tmp_path / "host.yaml")]
    return applications, hosts


@pytest.mark.full
def test_new_application_and_new_host_run_with_all_others(tmp_path):
    """M + N files: neither of the new ones touches Python."""
    applications, hosts = files(tmp_path)
    runs(product(applications[-1:], hosts))
    runs(product(applications[:-1], hosts[-1:]))


@pytest.mark.slow
def test_every_application_runs_on_every_host(tmp_path):
    runs(product(*files(tmp_path)))


def runs(pairs):
    """Requester and responder as processes, every request answered."""
    for application, host in pairs:
        app = open_application([application, host], devices={})
        assert len(app.paths) >= 2
        with running(app) as run:
            outcome, paths = run(app.paths, {}, Policy.UNIFORM, 1, None, 0.05)
        assert outcome.sent > 0
        assert outcome.wrong == 0
        assert int(outcome.by_path.sum()) == outcome.sent, (application, host)
        assert set(paths) == set(app.paths)


@pytest.mark.full
def test_the_store_over_cpu_and_accelerator(tmp_path):
    numbers = tmp_path / "out.json"
    arguments = ["leo", "run", "kvs", "--workload", "B", "--seconds", "0.1", "--rounds", "1", "--json", str(numbers)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "of cpu + model" in result.output
    report = json.loads(numbers.read_text())
    assert [row["paths"] for row in report["rows"]] == [["cpu"], ["model"], ["cpu", "model"]]
    assert sum(row["wrong"] for row in report["rows"]) == 0
    assert {"share_of_sum", "against_better", "load"} <= set(report)


@pytest.mark.full
def test_a_responder_that_is_killed_is_started_again_and_told_of(tmp_path, monkeypatch):
    """By a signal in the midst of the measurements: a line, ``restarts`` in JSON, nothing wrong."""
    numbers = tmp_path / "out.json"
    killed = []

    class Doomed(ResponderProcess):
        """It is killed a second after it listens."""

        def __init__(self, plan):
            super().__init__(plan)
            killed.append(self.pid)
            threading.Timer(1.0, self.signal, [signal.SIGKILL]).start()

    monkeypatch.setattr(compare, "ResponderProcess", Doomed)
    arguments = ["leo", "run", "kvs", "--workload", "B", "--seconds", "3", "--rounds", "1", "--paths", "cpu"]
    result = CliRunner().invoke(app, [*arguments, "--json", str(numbers)])
    assert result.exit_code == 0, result.output
    assert f"(pid {killed[0]}) was killed by SIGKILL; it was started again once" in result.output
    report = json.loads(numbers.read_text())
    assert report["restarts"] == 1
    assert sum(row["wrong"] for row in report["rows"]) == 0


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["nothing"], "nothing"),
        (["kvs", "--paths", "gpu"], "--paths gpu: kvs (YCSB-C) has cpu, model"),
        (["kvs", "--workload", "Z"], "--workload Z: expected C or B"),
        (["kvs", "--transport", "pigeon"], "--transport pigeon: expected nic, shm, tcp, ucx"),
        (["kvs", "--device", "model"], "--device model: expected NAME=VALUE"),
        (["kvs", "--device", "m=toaster:1"], "device toaster: expected one of"),
        (["kvs", "--device", "m=model:table_bytes=4096"], "device m: 4096 bytes for an index of 100000 keys: needs"),
        (["kvs", "--policy", "best"], "policy best: expected one of"),
        (["dfs.yaml"], "dfs.yaml"),
        (["dml", "direct", "--device", "gpu=model:1"], "--device gpu: the host has acc"),
    ],
)
def test_bad_input_is_one_line(arguments, line):
    result = CliRunner().invoke(app, ["leo", "run", *arguments, "--seconds", "0.05", "--rounds", "1"])
    assert result.exit_code != 0
    text = result.output + str(result.exception or "")
    assert line in text
    assert "Traceback" not in result.output


def test_ycsb_is_seeded_and_checks_values():
    first, second = Ycsb("B", 1000, 3), Ycsb("B", 1000, 3)
    batches = [w.batch(17, 500) for w in (first, second)]
    for a, b in zip(*batches, strict=True):
        assert np.array_equal(a, b)
    assert 0.02 < batches[0].types.mean() < 0.09
