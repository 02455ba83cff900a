# SPDX-License-Identifier: Apache-2.0
"""``offramp leo validate | plan | profile`` and ``simulate leo``: tables, numbers, pictures, one line for bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from offramp.leo.config import load_config, resolve
from offramp_base.errors import OfframpError
from offramp_cli.app import app


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(app, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_validate() -> None:
    assert run("leo", "validate", "off-path", "kvs").output == "kvs on off-path (off-path): good; requests GET, PUT\n"


@pytest.mark.full
def test_plan(tmp_path: Path) -> None:
    numbers, plot = tmp_path / "n.json", tmp_path / "p.png"
    result = run(
        "leo", "plan", "on-path", "ebs", "--cores", "4", "--steps", "--json", str(numbers), "--plot", str(plot)
    )
    assert "cpu —pcie— acc —axi— nic" in result.output
    assert "requester.acc: compute: 500.0 ns" in result.output
    numbers_read = json.loads(numbers.read_text())
    assert numbers_read["sustains_mrps"] == pytest.approx(1 / 0.5 + 4 / 4.5)
    assert {flow["dataflow"] for flow in numbers_read["dataflows"]} == {"ac", "cc"}
    assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.full
def test_profile_measures_links_and_its_file_is_used(tmp_path: Path) -> None:
    hardware, out = tmp_path / "here.yaml", tmp_path / "profile.yaml"
    hardware.write_text(
        "hardware:\n  model: off-path\n"
        "  nodes: {cpu: {kind: cpu}, acc: {kind: fpga}, nic: {kind: rnic}}\n"
        "  links:\n"
        "    - {id: pcie, a: cpu, b: nic, bw_gbps: profile, mps: profile, latency_ns: profile}\n"
        "    - {id: axi, a: nic, b: acc, bw_gbps: profile, mps: profile, latency_ns: profile}\n"
    )
    with pytest.raises(OfframpError, match=r"here.yaml:5: hardware.links\[0\].bw_gbps: has yet to be measured"):
        resolve(load_config([hardware, "kvs"]))
    result = run(
        "leo", "profile", str(hardware), "kvs", "--link", "axi=memory", "--link", "pcie=tcp", "--out", str(out)
    )
    assert "million messages/s" in result.output
    measured = yaml.safe_load(out.read_text())["profile"]["links"]
    assert all(value > 0 for link in measured.values() for value in link.values())
    table = resolve(load_config([hardware, "kvs", out])).routes.table
    assert table.base[0, 1] > 8 * measured["pcie"]["latency_ns"]


@pytest.mark.full
def test_simulate(tmp_path: Path) -> None:
    numbers, plot = tmp_path / "n.json", tmp_path / "p.png"
    arguments = ["--load", "2", "--window", "64", "--requests", "3000", "--policy", "all", "--policy", "exact:2"]
    run("simulate", "leo", *arguments, "--policy", "only:acc", "--json", str(numbers), "--plot", str(plot))
    rows = json.loads(numbers.read_text())["runs"]
    assert {row["load"] for row in rows} == {"2 Mrps", "64 at a time"}
    assert {"lookahead", "exact k=2", "only acc", "ipipe", "weighted"} <= {row["rule"] for row in rows}
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_simulate_an_application_with_tenants() -> None:
    result = run("simulate", "leo", "off-path", "kvs", "--load", "4", "--requests", "2000", "--keys", "50",
                 "--tenant", "1:1", "--tenant", "2:3", "--wrong", "1.5", "--cores", "2")  # fmt: skip
    assert "tenants" in result.output


def test_sweep(tmp_path: Path) -> None:
    numbers = tmp_path / "n.json"
    result = run("simulate", "leo", "--sweep", "3", "--requests", "2000", "--processes", "1", "--json", str(numbers))
    assert "better greedy" in result.output
    assert len(json.loads(numbers.read_text())["verdicts"]) == 3


def test_sweep_of_classes() -> None:
    result = run("simulate", "leo", "--sweep", "2", "--requests", "1000", "--processes", "1", "--kind", "bursts",
                 "--kind", "failures")  # fmt: skip
    assert "bursts" in result.output
    assert "worst against the simple rules" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["leo", "plan", "off-path"], "off-path.yaml: expected paths"),
        (["leo", "plan", "off-path", "kvs", "--cores", "0"], "--cores 0: expected at least 1"),
        (["leo", "profile", "off-path", "kvs", "--link", "pcie"], "--link pcie: expected NAME=VALUE"),
        (["leo", "profile", "off-path", "kvs", "--link", "usb=tcp"], "link usb: expected one of pcie, router"),
        (["leo", "profile", "off-path", "kvs", "--link", "pcie=air"], "link pcie: air: expected one of memory, shared"),
        (["leo", "profile", "off-path", "kvs", "--seconds", "0"], "--seconds 0: expected more than 0"),
        (["simulate", "leo", "--policy", "best"], "policy best: expected one of greedy-e2e"),
        (["simulate", "leo", "--policy", "exact:99"], "--policy exact:99: expected exact:1"),
        (["simulate", "leo", "--policy", "only:gpu"], "--policy only:gpu: expected one of only:acc, only:cpu"),
        (["simulate", "leo", "--network", "x"], "--network x: expected two numbers"),
        (["simulate", "leo", "--tenant", "x"], "--tenant x: expected SHARE:WEIGHT"),
        (["simulate", "leo", "--cores", "2"], "--cores: expected files"),
        (["simulate", "leo", "--sweep", "2", "--kind", "x"], "--kind x: expected all or one of mixed, bursts"),
        (["simulate", "leo", "--sweep", "-1"], "--sweep -1: expected at least 1"),
        (["simulate", "leo", "--policy", "exact:2", "--keys", "5"], "exact k=2: expected requests without shared keys"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], message: str) -> None:
    with pytest.raises(OfframpError) as raised:
        run(*arguments)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
