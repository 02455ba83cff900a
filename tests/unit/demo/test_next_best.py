# SPDX-License-Identifier: Apache-2.0
"""Acts of the demo on machines that lack something: the next best runs, is said, and is not called measured."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from offramp_base.errors import OfframpError
from offramp_cli.demo import act_gnn, act_hermod, act_job, act_leo
from offramp_cli.demo.act_leo import CPU, FPGA, NIC
from offramp_sim.hermod.lab import LabScenario
from offramp_sim.hermod.lab.modelled import flows_of, model


def test_without_iverilog_or_cocotb_the_fpga_is_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert act_leo.rtl_or_reason(0) == ({}, "No iverilog on PATH, so the FPGA is its model alone.")
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(act_leo, "find_spec", lambda _: None)
    assert act_leo.rtl_or_reason(0) == ({}, "The package cocotb is missing, so the FPGA is its model alone.")


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("import time; time.sleep(60)", "The RTL did not answer within"),
        ("raise SystemExit(1)", "The RTL could not be simulated here"),
        ('print(\'{"count": 3, "wrong": 0, "busy_ns": 12}\')', ""),
    ],
    ids=["slow", "broken", "good"],
)
def test_rtl_has_a_deadline(monkeypatch: pytest.MonkeyPatch, program: str, said: str) -> None:
    started = []

    def popen(command: list[str], **options: object) -> subprocess.Popen[str]:
        del command
        started.append(real([sys.executable, "-c", program], **options))
        return started[-1]

    real = subprocess.Popen
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(act_leo, "find_spec", lambda _: object())
    monkeypatch.setattr(act_leo.subprocess, "Popen", popen)
    outcome, reason = act_leo.rtl_or_reason(0, timeout_s=2.0 if said.startswith("The RTL did") else 60.0)
    assert reason.startswith(said)
    assert bool(outcome) == (not said)
    assert started[0].poll() is not None  # nothing is left behind


def test_an_agent_that_is_not_built_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(act_leo, "cache_folder", lambda: tmp_path)
    assert act_leo.lacks_agent() == "No smartNIC: its agent is not built (offramp nic build builds it)."
    (tmp_path / act_leo.AGENT).touch()
    assert act_leo.lacks_agent() == ""


def test_what_the_model_of_the_fpga_takes_part_in_is_not_called_measured() -> None:
    paths = act_leo.paths_of((FPGA, NIC))
    assert [each.devices for each in paths] == [(CPU,), (FPGA,), (NIC,), (CPU, NIC), (CPU, FPGA, NIC)]
    assert [each.devices for each in act_leo.paths_of((FPGA,))] == [(CPU,), (FPGA,), (CPU, FPGA)]
    for each in paths:
        each.median_s, each.by_device = [1e-3] * 5, {CPU: 3, FPGA: 0, NIC: 1}
        alternative = each.alternative()
        assert bool(alternative.measured_s) == (FPGA not in each.devices)
        assert (alternative.modelled_s is None) == (FPGA not in each.devices)
    assert paths[3].alternative().note == "took processor 75%, smartNIC 25%"


def test_without_a_smartnic_the_paths_are_not_judged() -> None:
    paths = act_leo.paths_of((FPGA,))
    for each in paths:
        each.median_s = [1e-3] * 5
    outcome = act_leo.outcome_of(paths, {}, ["a note"], 0.0)
    assert outcome.verdict.answer == "unknown"
    assert "only a model of the FPGA" in outcome.verdict.sentence
    assert len(outcome.checks) == 1
    paths[0].wrong = 2
    assert not act_leo.outcome_of(paths, {"count": 1, "wrong": 0}, [], 0.0).checks[0].holds


def test_coflows_are_modelled_where_namespaces_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OfframpError("network namespaces need root")

    assert "sockets" in act_hermod.lacking("sockets")
    monkeypatch.setattr(act_hermod, "launcher", refuse)
    assert act_hermod.lacking("auto") == "network namespaces need root"
    outcome = act_hermod.of_models(
        {act_hermod.ONE_QUEUE: 0.4, act_hermod.BY_PRIORITY: 0.1}, "network namespaces need root"
    )
    assert outcome.verdict.answer == "unknown"
    assert "because network namespaces need root" in outcome.verdict.sentence
    assert [(each.measured_s, each.modelled_s) for each in outcome.alternatives] == [((), 0.4), ((), 0.1)]


def test_the_flow_model_of_coflows_obeys_what_can_be_said_by_hand() -> None:
    """Tokens keep the busiest port a quarter of a unit busy and overtake all else; nothing beats a link's rate."""
    scenario = LabScenario(busy_s=0.4)
    by_priority, one_queue = (model(replace(scenario, priorities=on)) for on in (True, False))
    unit_s = 8 * scenario.unit / scenario.rate_bps
    assert by_priority["EP"] == pytest.approx(unit_s / 4, rel=0.01)
    assert by_priority["EP"] < one_queue["EP"]
    for times in (by_priority, one_queue):
        for kind, seconds in times.items():
            flows = flows_of(scenario, kind)
            busiest = max(np.bincount(flows.source, flows.size).max(), np.bincount(flows.sink, flows.size).max())
            assert seconds >= 0.999 * 8 * busiest / scenario.rate_bps


def test_a_job_that_cannot_agree_says_so() -> None:
    content = {"plain": "gloo", "measured": {way: {"bytes_by_link": {"h1": [n, n]}} for way, n in
                                             (("gloo", 100), ("allreduce", 120))}}  # fmt: skip
    assert [check.holds for check in act_job.checks({"allreduce": 0.90, "gloo": 0.95}, content)] == [False, False]
    content["measured"]["allreduce"]["bytes_by_link"]["h1"][0] = 80
    assert [check.holds for check in act_job.checks({"allreduce": 0.951, "gloo": 0.95}, content)] == [True, True]


def test_a_run_that_differs_says_where() -> None:
    reference = [(2.0, 0.1, 0.1, 0.1), (1.5, 0.2, 0.2, 0.2)]
    other = [reference[0], (1.5000001, 0.2, 0.2, 0.2)]
    assert act_gnn.difference(reference, reference) == ""
    assert act_gnn.difference(other, reference).startswith(" (epoch 2: (1.5000001, ")
    assert act_gnn.difference(reference[:1], reference) == " (1 epochs, one process 2)"
