# SPDX-License-Identifier: Apache-2.0
"""``offramp lab``: what is shown of laboratories, which are ended, where a command runs. No laboratory is built."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from offramp_base.errors import OfframpError
from offramp_cli.app import app
from offramp_cli.lab import lab as command
from offramp_sim import lab as labs
from offramp_sim.lab import Lab, start, state

CLUSTER = "name: small\nhosts: [{name: h1}, {name: h2}]\nlinks: [{ends: [h1, h2], rate: 1gbit}]\n"
PROCESSES = {"host h1": "1.1.x", "host h2": "2.1.x", "switch s": "3.1.x", "agent h1": "4.1.x"}


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """One that "runs", whose agent has died and whose switch was restarted twice."""
    monkeypatch.setattr(state, "is_process", lambda owner: owner != "4.1.x")
    (tmp_path / state.CLUSTER).write_text(CLUSTER)
    lab_state = Lab("small", str(tmp_path), "c.yaml", "sockets", "77.5.x", PROCESSES, ("no rates",), {"switch s": 2})
    monkeypatch.setattr(labs, "running", lambda: [lab_state])
    monkeypatch.setattr(state, "running", lambda: [lab_state])
    return lab_state


SHOWN = [
    "small: 2 hosts, 1 switch, 1 agent, Unix sockets, no rates; process 77",
    "  no rates",
    "  switch s has died and was restarted, 2 times",
    "  agent h1 has died",
]


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(app, ["lab", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_parts_and_those_that_died(lab: Lab) -> None:
    console = Console(record=True, width=150)
    command.show_lab(console, lab)
    assert [line.rstrip() for line in console.export_text().splitlines()] == SHOWN


@pytest.mark.parametrize("named", [(), ("small",)])
def test_status(lab: Lab, tmp_path: Path, named: tuple[str, ...]) -> None:
    assert run("status", *named, "--json", str(tmp_path / "n.json")).output.splitlines() == SHOWN
    (row,) = json.loads((tmp_path / "n.json").read_text())["labs"]
    assert (row["name"], row["ended"], row["restarts"]) == ("small", ["agent h1"], {"switch s": 2})


def test_no_laboratory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labs, "running", list)
    assert run("status").output == "no laboratory runs\n"


@pytest.mark.parametrize("reason", ["", "not root"])
def test_up_says_why_there_are_no_namespaces(lab: Lab, monkeypatch: pytest.MonkeyPatch, reason: str) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(start, "start", lambda *given: asked.append(given) or (lab, reason))
    lines = run("up", "c.yaml", "--name", "x", "--mode", "sockets").output.splitlines()
    assert lines == [*([f"no namespaces: {reason}"] if reason else []), *SHOWN]
    assert asked == [(Path("c.yaml"), "x", "sockets")]


@pytest.mark.parametrize("arguments", [("--all",), ("small",), ()])
def test_down(lab: Lab, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]) -> None:
    ended: list[Lab] = []
    monkeypatch.setattr(state, "end", ended.append)
    assert run("down", *arguments).output == "small: ended\n"
    assert ended == [lab]


@pytest.mark.parametrize(("code", "status"), [(0, 0), (3, 3), (-9, 137)])
def test_a_command_on_a_host(lab: Lab, monkeypatch: pytest.MonkeyPatch, code: int, status: int) -> None:
    class Ended(BaseException):
        pass

    ran: list[list[str]] = []

    def end(number: int) -> None:
        raise Ended(number)

    monkeypatch.setattr(
        command.subprocess, "run", lambda words, check: ran.append(words) or SimpleNamespace(returncode=code)
    )
    monkeypatch.setattr(command.os, "_exit", end)
    for words in (["h2", "--", "echo", "--all"], ["small/h2", "echo", "--all"]):
        with pytest.raises(Ended) as ended:
            run("exec", *words)
        assert ended.value.args == (status,)
    assert ran[0] == ran[1]
    assert ran[0][-2] == "h2"
    assert ran[0][-1].endswith("OFFRAMP_LAB=small echo --all")
    with pytest.raises(OfframpError, match="h3"):
        run("exec", "h3", "true")
