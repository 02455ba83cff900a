# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate g3`` from its options to its files."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from offramp_cli.app import app
from offramp_cli.g3 import simulate
from offramp_sim.g3.pipeline import ENGINES

SMALL = ["--graph", "ba:n=300,m=4", "--workers", "3", "--partition", "hash", "--link", "1G"]


def run(*arguments):
    return CliRunner().invoke(app, ["simulate", "g3", *arguments])


@pytest.mark.full
def test_all_pipelines_with_numbers_and_a_picture(tmp_path) -> None:
    result = run(*SMALL, "--plot", str(tmp_path / "g.png"), "--json", str(tmp_path / "n.json"))
    assert result.exit_code == 0, result.exception
    report = json.loads((tmp_path / "n.json").read_text())
    pipelines = report["pipelines"]
    assert list(pipelines) == ["sequential", "inter", "intra", "g3"]
    assert pipelines["g3"]["seconds"] < pipelines["sequential"]["seconds"]
    for outcome in pipelines.values():
        assert outcome["bound_s"] <= outcome["seconds"]
        assert outcome["bytes_sent"] == pipelines["g3"]["bytes_sent"]
        assert all(0 < share <= 1 for share in outcome["busy"].values())
    assert report["settings"]["widths"] == [64, 16, 16, 4]
    assert (tmp_path / "g.png").read_bytes().startswith(b"\x89PNG")
    assert "no pipeline of these bins takes less" in result.output


def test_chosen_pipelines_repeat(tmp_path) -> None:
    path = tmp_path / "n.json"
    texts = []
    for _ in range(2):
        assert run(*SMALL, "--mode", "g3", "--targets", "7", "--seed", "3", "--json", str(path)).exit_code == 0
        texts.append(path.read_text())
    assert texts[0] == texts[1]
    assert list(json.loads(texts[0])["pipelines"]) == ["g3"]
    assert json.loads(texts[0])["settings"]["targets"] == 7


@pytest.mark.parametrize(("vertices", "targets"), [(240, 5), (300, 7), (30, 1)])
def test_a_bin_is_a_sixteenth_of_a_worker_s_vertices(tmp_path, vertices: int, targets: int) -> None:
    small = ["--graph", f"ba:n={vertices},m=4", *SMALL[2:], "--mode", "inter", "--json", str(tmp_path / "n.json")]
    assert run(*small).exit_code == 0
    assert json.loads((tmp_path / "n.json").read_text())["settings"]["targets"] == targets


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--mode", "g4"], "--mode g4: expected one of sequential, inter, intra, g3"),
        (["--targets", "0"], "--targets 0: expected at least 1"),
        (["--layers", "0"], "--layers 0: expected at least 1"),
        (["--link", "fast"], "--link fast: expected a rate such as 10mbit, 2.5gbit or 64000"),
    ],
)
def test_golden_errors(arguments: list[str], message: str) -> None:
    assert str(run(*SMALL, *arguments).exception) == message


def test_what_is_shown_are_the_numbers(tmp_path) -> None:
    small = ["--graph", "ba:n=60,m=3", *SMALL[2:], "--json", str(tmp_path / "n.json")]
    lines = CliRunner().invoke(app, ["simulate", "g3", *small], env={"COLUMNS": "200"}).output.splitlines()
    pipelines = json.loads((tmp_path / "n.json").read_text())["pipelines"]
    slowest = max(each["seconds"] for each in pipelines.values())
    rows = [line.split() for line in lines if line.split()[:1] and line.split()[0] in pipelines]
    assert [row[0] for row in rows] == list(pipelines)
    for row, each in zip(rows, pipelines.values(), strict=True):
        gain, compute, send = 100 * (each["seconds"] / slowest - 1), each["busy"]["compute"], each["busy"]["send"]
        assert row[1:] == [
            f"{1e3 * each['seconds']:.3f}",
            *(f"{gain:+.1f}", "%"),
            *(f"{100 * compute:.0f}", "%"),
            *(f"{100 * send:.0f}", "%"),
            f"{each['bytes_sent'] / 1e6:.2f}",
        ]
    bound = max(each["bound_s"] for each in pipelines.values())
    assert any(line.startswith(f"no pipeline of these bins takes less than {1e3 * bound:.3f} ms") for line in lines)


def test_a_picture_has_the_first_workers_engines_in_milliseconds() -> None:
    spans = [
        SimpleNamespace(worker=worker, engine=engine, layer=layer, start_s=start, length_s=length)
        for worker, engine, layer, start, length in [(0, 1, 0, 0.5, 0.25), (0, 2, 0, 1.0, 0.0), (9, 3, 1, 2.0, 1.0)]
    ]
    spans += [SimpleNamespace(worker=10 + n, engine=0, layer=2, start_s=0.0, length_s=1.0) for n in range(40)]
    picture = simulate._gantt("g3", SimpleNamespace(spans=spans, seconds=3.5))  # type: ignore[arg-type]
    assert picture.title == "g3: 3500.00 ms"
    assert picture.spans["layer 0"] == [(1, 500.0, 250.0)]
    assert picture.spans["layer 1"] == [(len(ENGINES) + 3, 2000.0, 1000.0)]
    assert len(picture.spans["layer 2"]) == simulate._SHOWN - 2
    assert picture.rows[: len(ENGINES)] == tuple(f"0 {engine}" for engine in ENGINES)


def test_a_device_s_link_is_what_loads_and_unloads_take(tmp_path) -> None:
    """A pipeline in which one thing comes after the other: its time is the sum of what each of them takes."""
    seconds = {}
    for rate in ("1gbit", "2gbit", "4gbit"):
        words = [*SMALL, "--mode", "sequential", "--device-link", rate, "--json", str(tmp_path / "n.json")]
        assert run(*words).exit_code == 0
        seconds[rate] = json.loads((tmp_path / "n.json").read_text())["pipelines"]["sequential"]["seconds"]
    slower = (seconds["1gbit"] - seconds["2gbit"]) / (seconds["2gbit"] - seconds["4gbit"])
    assert slower == pytest.approx(2.0, rel=0.2)
    rest = 2 * seconds["2gbit"] - seconds["1gbit"]  # what does not depend on that link
    assert rest < 0.9 * seconds["1gbit"]
