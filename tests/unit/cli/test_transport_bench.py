# SPDX-License-Identifier: Apache-2.0
"""What ``offramp transport bench`` makes of measurements that are given; the measurements are tested elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer.testing import CliRunner

from offramp_base.errors import OfframpError
from offramp_cli.app import app
from offramp_sim import transports
from offramp_sim.transports import ExchangeRate, LinkRate

if TYPE_CHECKING:
    import pytest


def test_the_fastest_of_each_and_why_one_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []

    def link(name: str, size: int, *rest: Any) -> LinkRate:
        asked.append((name, size, *rest))
        if name == "af_xdp":
            raise OfframpError("no queue [0]")
        round_ = sum(each[:2] == (name, size) for each in asked)
        return LinkRate(name, size, 1_234_567 * round_, 2.0, 5)

    def exchange(name: str, *rest: Any, seed: int) -> ExchangeRate:
        asked.append((name, *rest, seed))
        return ExchangeRate(name, 10, 4.0, 0.0125 / sum(each[0] == name for each in asked), 2_000_000, 7)

    monkeypatch.setattr(transports, "measure_link", link)
    monkeypatch.setattr(transports, "measure_exchange", exchange)
    names = ("-t", "unix", "-t", "af_xdp", "--size", "64", "--size", "1500", "--rounds", "2", "--seconds", "2")
    words = ["transport", "bench", *names, "--seed", "3", "--json", str(tmp_path / "n.json")]
    done = CliRunner().invoke(app, words, env={"COLUMNS": "160"})
    assert done.exit_code == 0, done.exception
    lines = [" ".join(line.replace("\u2502", " ").replace("\u2503", " ").split()) for line in done.output.splitlines()]
    assert "transport 64 B 1,500 B exchange its ms lost" in lines
    assert [line for line in lines if line.startswith("unix")] == ["unix 1,235 1,235 500 2.1 17"]
    assert "af_xdp: not measured: no queue [0]" in lines
    assert [each[:2] for each in asked].count(("af_xdp", 64)) == 1
    assert ("unix", 64, 2.0, 3) in asked
    written = json.loads((tmp_path / "n.json").read_text())
    assert {row["frames"] for row in written["links"]} == {2 * 1_234_567}
