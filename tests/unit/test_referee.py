# SPDX-License-Identifier: Apache-2.0
"""The referee: which numbers hold, where they turn, and a sweep that is cut off."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pytest

from offramp_base.errors import OfframpError
from offramp_sim.reproduce import catalogue
from offramp_sim.reproduce.item import ITEMS, Evidence, Item, PaperComparison, Reproduction, number_in
from offramp_sim.reproduce.referee import run as referee_run
from offramp_sim.reproduce.referee.case import CaseResult, ItemCase, cases_of, run_case
from offramp_sim.reproduce.referee.picture import panel
from offramp_sim.reproduce.referee.rows import RowFile
from offramp_sim.reproduce.referee.run import RefereeSettings, examine
from offramp_sim.reproduce.referee.verdict import Ruling, verdicts


def _invented(scale: float, seed: int, *, link: int = 10) -> Reproduction:
    if scale > 3:
        raise OfframpError("too large for this machine")
    comparisons = [
        PaperComparison("always ahead", "1.3x", f"{1.1 + scale / 10 + seed / 100:.2f}x"),
        PaperComparison("ahead on slow links", "-20 %", f"{-20 + (link > 10) * 30:+d} %"),
        PaperComparison("chosen so", "5", "5.0", evidence=Evidence.FITTED, source="the 5"),
        PaperComparison("seconds", None, f"{scale:.1f} s"),
        PaperComparison("in words", "yes", "yes"),
    ]
    return Reproduction(comparisons, (), {}, "")


ITEM = Item("invented/figure1", "", 1, _invented, Evidence.SIMULATED, options={"link": (10, 40)})


@pytest.fixture
def item(monkeypatch) -> Item:
    monkeypatch.setattr(catalogue, "items", lambda: [ITEM])
    return ITEM


def test_every_number_gets_its_interval_and_says_whether_it_may_be_a_claim(item: Item) -> None:
    rows = [run_case((case, None)) for case in cases_of(item, (1.0, 2.0, 4.0), range(2))]
    assert [row.case.name for row in rows][-2:] == ["scale 1, seed 0, link 40", "scale 1, seed 1, link 40"]
    assert [row.error for row in rows] == [""] * 4 + ["too large for this machine"] * 2 + [""] * 2
    ahead, slow, chosen, seconds, words = verdicts(rows)
    assert (ahead.low, ahead.high, ahead.ruling) == (1.2, 1.31, Ruling.HOLDS)
    assert (ahead.nearest, round(ahead.distance or 0, 3)) == ("scale 2, seed 0", 1.0)
    assert (slow.middle, slow.ruling) == (-20, Ruling.TURNS)
    assert slow.turns == ("scale 1, seed 0, link 40", "scale 1, seed 1, link 40")
    assert (slow.nearest, slow.distance) == ("scale 1, seed 0", 0)
    assert (chosen.ruling, chosen.source) == (Ruling.NO_CLAIM, "the 5")
    assert (seconds.low, seconds.high, seconds.ruling) == (1, 2, Ruling.VARIES)
    assert words.ruling is Ruling.MISSING
    drawn = panel([ahead, slow, chosen])
    assert drawn is not None
    assert set(drawn.spans) == {"always ahead", "chosen so"}


def test_a_sweep_that_is_cut_off_resumes_and_runs_again_what_failed(item: Item, monkeypatch, tmp_path: Path) -> None:
    settings = RefereeSettings(True, (1.0, 4.0), 1, processes=1, rows=tmp_path / "rows.jsonl")
    first = examine(item, settings, 1.0, 0, None)
    (tmp_path / "rows.jsonl").open("a").write('{"case": {"item": "inv')  # as a crash leaves it
    ran: list[ItemCase] = []

    def noted(work: tuple[ItemCase, Path | None]) -> CaseResult:
        ran.append(work[0])
        return run_case(work)

    monkeypatch.setattr(referee_run, "run_case", noted)
    again = examine(item, settings, 1.0, 0, None)
    assert [case.scale for case in ran] == [4.0]
    assert [(row.case, row.values) for row in again] == [(row.case, row.values) for row in first]
    assert examine(item, settings, 1.0, 0, None)[0].values == first[0].values  # the unfinished line harms no later one


def test_rows_of_something_else_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    RowFile(path, "offramp 1").put(CaseResult(ItemCase("invented/figure1", 1.0, 0)))
    with pytest.raises(OfframpError, match=r"rows\.jsonl: written by another version \(offramp 1, this is offramp 2\)"):
        RowFile(path, "offramp 2")
    for text in ("", "[]\n", "a graph\n", json.dumps({"schema": "offramp.train/1"})):
        path.write_text(text)
        with pytest.raises(OfframpError, match="expected a referee's rows"):
            RowFile(path, "offramp 1")


@pytest.mark.parametrize(
    ("text", "number"),
    [("-12 %", -12), ("1.31×", 1.31), ("\N{MINUS SIGN}3", -3), ("12,345.5 s", 12345.5), ("no", None), (None, None)],  # noqa: RUF001
)
def test_the_first_number_of_a_text(text: str | None, number: float | None) -> None:
    assert number_in(text) == number


def test_what_is_fitted_or_assumed_says_to_what_or_from_where() -> None:
    for name in ITEMS.names():
        item = ITEMS.get(name)
        assert bool(item.source) == (item.evidence in (Evidence.FITTED, Evidence.ASSUMED)), name


@pytest.mark.parametrize("name", ITEMS.names())
def test_every_option_is_one_that_its_item_takes(name: str) -> None:
    item = ITEMS.get(name)
    for option, values in item.options.items():
        inspect.signature(item.run).bind(*item.arguments(1.0, 0), **{option: values[0]})
        assert len(values) == len(set(values)) > 1, option
    assert len(item.sizes) == len(set(item.sizes))
    assert max(item.sizes) <= 8 * min(item.sizes)
