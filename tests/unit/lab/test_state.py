# SPDX-License-Identifier: Apache-2.0
"""The list of laboratories beside processes that remove their temporary folders meanwhile, and what ends them."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from offramp_base.ending.owner import PREFIX
from offramp_base.errors import OfframpError
from offramp_sim.lab import state
from offramp_sim.lab.state import Lab, end, find, read_state, running

HOLDER = "41.7.here"


@pytest.fixture
def alive(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Processes that run, by their names."""
    names = {HOLDER}
    monkeypatch.setattr(state, "is_process", names.__contains__)
    return names


def _lab(folder: Path, name: str = "a", **fields: Any) -> Lab:
    return Lab(name, str(folder), "cluster.yaml", "user", HOLDER, **fields)


def test_a_folder_that_is_gone_since_it_was_listed_is_no_laboratory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "glob", lambda self, _: [self / f"{PREFIX}gone"])
    assert running() == []


def test_a_state_is_read_as_it_was_saved(tmp_path: Path, alive: set[str]) -> None:
    lab = _lab(tmp_path, processes={"switch": "42.8.here"}, notes=("one", "two"), restarts={"switch": 3})
    lab.save()
    assert (tmp_path / "lab.json").read_text("utf-8").endswith("}\n")
    assert read_state(tmp_path / "lab.json") == [lab]
    alive.clear()
    assert read_state(tmp_path / "lab.json") == []


@pytest.mark.parametrize("change", [{"further": 1}, {"notes": None}, None])
def test_a_state_of_another_version_is_no_laboratory(
    tmp_path: Path, alive: set[str], change: dict[str, Any] | None
) -> None:
    lab = _lab(tmp_path)
    lab.save()
    path = tmp_path / "lab.json"
    data = json.loads(path.read_text("utf-8"))
    if change is None:
        del data["notes"]
    path.write_text(json.dumps({**data, **(change or {})}), "utf-8")
    assert read_state(path) == []


def test_the_folders_of_this_user_that_hold_a_state_are_listed_in_order(
    tmp_path: Path, alive: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "sweep_folders", lambda: None)
    monkeypatch.setattr("offramp_sim.lab.state.tempfile.gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(state, "_SHORT", str(tmp_path))
    for name in ("b", "a", "empty"):
        (tmp_path / f"{PREFIX}{name}").mkdir()
    (tmp_path / f"{PREFIX}file").write_text("", "utf-8")
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path / f"{PREFIX}a")
    for name in ("a", "b"):
        _lab(tmp_path / f"{PREFIX}{name}", name).save()
    assert [lab.name for lab in running()] == ["a", "b"]
    own = os.geteuid()
    monkeypatch.setattr("offramp_sim.lab.state.os.geteuid", lambda: own + 1)
    assert running() == []


@pytest.mark.parametrize(
    ("names", "wanted", "message"),
    [
        ("", None, "lab: no such laboratory runs; running: none"),
        ("", "x", "lab x: no such laboratory runs; running: none"),
        ("ab", "x", "lab x: no such laboratory runs; running: a, b"),
        ("ab", None, "several laboratories run, of which one must be named: a, b"),
        ("aab", "a", "several laboratories run, of which one must be named: a, a, b"),
    ],
)
def test_a_laboratory_that_is_not_determined_is_refused(
    monkeypatch: pytest.MonkeyPatch, names: str, wanted: str | None, message: str
) -> None:
    monkeypatch.setattr(state, "running", lambda: [_lab(Path("x"), name) for name in names])
    with pytest.raises(OfframpError) as refusal:
        find(wanted)
    assert str(refusal.value) == message


@pytest.mark.parametrize(("names", "wanted", "chosen"), [("a", None, "a"), ("ab", "b", "b")])
def test_the_only_laboratory_or_that_of_a_name(
    monkeypatch: pytest.MonkeyPatch, names: str, wanted: str | None, chosen: str
) -> None:
    monkeypatch.setattr(state, "running", lambda: [_lab(Path("x"), name) for name in names])
    assert find(wanted).name == chosen


def test_processes_that_should_run_and_do_not(tmp_path: Path, alive: set[str]) -> None:
    alive.add("1.1.here")
    assert _lab(tmp_path, processes={"runs": "1.1.here", "ended": "2.2.here"}).ended() == ["ended"]


class Signals:
    """Stands for the processes that signals reach, and for a clock that only moves while somebody sleeps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, alive: set[str], deadly: signal.Signals | None) -> None:
        self.sent: list[tuple[int, signal.Signals]] = []
        self.seconds, self.swept = 0.0, 0
        self._alive, self._deadly = alive, deadly
        monkeypatch.setattr("offramp_sim.lab.state.os.kill", self._kill)
        monkeypatch.setattr("offramp_sim.lab.state.time.monotonic", lambda: self.seconds)
        monkeypatch.setattr("offramp_sim.lab.state.time.sleep", self._sleep)
        monkeypatch.setattr(state, "sweep_folders", self._sweep)

    def _kill(self, pid: int, number: signal.Signals) -> None:
        self.sent.append((pid, number))
        if number == self._deadly:
            self._alive.clear()

    def _sleep(self, seconds: float) -> None:
        self.seconds += seconds

    def _sweep(self) -> None:
        self.swept += 1


@pytest.mark.parametrize(
    ("deadly", "sent", "seconds"),
    [(signal.SIGTERM, [signal.SIGTERM], 0), (signal.SIGKILL, [signal.SIGTERM, signal.SIGKILL], 20)],
)
def test_a_laboratory_is_killed_when_it_does_not_end_in_20_s(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    alive: set[str],
    deadly: signal.Signals,
    sent: list[signal.Signals],
    seconds: float,
) -> None:
    signals = Signals(monkeypatch, alive, deadly)
    end(_lab(tmp_path))
    assert signals.sent == [(41, number) for number in sent]
    assert signals.seconds == pytest.approx(seconds, abs=0.1)
    assert signals.swept == 1


def test_a_laboratory_that_has_ended_is_sent_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, alive: set[str]
) -> None:
    alive.clear()
    signals = Signals(monkeypatch, alive, None)
    end(_lab(tmp_path))
    assert (signals.sent, signals.swept) == ([], 1)


def test_a_laboratory_that_outlives_both_signals_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, alive: set[str]
) -> None:
    signals = Signals(monkeypatch, alive, None)
    with pytest.raises(OfframpError, match=r"lab a: its process 41 does not end"):
        end(_lab(tmp_path))
    assert signals.seconds == pytest.approx(40, abs=0.2)
    assert signals.swept == 0
