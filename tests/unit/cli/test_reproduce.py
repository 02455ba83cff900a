# SPDX-License-Identifier: Apache-2.0
"""``offramp reproduce``: small graphs, real runs; what the numbers mean is checked by the tests of the simulators."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from offramp_base.errors import OfframpError
from offramp_cli.app import app
from offramp_sim.reproduce.catalogue import find, items
from offramp_sim.reproduce.datasets import COPIES, DATASETS, PaperDataset, sample, without_locality
from offramp_sim.reproduce.gpu import RTX3090
from offramp_sim.reproduce.item import ITEMS
from offramp_sim.reproduce.missing import MISSING
from offramp_sim.reproduce.switchgnn.servers import compute_s


def test_list_names_every_item_with_its_time():
    lines = CliRunner().invoke(app, ["reproduce", "list"]).output.splitlines()
    assert lines.pop().startswith("Times are this machine's at rest")
    listed, missing = lines[: len(items())], lines[len(items()) :]
    assert [line.split()[0] for line in listed] == [item.name for item in items()]
    assert [line.split(" missing: ")[0].rstrip() for line in missing] == list(MISSING)
    systems = {item.name.split("/")[0] for item in items()}
    systems |= {module.split(".")[2] for module in ITEMS.lacking}  # without PyTorch, which a machine may lack
    assert not {name.split("/")[0] for name in MISSING} - systems
    assert not {item.name for item in items()} & MISSING.keys()
    if ITEMS.lacking:
        return
    assert {name for name in (item.name for item in items()) if name.startswith("switchgnn/")} == {
        *(f"switchgnn/fig{n}" for n in (1, 2, 7, 9, *range(11, 20))),
        "switchgnn/table1",
        "switchgnn/fig15-packets",
        "switchgnn/fig15-size",
        "switchgnn/fig17-packets",
        "switchgnn/improvements",
        "switchgnn/where",
        "switchgnn/where-measured",
    }
    assert {name for name in (item.name for item in items()) if name.startswith("dgtp/")} == {
        *(f"dgtp/{name}" for name in ("table3", "fig7", "fig8", "fig9", "fig10", "fig11", "bounds", "sensitivity")),
        "dgtp/table3-measured",
    }
    assert {name for name in (item.name for item in items()) if name.startswith("g3/")} == {
        *(f"g3/fig4.{n}" for n in (2, 7, 11, 12, 13, 14, 15, 16, 17)),
        "g3/priorities",
    }
    assert {name for name in (item.name for item in items()) if name.startswith("sylvie/")} == {
        "sylvie/accuracy",
        "sylvie/rankings",
        *(f"sylvie/table3.{n}" for n in (2, 6, 7, 8, 9, 10, 11, 12)),
        *(f"sylvie/fig3.{n}" for n in (1, 5, 9, 10, 11, 13)),
    }
    assert {name for name in (item.name for item in items()) if name.startswith("themis/")} == {
        *(f"themis/fig{n}" for n in (4, 5, 7, 8, 9, 10, 11, 12)),
        *(f"themis/table{n}" for n in (1, 2, 3)),
        "themis/section6.3",
        "themis/fig12-roofline",
        "themis/controls",
    }


@pytest.mark.full
def test_a_referee_writes_verdicts_rows_and_a_plot(tmp_path):
    path, rows = tmp_path / "found.json", tmp_path / "rows.jsonl"
    command = ["reproduce", "switchgnn/fig7", "themis/fig5", "--referee", "--scale", "0.1", "--seeds", "2"]
    command += ["--scales", "1", "--scales", "2", "--rows", str(rows), "--out", str(tmp_path), "--json", str(path)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.exception
    report = json.loads(path.read_text())
    assert report["schema"] == "offramp.referee/1"
    skew, orders = report["items"]
    (fitted,) = skew["verdicts"]
    assert (fitted["evidence"], fitted["ruling"], fitted["published"]) == ("fitted", "no claim", "80 %")
    assert fitted["low"] < fitted["middle"] < fitted["high"]
    assert [row["case"]["scale"] for row in skew["rows"]] == [0.1, 0.1, 0.2, 0.2]
    assert {verdict["evidence"] for verdict in orders["verdicts"]} == {"simulated"}
    assert (tmp_path / "switchgnn-fig7-referee.png").stat().st_size > 5000
    assert len(rows.read_text().splitlines()) == 1 + 4 + 2  # nothing is random in figure 5: one seed


@pytest.mark.full
def test_figures_write_numbers_and_plots(tmp_path):
    wanted = ["switchgnn/fig7", "switchgnn/fig2", "switchgnn/fig16"]
    path = tmp_path / "found.json"
    command = ["reproduce", *wanted, "--scale", "0.12", "--plots", str(tmp_path / "plots"), "--json", str(path)]
    result = CliRunner().invoke(app, command)
    assert isinstance(result.exception, OfframpError)  # half the size of figure 16 is too small; the others are made
    assert str(result.exception) == "not reproduced here: switchgnn/fig16"
    assert "expected 512 to" in result.output
    assert [item["name"] for item in json.loads(path.read_text())["items"]] == wanted[:2]
    command[command.index("0.12")] = "0.26"
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.exception
    items = {item["name"]: item for item in json.loads(path.read_text())["items"]}
    assert list(items) == wanted
    for name, item in items.items():
        assert item["published"].keys() == item["ours"].keys()
        assert "not on this machine" in item["note"]
        assert (tmp_path / "plots" / f"{name.replace('/', '-')}.png").read_bytes().startswith(b"\x89PNG")
    figure2 = items["switchgnn/fig2"]
    assert figure2["published"]["(d) traffic, unlimited against full graph"] == "-94 %"
    bytes_of = {name: outcome["down_vectors"] for name, outcome in figure2["data"].items()}
    assert bytes_of["strawman-unlimited"] < bytes_of["switchgnn"] < bytes_of["strawman"] < bytes_of["bns-gcn"]
    shares = figure2["data"]["strawman"]
    assert shares["peak_open"] == shares["aggregators"]


def test_the_generated_reddit_has_sixteen_copies_and_a_skew():
    reddit = sample("reddit", 0.25)
    boundary = reddit.boundary(128)
    assert pytest.approx(COPIES, rel=0.05) == boundary.R / boundary.B
    need = np.sort(reddit.boundary(32).need)[::-1]
    assert need[: len(need) // 5].sum() > 0.5 * need.sum()
    assert len(reddit.indptr) - 1 == round(reddit.ratio * DATASETS["reddit"].vertices)


@pytest.mark.full
def test_improvements_beat_the_published_numbers_and_each_step_helps():
    reproduced = find("switchgnn/improvements")[0].reproduce(0.5, 0)
    times = {label: numbers["epoch_ms"] for label, numbers in reproduced.data.items()}
    steps = [time for label, time in times.items() if label == "bns-gcn" or label.startswith("+")]
    assert steps == sorted(steps, reverse=True)
    wide, host = (reproduced.data[label] for label in ("+ slices as wide as fit", "bns-gcn"))
    assert wide["epoch_ms"] < 0.15 * host["epoch_ms"]
    assert wide["wire_gb"] < 0.19 * host["wire_gb"]


def test_computation_of_the_servers_has_a_closed_form():
    data = PaperDataset("one", 1000, 5000, 128, 128, 10, 1000)
    gathered, multiplied = 10_000 * 512 / RTX3090.bytes_per_s, 2 * 1000 * 128 * 128 / RTX3090.flops
    assert compute_s(data, 2, 4) == pytest.approx(3 * 2 * (gathered + multiplied) / RTX3090.efficiency / 4)


def test_a_graph_without_locality_has_the_same_copies():
    boundary = without_locality(0.25).boundary(128)
    assert pytest.approx(COPIES, rel=0.05) == boundary.R / boundary.B


def test_errors_name_what_there_is():
    with pytest.raises(OfframpError, match="reproduce switchgnn/fig99: expected one of switchgnn/fig1, "):
        find("switchgnn/fig99")
    with pytest.raises(OfframpError, match="data set 'cora': expected one of products, yelp, reddit"):
        sample("cora")
    names = [item.name for item in items()]
    assert [item.name for item in find("themis")] == [name for name in names if name.startswith("themis/")]
    assert len(find("all")) == len(names)


def test_rows_need_no_matplotlib(tmp_path, monkeypatch):
    """Only the picture does: numbers are printed and written, and one line says why there is no picture."""
    monkeypatch.setattr("offramp_cli.picture.find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    path = tmp_path / "found.json"
    command = ["reproduce", "themis/table1", "themis/fig5", "--out", str(tmp_path / "out"), "--json", str(path)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.exception
    assert result.output.count("no picture: matplotlib is missing") == 1
    assert "plot:" not in result.output
    assert [len(each["ours"]) > 0 for each in json.loads(path.read_text())["items"]] == [True, True]
    assert not list((tmp_path / "out").glob("*.png"))
    referee = ["reproduce", "themis/fig5", "--referee", "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(app, referee)
    assert result.exit_code == 0, result.exception
    assert result.output.count("no picture: matplotlib is missing") == 1
