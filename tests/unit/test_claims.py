# SPDX-License-Identifier: Apache-2.0
"""Claims of the documents: the sentence, the number and its verdict cannot part; the search for the nearest setting."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from offramp_base.errors import OfframpError
from offramp_cli.app import app
from offramp_sim.reproduce import catalogue
from offramp_sim.reproduce.claims.claim import Claim, judge
from offramp_sim.reproduce.claims.table import CLAIMS, claims_of
from offramp_sim.reproduce.claims.text import as_markdown, claimed, panel
from offramp_sim.reproduce.item import Evidence, Item, PaperComparison, Reproduction, range_in
from offramp_sim.reproduce.referee.case import CaseResult, ItemCase, cases_of, run_case
from offramp_sim.reproduce.referee.search import search
from offramp_sim.reproduce.referee.verdict import Ruling

ROOT = Path(__file__).parents[2]
QUICK_S = 5
"""Items that take no longer, at scale 1, show in every run that their numbers still have the names of the claims."""


def _words(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def test_claims_are_said_where_they_say() -> None:
    texts = {
        document: _words((ROOT / document).read_text(encoding="utf-8")) for document in {c.document for c in CLAIMS}
    }
    assert [claim.name for claim in CLAIMS if _words(claim.says) not in texts[claim.document]] == []


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_a_claim_has_bounds_and_settings_of_its_item(claim: Claim) -> None:
    (item,) = catalogue.find(claim.item)
    assert claim.least is not None or claim.most is not None
    for name, values in claim.where.items():
        assert set(values) <= set(item.options[name]), name


def test_the_table_in_the_documents_has_every_claim_and_none_that_turns() -> None:
    verdicts, document = {}, ""
    for line in (ROOT / "docs" / "claims.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("## "):
            document = line.removeprefix("## ")
        elif line.startswith("| ") and len(cells) == 6 and cells[0] != "Number":
            verdicts[cells[0], document, cells[2]] = cells[-1]
    for claim in CLAIMS:
        assert verdicts[claim.name, claim.document, claimed(claim)].startswith("holds"), claim.name
    assert len(verdicts) == len(CLAIMS)


def _marked(name: str) -> object:
    """An item's name, among the slow tests where it takes longer; the table in the documents has its numbers' names."""
    (item,) = catalogue.find(name)
    return pytest.param(name, marks=[pytest.mark.slow] if item.seconds > QUICK_S else [])


@pytest.mark.full
@pytest.mark.parametrize("name", [_marked(name) for name in sorted({claim.item for claim in CLAIMS})])
def test_claimed_numbers_have_these_names(name: str) -> None:
    (item,) = catalogue.find(name)
    row = run_case((ItemCase(name, min(item.sizes), 0), None))
    assert not row.error
    assert {claim.number for claim in claims_of(name)} <= set(row.values)


def _invented(scale: float, seed: int, *, link: int = 10, cache: int = 1) -> Reproduction:
    if cache == 3:
        raise OfframpError("no such cache")
    factor = 1.5 + seed / 10 - (link == 40) * (0.7 if cache == 1 else 0.1)
    comparisons = [
        PaperComparison("ahead", "1.2x", f"{factor:.2f}x"),
        PaperComparison("chosen so", "5", "5", evidence=Evidence.ASSUMED, source="the 5"),
        PaperComparison("change", "-20 %", f"{-10 * cache - link:+d} %"),
        PaperComparison("far", "-35 %", f"{-10 * cache - link:+d} %"),
    ]
    return Reproduction(comparisons, (), {}, "")


ITEM = Item(
    "invented/figure1", "", 1, _invented, Evidence.SIMULATED,
    options={"link": (10, 40), "cache": (1, 2, 3)}, sizes=(1.0, 2.0),
)  # fmt: skip


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> list[CaseResult]:
    monkeypatch.setattr(catalogue, "items", lambda: [ITEM])
    return [run_case((case, None)) for case in cases_of(ITEM, ITEM.sizes, range(3))]


def _claim(number: str = "ahead", **changes: object) -> Claim:
    fields = {"least": 1.0} | changes
    return Claim("invented/figure1", number, "docs/index.md", "", **fields)  # type: ignore[arg-type]


def test_a_claim_is_judged_where_it_is_made(rows: list[CaseResult]) -> None:
    everywhere = judge(_claim(), ITEM, rows)
    assert everywhere.ruling is Ruling.TURNS
    assert everywhere.turns == ("scale 1, seed 0, link 40", "scale 1, seed 1, link 40")
    slow = judge(_claim(where={"link": (10,)}), ITEM, rows)
    assert (slow.ruling, slow.turns) == (Ruling.HOLDS, ())
    assert slow.elsewhere == ("scale 1, seed 0, link 40", "scale 1, seed 1, link 40")
    assert (slow.low, slow.high, slow.settings, slow.failed) == (1.5, 1.7, 6 + 2 + 2, 2)
    assert slow.claim.conditions == "link 10"
    large = judge(_claim(sizes=(2.0, 8.0)), ITEM, rows)
    assert (large.ruling, large.settings, large.claim.conditions) == (Ruling.HOLDS, 3, "scale from 2, scale to 8")
    assert judge(_claim(most=1.6), ITEM, rows).turns[0] == "scale 1, seed 2"


def test_what_is_no_claim_or_no_number_says_so(rows: list[CaseResult]) -> None:
    assert judge(_claim("chosen so"), ITEM, rows).ruling is Ruling.NO_CLAIM
    assert judge(_claim("nobody's"), ITEM, rows).ruling is Ruling.MISSING
    failed = [CaseResult(ItemCase("invented/figure1", 1.0, 0), error="no memory")]
    assert judge(_claim(), ITEM, failed).ruling is Ruling.MISSING


def test_judgements_as_a_table_and_a_picture(rows: list[CaseResult]) -> None:
    judged = [judge(_claim(), ITEM, rows), judge(_claim(where={"link": (10,)}), ITEM, rows)]
    text = as_markdown(judged, [])
    assert "## docs/index.md\n" in text
    assert "| invented/figure1: ahead | 1.2x | at least 1; link 10 | 1.5, 1.6, 1.7 |" in text
    assert "turns at scale 1, seed 0, link 40; 1 more |" in text
    assert "| 10, 2 failed | holds; not in 2 others |" in text
    drawn = panel(judged)
    assert drawn is not None
    assert drawn.spans["invented/figure1: ahead"] == pytest.approx((1.5 / 1.2, 1.6 / 1.2, 1.7 / 1.2))
    assert panel([judge(_claim("nobody's"), ITEM, rows)]) is None


def test_a_search_moves_options_together_and_counts_its_runs(rows: list[CaseResult]) -> None:
    asked: list[ItemCase] = []

    def run(cases: list[ItemCase]) -> list[CaseResult]:
        asked.extend(cases)
        return [run_case((case, None)) for case in cases]

    near = search(ITEM, "change", rows, 10, run)
    assert near is not None
    assert (near.ours, near.distance, near.runs) == ("-20 %", 0, 0)  # a row of the referee's is it already
    near = search(ITEM, "far", rows[:1], 10, run)  # from one row on
    assert near is not None
    assert (near.case.options, near.ours, near.distance) == ((("cache", 2),), "-30 %", 5)
    assert near.runs == len(asked) == 4  # the other link, both other caches, then the other link with this cache
    few = search(ITEM, "far", rows[:1], 1, run)
    assert few is not None
    assert (few.case, few.runs) == (rows[0].case, 1)
    assert search(ITEM, "nobody's", rows, 10, run) is None


@pytest.mark.parametrize(
    ("text", "ends"),
    [("1.2 to 2", (1.2, 2)), ("up to 1.25x", (1.25, 1.25)), ("-3 to -9 %", (-9, -3)), ("yes", None), (None, None)],
)
def test_published_ranges(text: str | None, ends: tuple[float, float] | None) -> None:
    assert range_in(text) == ends


@pytest.mark.slow
@pytest.mark.full
def test_the_command_judges_the_claims_of_an_item(tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    command = ["reproduce", "unitg/table5.5", "--claims", "--search", "5", "--rows", str(tmp_path / "rows.jsonl")]
    result = CliRunner().invoke(app, [*command, "--out", str(tmp_path), "--json", str(path)])
    assert result.exit_code == 0, result.exception
    report = json.loads(path.read_text())
    assert report["schema"] == "offramp.claims/1"
    assert [each["claim"]["number"] for each in report["claims"]] == [c.number for c in claims_of("unitg/table5.5")]
    assert {each["ruling"] for each in report["claims"]} == {"holds"}
    (nearest,) = report["nearest"]
    assert nearest["published"] == "15.15x"
    assert "unitg/table5.5: revgcn, arxiv: UniTG over TAPE" in (tmp_path / "claims.md").read_text()
    assert "unitg/table5.5: revgcn, arxiv: UniTG over TAPE" in (tmp_path / "claims.svg").read_text()
    result = CliRunner().invoke(app, ["reproduce", "themis/table1", "--claims", "--out", str(tmp_path)])
    assert "no document claims anything about themis/table1" in str(result.exception)
