# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate cluster`` and ``coflows`` from their files to their numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from distributed import LocalCluster
from typer.testing import CliRunner

from offramp.report.units import duration
from offramp_base.errors import OfframpError
from offramp_cli.app import app
from offramp_sim.cluster import sweep

if TYPE_CHECKING:
    from click.testing import Result

JOBS = """
jobs:
  - {name: "a[1-2]", gpus: 2, iterations: 50, compute: 100ms, all_reduce: 125MB}
"""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["simulate", *map(str, arguments)])


def test_orders_side_by_side(tmp_path: Path) -> None:
    (tmp_path / "jobs.yaml").write_text(JOBS)
    network = ("--on", "leaf-spine:2x1x2", "--gpus", 1, "--rate", "10gbit", "--placement", "spread")
    outputs = ("--json", tmp_path / "r.json", "--plot", tmp_path / "p.png", "--timeline", tmp_path / "t.json")
    result = run("cluster", tmp_path / "jobs.yaml", *network, "--order", "fair,cassini", *outputs)
    assert result.exit_code == 0, result.output
    orders = json.loads((tmp_path / "r.json").read_text())["orders"]
    assert orders["fair"]["summary"]["mean_slowdown"] == pytest.approx(1.5, abs=0.01)
    assert orders["cassini"]["summary"]["mean_slowdown"] == pytest.approx(1, abs=0.02)
    assert [row["hosts"] for row in orders["fair"]["jobs"]] == [["h0", "h2"], ["h1", "h3"]]
    assert (tmp_path / "p.png").stat().st_size > 10_000
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert max(map(len, result.output.splitlines())) <= 80


def test_what_is_shown_are_the_numbers(tmp_path: Path) -> None:
    (tmp_path / "jobs.yaml").write_text(JOBS)
    network = ("--on", "leaf-spine:2x1x2", "--gpus", 1, "--rate", "10gbit", "--placement", "spread", "--order", "fair")
    lines = run("cluster", tmp_path / "jobs.yaml", *network, "--json", tmp_path / "r.json").output.splitlines()
    assert lines[0].strip() == "2 jobs on 4 GPUs of leaf-spine-2x1x2: spread, means"
    assert lines[1].split() == ["completion", "p95", "wait", "slowdown", "worst", "GPUs"]
    row = json.loads((tmp_path / "r.json").read_text())["orders"]["fair"]["summary"]
    shown = [duration(row[key]) for key in ("mean_completion_s", "p95_completion_s", "mean_wait_s")]
    shown += [f"{row['mean_slowdown']:.3f}", f"{row['most_slowdown']:.3f}", f"{row['gpu_share']:.0%}"]
    assert lines[2].split() == " ".join(["fair", *shown]).split()


@pytest.mark.parametrize("kept", [("--plot", "p.png"), ("--timeline", "t.json"), ()])
def test_a_run_keeps_what_its_pictures_need(
    tmp_path: Path, kept: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []
    whole = sweep.cluster_cases

    def cases(*of: object, pictures: bool) -> object:
        asked.append(pictures)
        return whole(*of, pictures=pictures)

    monkeypatch.setattr(sweep, "cluster_cases", cases)
    (tmp_path / "jobs.yaml").write_text(JOBS)
    outputs = [str(tmp_path / each) if "." in each else each for each in kept]
    done = run("cluster", tmp_path / "jobs.yaml", "--on", "leaf-spine:2x1x2", "--gpus", 1, "--order", "fair", *outputs)
    assert done.exit_code == 0, done.output
    assert asked == [bool(kept)]
    assert all(Path(path).stat().st_size > 100 for path in outputs[1:])


def test_a_sweep_gives_the_same_in_processes(tmp_path: Path) -> None:
    (tmp_path / "jobs.yaml").write_text(JOBS)
    words = ("--on", "leaf-spine:2x1x2", "--gpus", 1, "--rate", "10gbit", "--placement", "spread,random", "--seeds", 2)
    rows = []
    for processes in (1, 2):
        path = tmp_path / f"{processes}.json"
        result = run("cluster", tmp_path / "jobs.yaml", *words, "--processes", processes, "--json", path)
        assert result.exit_code == 0, result.output
        assert max(map(len, result.output.splitlines())) <= 80
        rows.append(json.loads(path.read_text())["orders"])
    assert rows[0] == rows[1]
    names = [
        f"{placement} {order} seed {k}"
        for placement in ("spread", "random")
        for order in ("fair", "crux")
        for k in (0, 1)
    ]
    assert list(rows[0]) == names


def test_a_sweep_gives_the_same_on_a_dask_scheduler(tmp_path: Path) -> None:
    (tmp_path / "jobs.yaml").write_text(JOBS)
    words = ("--on", "leaf-spine:2x1x2", "--gpus", 1, "--rate", "10gbit", "--placement", "spread,random")
    local = {"protocol": "tcp", "host": "127.0.0.1", "dashboard_address": None, "worker_dashboard_address": None}
    rows = []
    with LocalCluster(n_workers=1, threads_per_worker=2, processes=False, **local) as scheduler:
        for where in (("--processes", 1), ("--dask", scheduler.scheduler_address)):
            result = run("cluster", tmp_path / "jobs.yaml", *words, *where, "--json", tmp_path / "r.json")
            assert result.exit_code == 0, result.output
            rows.append(json.loads((tmp_path / "r.json").read_text())["orders"])
        finished = scheduler.scheduler.transition_counter
    assert rows[0] == rows[1]
    assert len(rows[1]) == 4
    assert finished > 0  # they went there


def test_a_cluster_file_and_a_log(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(
        'hosts: [{name: "h[1-2]", gpus: 8}]\nswitches: [{name: s1, target: plain}]\n'
        'links: [{ends: ["h[1-2]", s1], rate: 100gbit}]\n'
    )
    (tmp_path / "log.csv").write_text(
        "job_id,gpu_num,submit_time,duration\n1,16,2020-04-01 00:00:00,60\n2,4,2020-04-01 00:00:05,10\n"
    )
    result = run("cluster", tmp_path / "log.csv", "--on", tmp_path / "c.yaml", "--order", "fair", "--json", "-")
    assert result.exit_code == 0, result.output
    jobs = json.loads(result.stdout)["orders"]["fair"]["jobs"]
    assert [job["gpus"] for job in jobs] == [16, 4]
    assert jobs[1]["start_s"] == jobs[0]["finish_s"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--on", "torus:3"), "torus:3"),
        (("--on", "leaf-spine:2x0x2"), "expected one of star:HOSTS"),
        (("--order", "lottery"), "expected one of cassini, crux"),
        (("--placement", "anywhere"), "expected one of dgtp, packed"),
        (("--on", "star:1", "--gpus", "1"), "job a1: 2 GPUs: star-1 has 1"),
    ],
)
def test_what_cannot_be_is_one_line(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    (tmp_path / "jobs.yaml").write_text(JOBS)
    result = run("cluster", tmp_path / "jobs.yaml", *words)
    assert isinstance(result.exception, OfframpError | SystemExit)
    assert message in " ".join(f"{result.exception} {result.output}".split())


def test_coflows_in_two_orders(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("3 2\n1 0 1 0 1 2:100\n2 0 2 0 1 1 2:20\n")
    result = run("coflows", tmp_path / "c.txt", "--json", "-")
    assert result.exit_code == 0, result.output
    orders = json.loads(result.stdout)["orders"]
    assert orders["sebf"]["mean_s"] == pytest.approx(0.56)
    assert orders["fifo"]["ratio"] == pytest.approx(0.88 / 0.56)
