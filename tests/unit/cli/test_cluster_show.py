# SPDX-License-Identifier: Apache-2.0
"""What ``offramp cluster show`` and ``check`` say of a file, word by word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from offramp_cli.app import app

TWO = """\
name: two
hosts:
  - name: h1
    gpus: 2
    cores: 8
    memory: 64GB
    address: 10.0.0.1
    agents: [{name: soc, socket: soc.sock}]
  - {name: h2}
switches:
  - {name: s1, target: v1model, control: "127.0.0.1:9559", ports: 8, queues: 4}
  - {name: s2, target: plain}
links:
  - {ends: [h1, s1], rate: 10gbit, delay: 2us}
  - {ends: [s1, s2], rate: 10gbit}
  - {ends: [h2, s2], rate: 1gbit}
routing: ecmp
failures:
  - {link: [s1, s2], at: 1ms, until: 3ms}
  - {link: [h1, s1], at: 2ms}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "two.yaml"
    path.write_text(TWO)
    return path


def run(*words: str) -> list[str]:
    done = CliRunner().invoke(app, ["cluster", *words], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.exception
    return [" ".join(line.split()) for line in done.output.splitlines()]


def test_hosts_switches_links_and_failures(file: Path, tmp_path: Path) -> None:
    lines = run("show", str(file), "--json", str(tmp_path / "n.json"))
    assert lines == [
        "host address cores GPUs memory ranks rate in it",
        "h1 10.0.0.1 8 2 64.0 GB 2 10.0 Gbit/s agent soc",
        "h2 1 0 1 1.00 Gbit/s",
        "",
        "switch target control memory queues ports used",
        "s1 v1model 127.0.0.1:9559 4.00 MB 4 2 of 8",
        "s2 plain 4.00 MB 8 2 of 32",
        "",
        "link rate delay",
        "h1:eth0 s1:1 10.0 Gbit/s 2.00 µs",
        "s1:2 s2:1 10.0 Gbit/s",
        "h2:eth0 s2:2 1.00 Gbit/s",
        "",
        "routing: ecmp",
        "s1 - s2 fails at 1 ms until 3 ms",
        "h1 - s1 fails at 2 ms",
    ]
    written: dict[str, Any] = json.loads((tmp_path / "n.json").read_text())
    assert (written["name"], written["routing"]) == ("two", "ecmp")
    assert [each["name"] for each in (*written["hosts"], *written["switches"])] == ["h1", "h2", "s1", "s2"]
    assert written["links"][0] == {"ends": ["h1:eth0", "s1:1"], "rate_bps": 10**10, "delay_ns": 2000}
    assert written["failures"] == [
        {"link": ["s1", "s2"], "at_ns": 1e6, "until_ns": 3e6},
        {"link": ["h1", "s1"], "at_ns": 2e6, "until_ns": None},
    ]


def test_a_file_is_counted(file: Path, tmp_path: Path) -> None:
    counts = "2 hosts, 3 ranks, 2 switches, 3 links, 2 failures, no dimensions, 1 agent, no cards"
    assert run("check", str(file), "--json", str(tmp_path / "n.json")) == [f"{file}: {counts}"]
    written = json.loads((tmp_path / "n.json").read_text())
    present = {"host": 2, "rank": 3, "switch": 2, "link": 3, "failure": 2, "agent": 1}
    assert written["counts"] == present | {"dimension": 0, "card": 0}


def test_a_picture_is_drawn_where_one_is_asked_for(file: Path, tmp_path: Path) -> None:
    run("show", str(file), "--plot", str(tmp_path / "two.svg"))
    assert "<svg" in (tmp_path / "two.svg").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["two.svg", "two.yaml"]
