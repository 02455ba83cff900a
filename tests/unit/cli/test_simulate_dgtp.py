# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate dgtp`` from its arguments to its files."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from offramp.dgtp import read_plan
from offramp_base.errors import OfframpError
from offramp_cli.app import app
from offramp_cli.dgtp.simulate import PlacementSettings, _compared, _left_s, _too_short

QUICK = ["--reliefs", "500", "--steps", "300", "--trials", "50", "--walks", "2", "--iterations", "20"]
QUICK += ["--processes", "1"]


def run(*arguments):
    return CliRunner().invoke(app, ["simulate", "dgtp", *arguments])


def test_list_names_the_setups():
    lines = run("list").output.splitlines()
    assert lines[0] == "testbed-products-ps"
    assert "heterogeneous" in lines


@pytest.mark.full
def test_a_plan_with_everything(tmp_path):
    files = ["--gantt", str(tmp_path / "g.png"), "--export", str(tmp_path / "plan"), "--json", str(tmp_path / "n.json")]
    result = run("testbed-products-ps", *QUICK, "--policy", "all", *files)
    assert result.exit_code == 0, result.exception
    numbers = json.loads((tmp_path / "n.json").read_text())
    known, seconds = numbers["bounds"], numbers["seconds"]
    assert known["lower_s"] <= numbers["makespan_s"] <= known["critical_path_s"]
    assert numbers["makespan_s"] == seconds["ours"]["oes"]
    assert known["at_most_times_optimum"] <= known["competitive_ratio"]
    assert seconds["ours"]["oes"] <= 1.01 * seconds["colocated (DistDGL)"]["oes"]
    assert seconds["ours"]["oes"] < 0.85 * seconds["colocated (DistDGL)"]["fifo"]
    assert (tmp_path / "g.png").read_bytes().startswith(b"\x89PNG")
    assert len(read_plan(tmp_path / "plan" / "plan.json").roles) == len(numbers["placement"])
    assert "Bounds of this placement" in result.output
    again = run("testbed-products-ps", *QUICK, "--json", str(tmp_path / "again.json"))
    assert again.exit_code == 0
    assert json.loads((tmp_path / "again.json").read_text())["placement"] == numbers["placement"]


@pytest.mark.full
def test_any_graph_from_a_file(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(
        "machines: [{name: a, cpu: 4, network: 1Gbps}, {name: b, cpu: 4, network: 1Gbps}]\n"
        "tasks: [{name: x, seconds: 1, cpu: 3}, {name: y, seconds: 1, cpu: 3}]\n"
        "edges: [{from: x, to: y, bytes: 125MB}]\n"
    )
    result = run(str(path), *QUICK, "--search", "paper", "--json", str(tmp_path / "n.json"))
    assert result.exit_code == 0, result.exception
    numbers = json.loads((tmp_path / "n.json").read_text())
    assert numbers["makespan_s"] == pytest.approx(22)  # x and y cannot share a machine: a pipeline of three stages
    assert set(numbers["placement"]) == {0, 1}


def test_a_job_that_takes_no_time_is_an_error(tmp_path):
    path = tmp_path / "nothing.yaml"
    path.write_text(
        "machines: [{name: a, cpu: 4, network: 1Gbps}]\ntasks: [{name: x, seconds: 0, cpu: 3}]\nedges: []\n"
    )
    result = run(str(path), *QUICK, "--json", str(tmp_path / "n.json"))
    assert str(result.exception) == "nothing: the job takes no time: expected a task or a transfer that does"
    assert not (tmp_path / "n.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "setup nowhere: expected a YAML file or one of testbed-products-ps"),
        (["none.yaml"], "none.yaml: cannot be read"),
        (["heterogeneous", "--policy", "best"], "--policy best: expected one of oes"),
        (["heterogeneous", "--search", "x"], "--search x: expected one of paper, portfolio"),
        (["heterogeneous", "--iterations", "0"], "--iterations 0: expected at least 1"),
        (["heterogeneous", "--processes", "0"], "--processes 0: expected at least 1"),
        (["heterogeneous", "--reliefs", "-1"], "--reliefs -1: expected at least 0"),
        (["heterogeneous", "--json", "/nowhere/n.json"], "--json /nowhere/n.json: cannot be written: No such file"),
        (["heterogeneous", "--gantt", "/nowhere/g.png"], "--plot /nowhere/g.png: cannot be written: No such file"),
        (["heterogeneous", "--mu", "-1"], "--mu -1: expected at least 0"),
    ],
)
def test_errors_are_one_line(arguments, message):
    result = run(*arguments)
    assert isinstance(result.exception, OfframpError)
    assert message in str(result.exception)
    assert "\n" not in str(result.exception)


def test_the_time_that_is_left_for_a_search():
    """Five of 100 s are for writing, and judging takes 1.2 times as long as the baselines did."""
    assert _left_s(100, 20, 10) == pytest.approx(95 - 20 - 12)
    assert _left_s(100, 0, 0) == pytest.approx(95)
    assert _left_s(100, 80, 10) == pytest.approx(5)
    assert [_too_short(seconds, 3) for seconds in (5.9, 6, 6.1)] == [True, False, False]


@pytest.mark.parametrize("setup", ["testbed-reddit-ps", "heterogeneous"])
def test_no_baseline_that_is_shown_is_ahead_of_the_plan(setup, tmp_path):
    """One walk of no steps ends at the first feasible placement; colocation stands beside what is exported."""
    alone = ["--walks", "1", "--steps", "0", "--trials", "0", "--reliefs", "0", "--iterations", "5"]
    result = run(setup, *alone, "--processes", "1", "--policy", "oes", "--json", str(tmp_path / "n.json"))
    assert result.exit_code == 0, result.exception
    numbers = json.loads((tmp_path / "n.json").read_text())
    seconds = {name: row["oes"] for name, row in numbers["seconds"].items()}
    assert len(seconds) > 1
    assert numbers["makespan_s"] == seconds["ours"] <= min(seconds.values())


@pytest.mark.parametrize(
    ("edges", "within", "iterations", "others"),
    [
        (0, None, 100, True),
        (100, None, 100, True),
        (100, 0.01, 100, False),
        (20_000, None, 50, False),
        (10**6, 9, 3, False),
    ],
)
def test_large_jobs_are_compared_in_fewer_iterations_and_policies(
    edges: int, within: float | None, iterations: int, others: bool
) -> None:
    problem = SimpleNamespace(graph=SimpleNamespace(edges=range(edges)))
    chosen = _compared(problem, PlacementSettings("x"), within)
    assert chosen.iterations == iterations
    rest = ("fifo", "mrtf", "omcoflow")
    assert (chosen.policies, chosen.left_out) == ((("oes", *rest), ()) if others else (("oes",), rest))
    asked = _compared(problem, PlacementSettings("x", iterations=7, policy=("mrtf", "oes", "mrtf")), within)
    assert (asked.iterations, asked.policies, asked.left_out) == (7, ("mrtf", "oes"), ())
