# SPDX-License-Identifier: Apache-2.0
"""What ``offramp nic bench`` makes of measurements that are given; ``tests/nic`` measures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer.testing import CliRunner

from offramp_cli.app import app
from offramp_sim import nic
from offramp_sim.nic import bench
from offramp_sim.nic.bench import NicRate
from offramp_sim.nic.testpmd import NoRateError

if TYPE_CHECKING:
    import pytest

FRAMES = 100_000


def run(file: Path, *words: str) -> list[str]:
    done = CliRunner().invoke(app, ["nic", "bench", *words, "--json", str(file)], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.exception
    return [" ".join(line.split()) for line in done.output.splitlines()]


def test_each_way_beside_python_and_beside_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The quickest of the rounds counts."""
    seconds = {"python": 4.0, "agent": 1.0, "testpmd": 0.5}
    asked: list[tuple[Any, ...]] = []

    def measure(link: str, way: str, *rest: Any) -> NicRate:
        asked.append((link, way, *rest))
        if link == "memif" and way == "testpmd":
            raise NoRateError("it says nothing")
        round_ = sum(each[:2] == (link, way) for each in asked)
        return NicRate(link, way, FRAMES, seconds.get(way, 2.0) * (1 if round_ == 2 else 2), 4 * 10**7, 10**7)

    monkeypatch.setattr(bench, "measure", measure)
    words = (
        "--link",
        "veth",
        "--link",
        "memif",
        "--seconds",
        "0.5",
        "--rounds",
        "3",
        "--vertices",
        "50",
        "--seed",
        "9",
    )
    lines = run(tmp_path / "n.json", *words)
    ways = [way for way in bench.WAYS if way != "python"]
    assert {each[2:] for each in asked} == {(0.5, 9, 50)}
    assert asked.count(("veth", "python", 0.5, 9, 50)) == 3
    assert asked.count(("memif", "testpmd", 0.5, 9, 50)) == 1  # each try takes long
    rows = [line.split() for line in lines if line.startswith(("veth", "memif"))]
    assert rows[0] == ["veth", "python", "25", "1.0", "12%", "500", "400", "1.0"]
    by = {(row[0], row[1]): row[2:] for row in rows}
    assert by["veth", "testpmd"] == ["200", "8.0", "100%", "500", "400", "1.0"]
    for link in ("veth", "memif"):
        assert {way for one, way in by if one == link} >= {way for way in ways if (link, way) != ("memif", "testpmd")}
    assert all(len(row) == 5 for (link, _), row in by.items() if link == "memif")  # of no limit is anything a share
    assert "memif: no limit to compare with: it says nothing" in lines
    written = json.loads((tmp_path / "n.json").read_text())
    assert written["limits_unknown"] == {"memif": "it says nothing"}
    assert written["rates"][0]["frames_per_s"] == 25_000


def test_several_queues_beside_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rates = {1: iter([1000.0, 2000.0, 4000.0]), 4: iter([3000.0, 3000.0, 10_000.0])}
    asked: list[Any] = []

    def measure(link: str, case: Any, *rest: Any, **more: Any) -> float:
        asked.append((link, *case, *rest, more))
        return next(rates[case[0]])

    monkeypatch.setattr(nic, "measure_queues", measure)
    words = ("--link", "memif", "--queues", "4", "--cores", "3", "--seconds", "0.5", "--rounds", "3")
    rows = [line.split() for line in run(tmp_path / "n.json", *words) if line.startswith("memif")]
    assert asked[:2] == [
        ("memif", *case, 0.5, {"vertices": 4000, "first": False}) for case in ((1, 1), (4, 3))
    ]  # in turns
    assert rows[0][-1] == "2"
    assert rows[1][-4:] == ["3", "2.50", "1.50", "3.00"]
    (link,) = json.loads((tmp_path / "n.json").read_text())["links"]
    assert link["ratios"] == [3.0, 1.5, 2.5]
