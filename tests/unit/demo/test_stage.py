# SPDX-License-Identifier: Apache-2.0
"""The stage of the demo: it is never silent for long, keeps to 80 columns, and one act's failure is not another's."""

from __future__ import annotations

import io
import re
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from offramp.report import Alternative, Outcome, ReportCheck, Verdict
from offramp_base.errors import OfframpError
from offramp_base.progress import report
from offramp_cli.demo.acts import ACTS, Act, Scene, played
from offramp_cli.demo.settings import DemoSettings
from offramp_cli.demo.stage import SILENT_S, WIDTH, DemoStage, StageConsole
from offramp_cli.demo.summary import summary


class Clocked(io.StringIO):
    """A file that remembers when each piece of text came."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []

    def write(self, text: str) -> int:
        self.times.append(time.monotonic())
        return super().write(text)


def scene_of(stage: DemoStage, out: Path = Path("out")) -> Scene:
    laboratory: Any = SimpleNamespace()
    return Scene(DemoSettings(), stage, laboratory, out)


def test_a_slow_act_leaves_no_silence_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a tenth of its scale; the longest silence is compared with what the stage was asked for."""
    silent_s = SILENT_S / 10
    file = Clocked()
    stage = DemoStage(StageConsole(file=file, highlight=False), silent_s)

    def slow(self: Act, scene: Scene) -> Outcome:
        with scene.stage.console.status("a part of it") as status:
            time.sleep(2.2 * silent_s)
            status.update("the next")
            report("an item", 1, 3)
            time.sleep(2.2 * silent_s)
        return Outcome("slow", "", "", Verdict("yes", "It is."), "step", ())

    monkeypatch.setattr(Act, "play", slow)
    begun = time.monotonic()
    outcome = played("slow", Act("Slow", "Is it?", "nothing"), scene_of(stage), 1, 1)
    moments = [begun, *file.times, time.monotonic()]
    assert max(b - a for a, b in pairwise(moments)) <= silent_s * 6 / 5 + 0.5  # a busy machine
    text = file.getvalue()
    assert re.search(r"Act 1 of 1, slow: Slow\nIs it\?\n  slow \d s: a part of it", text)
    assert "an item 1/3" in text
    assert outcome.seconds is not None
    assert 4.4 * silent_s - 0.1 <= outcome.seconds <= time.monotonic() - begun + 0.1
    assert (outcome.title, outcome.question) == ("Slow", "Is it?")
    assert all(len(line) <= WIDTH for line in text.splitlines())


def test_the_longest_silence_is_below_six_seconds() -> None:
    assert SILENT_S < 6


def test_a_bar_replaces_the_lines_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    stage = DemoStage(StageConsole(file=file, force_terminal=True, width=80, highlight=False), 0.1)

    def act(self: Act, scene: Scene) -> Outcome:
        with scene.stage.console.status("a part of it"):
            time.sleep(0.4)
        return Outcome("x", "", "", Verdict("yes", ""), "step", ())

    monkeypatch.setattr(Act, "play", act)
    played("x", ACTS["gnn"], scene_of(stage), 1, 1)
    assert "x: a part of it" in file.getvalue()
    assert " s: a part of it" not in file.getvalue()


@pytest.mark.parametrize("error", [OfframpError("no such thing"), ImportError("No module named 'torch'")], ids=repr)
def test_an_act_that_cannot_run_says_so(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def broken(self: Act, scene: Scene) -> Outcome:
        raise error

    monkeypatch.setattr(Act, "play", broken)
    outcome = played("gnn", ACTS["gnn"], scene_of(DemoStage(StageConsole(file=io.StringIO()))), 1, 4)
    assert outcome.verdict.answer == "unknown"
    assert outcome.verdict.sentence.endswith(f"because the act did not run: {error}")
    assert outcome.checks == ()


def test_further_turns_fit_the_budget() -> None:
    scene = scene_of(DemoStage(StageConsole(file=io.StringIO())))
    scene.stage._begun_s = time.monotonic() - 10
    assert scene.again(1, 3, 30.0)
    assert not scene.again(1, 3, 15.0)
    assert not scene.again(3, 3, 1000.0)


def test_acts_are_chosen_in_their_order() -> None:
    assert DemoSettings(act=("job", "gnn")).acts == ("gnn", "job")
    assert DemoSettings().acts == tuple(ACTS)
    with pytest.raises(OfframpError, match="gnn"):
        DemoSettings(act=("dance",))


def outcome_of(**changes: Any) -> Outcome:
    outcome = Outcome(
        "hermod",
        "Coflows",
        ACTS["hermod"].question,
        Verdict("unknown", "Cannot be told, because " + "other work kept this machine's processors busy; " * 5),
        "coflow",
        (
            Alternative("one queue", measured_s=(0.3, 0.5, 0.4)),
            Alternative("by priority", modelled_s=0.1),
            Alternative("neither", predicted_s=1.0),
        ),
        checks=(ReportCheck("Bytes are equal.", True),),
        trace="hermod/trace.json",
        notes=("A note that is much longer than a line of a terminal with eighty columns has room for.",),
        seconds=12.3,
    )
    return replace(outcome, **changes)


def test_the_summary_fits_eighty_columns_and_tells_measured_from_modelled() -> None:
    lines = list(summary([outcome_of(), outcome_of(checks=(ReportCheck("No.", False),))], 25.0, Path("out/demo")))
    assert all(len(line) <= WIDTH for line in lines)
    text = "\n".join(lines)
    words = " ".join(text.split())
    assert "per coflow: one queue 400 ms measured, by priority 100 ms modelled" in words
    assert "neither" not in text  # a prediction is no result
    assert "DOES NOT HOLD: No." in words
    assert "trace  out/demo/hermod/trace.json (hermod)" in text
    assert "report out/demo/report.html" in text
    assert "time   25 s: hermod 12 s, hermod 12 s" in text
