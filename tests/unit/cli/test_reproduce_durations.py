# SPDX-License-Identifier: Apache-2.0
"""Estimates of ``offramp reproduce``: seconds of the reference machine, scaled by what this one measured once.

What they do not see: whether the reference seconds are right. Items that take about a second are run and compared;
the others were measured by hand.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from offramp_cli.app import app
from offramp_sim.reproduce import duration
from offramp_sim.reproduce.catalogue import find, items
from offramp_sim.reproduce.referee.case import ItemCase
from offramp_sim.reproduce.referee.run import RefereeSettings, cases_to_examine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    duration.pace.cache_clear()
    yield
    duration.pace.cache_clear()


def test_the_pace_is_measured_once_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    spent = iter([0.5, 0.3, 0.4])
    monkeypatch.setattr(duration, "_seconds", lambda: next(spent) * duration.REFERENCE_S)
    assert duration.pace() == pytest.approx(0.3)
    duration.pace.cache_clear()  # as in another process: the file is read, and nothing measured
    assert duration.pace() == pytest.approx(0.3)


@pytest.mark.parametrize("text", [b"", b"nan", b"-1", b"inf", b"0", b"soon", b"\xff"])
def test_a_spoilt_file_is_measured_again(monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    monkeypatch.setattr(duration, "_seconds", lambda: 2 * duration.REFERENCE_S)
    duration._FILES.put(duration._KEY, text or b" ")
    assert duration.pace() == pytest.approx(2)


def test_list_says_what_this_machine_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine at a third of the reference's speed takes three times as long."""
    monkeypatch.setattr(duration, "_seconds", lambda: 3 * duration.REFERENCE_S)
    lines = CliRunner().invoke(app, ["reproduce", "list"]).output.splitlines()
    for item, line in zip(items(), lines, strict=False):
        words = line.removeprefix(item.name).split()
        assert words[0] + " " + words[1] == duration.about(3 * item.seconds)


def test_a_referee_is_the_sum_of_its_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duration, "_seconds", lambda: duration.REFERENCE_S)
    (item,) = find("dgtp/fig7")
    cases = cases_to_examine(item, RefereeSettings(seeds=2), 1.0, 0)
    assert len(cases) > 3
    one = sum(item.seconds * case.scale for case in cases)
    assert duration.cases_seconds(item, cases, 1) == pytest.approx(one)
    assert duration.cases_seconds(item, cases, 2) == pytest.approx(one / 2)
    (still,) = find("themis/fig8")  # has one size: its time is that of every scale
    assert duration.cases_seconds(still, [ItemCase(still.name, 8.0, 0)], 1) == still.seconds


@pytest.mark.parametrize(("seconds", "words"), [(0.2, "1 s"), (72, "72 s"), (222, "4 min"), (7200, "2.0 h")])
def test_estimates_in_words(seconds: float, words: str) -> None:
    assert duration.about(seconds) == words


def test_an_estimate_is_not_too_short() -> None:
    """An item takes at most four times its estimate in processor time; less, where its code is compiled already."""
    (item,) = find("themis/table3")
    begun = time.process_time()
    item.reproduce(1.0, 0)
    assert time.process_time() - begun < duration.item_seconds(item) * 4


@pytest.mark.parametrize(("load", "factor"), [(0.0, 1.0), (0.5, 1.0), (1.0, 1.0), (3.0, 2.0), (9.0, 5.0)])
def test_other_programs_make_it_longer(monkeypatch: pytest.MonkeyPatch, load: float, factor: float) -> None:
    """On two cores, one of which the item itself wants."""
    monkeypatch.setattr("os.getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr(duration, "available_cores", lambda: 2)
    assert duration.crowding() == factor
    last = CliRunner().invoke(app, ["reproduce", "list"]).output.splitlines()[-1]
    expected = f"; other programs use its cores now: {factor:.1f} times as long" if factor > 1.5 else ""
    assert last == f"Times are this machine's at rest{expected}."
