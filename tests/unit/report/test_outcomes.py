# SPDX-License-Identifier: Apache-2.0
"""The page of outcomes: one colour for each name, nothing called measured that was not, every link, hostile names.

Blind spot: how it looks; the browser's test checks widths and sizes of letters only.
"""

from __future__ import annotations

import json
import os
import random
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from chromium import browser
from four_acts import TRACE, four_acts, trace, write_page
from offramp.report import (
    Alternative,
    DrawnFabric,
    FabricLink,
    FabricMachine,
    Outcome,
    ReportCheck,
    Verdict,
    outcomes_page,
)
from offramp.report.layout import layout_of
from offramp.report.outcome import ProgressPoint
from offramp.report.palette import _STYLED, Palette
from offramp.report.timeline import timeline
from offramp_base.errors import OfframpError

HOSTILE = '<script>alert("x")</script>&\'"'
CHIP = re.compile(r'<span class="chip ([^"]*)"><i></i><span>([^<]*)</span>')
LEGEND = re.compile(r'<li class="([^"]*)"><i></i><span>([^<]*)</span>')
ROW = re.compile(r"<tr>.*?</tr>", re.DOTALL)


def page_of(outcomes: list[Outcome], folder: Path = Path("/nonexistent")) -> str:
    return outcomes_page("Title", "Lead.", outcomes, "the command", "the origin", folder=folder)


def drawings(page: str) -> list[str]:
    """The outermost SVG elements of a page."""
    depth, begin, pictures = 0, 0, []
    for tag in re.finditer(r"<svg\b|</svg>", page):
        depth += 1 if tag[0] == "<svg" else -1
        if depth == 1 and tag[0] == "<svg":
            begin = tag.start()
        elif depth == 0:
            pictures.append(page[begin : tag.end()])
    assert depth == 0
    return pictures


def anything(rng: random.Random) -> Outcome:
    """An outcome of random contents, with names that are markup and a fabric of any shape."""
    names = [f"{HOSTILE}{k}" if rng.random() < 0.3 else f"way {k}" for k in range(rng.randrange(1, 9))]
    nodes = [
        FabricMachine(f"{HOSTILE if rng.random() < 0.2 else ''}n{k}",
                      rng.choice(("host", "host", "switch", "card", "nic")),
             rng.choice(("", "r1", HOSTILE)))
        for k in range(rng.randrange(2, 12))
    ]  # fmt: skip
    pairs = rng.sample(list(combinations([each.name for each in nodes], 2)), k=rng.randrange(1, len(nodes)))
    links = tuple(
        FabricLink(pair, rng.choice((None, 10**9)), {n: (rng.randrange(10**9), 0) for n in names if rng.random() < 0.5})
        for pair in pairs
    )

    def maybe() -> float | None:
        return rng.choice((None, rng.lognormvariate(-5, 4)))

    alternatives = tuple(
        Alternative(
            name,
            predicted_s=maybe(),
            measured_s=tuple(rng.random() for _ in range(rng.choice((0, 0, 1, 2, 30)))),
            modelled_s=maybe(),
            startup_s=maybe(),
            parts_s=rng.choice(({}, {"computing": 0.5}, {"computing": 0.5, "sending": 0.0, "waiting": 1.0})),
            curve=tuple(ProgressPoint(k, rng.random(), maybe()) for k in range(rng.choice((0, 1, 20)))),
            note=rng.choice(("", HOSTILE)),
            bound=rng.choice(("", HOSTILE)),
        )
        for name in names
    )
    verdict = Verdict(rng.choice(("yes", "no", "unknown")), HOSTILE)
    fabric = rng.choice((None, DrawnFabric(tuple(nodes), links), DrawnFabric(tuple(nodes), links)))
    checks = (ReportCheck(HOSTILE, rng.random() < 0.5),)
    return Outcome(
        HOSTILE, HOSTILE, HOSTILE, verdict, "step", alternatives, fabric, checks, HOSTILE, (HOSTILE,), maybe()
    )


@pytest.mark.parametrize("seed", range(60))
def test_any_outcomes_make_a_sound_page(seed: int) -> None:
    rng = random.Random(seed)
    outcomes = [anything(rng) for _ in range(rng.randrange(1, 5))]
    page = page_of(outcomes)
    assert "<script" not in page
    assert not re.search(r"https?:|@import|(?:src|srcset)=|url\((?!#part-)", page)
    assert not re.search(r"\b(nan|inf|None)\b", page[page.index("<body>") :])
    pictures = drawings(page)
    assert pictures
    for picture in pictures:
        ET.fromstring(picture)
    classes: dict[str, str] = {}
    for style, name in (*CHIP.findall(page), *LEGEND.findall(page)):
        assert classes.setdefault(name, style) == style
    assert len(set(classes.values())) == len(classes)  # one meaning per colour
    assert "" not in classes.values()
    links = sum(len(each.fabric.links) for each in outcomes if each.fabric is not None)
    assert page.count('<g class="link">') == links
    assert sum('data-label="rate"' in row for row in ROW.findall(page)) == links
    rows = [row for row in ROW.findall(page) if 'data-label="only modelled"' in row]
    alternatives = [each for outcome in outcomes for each in outcome.alternatives]
    assert len(rows) == len(alternatives)
    for row, each in zip(rows, alternatives, strict=True):
        assert ('class="measured"' in row) == bool(each.measured_s)
        assert ("not measured" in row) == (not each.measured_s)
        assert ("not predicted" in row) == (each.predicted_s is None)
        assert ("not modelled" in row) == (each.modelled_s is None)
    for outcome in outcomes:
        assert Outcome.from_dict(json.loads(json.dumps(outcome.as_dict()))) == outcome


def test_the_same_name_has_the_same_colour_in_every_report() -> None:
    palette = Palette.of(four_acts())
    assert [palette.style(name) for name in ("p2p", "switch")] == ["p2p", "switch"]
    assert palette.style("themis") == ""  # nothing is drawn of it
    many = replace(four_acts()[0], alternatives=tuple(Alternative(f"w{k}", predicted_s=1.0) for k in range(20)))
    page = page_of([many])
    assert all(f".alt{k} {{ color: light-dark(" in page for k in range(9, 21))


def test_the_page_says_everything(tmp_path: Path) -> None:
    page = write_page(tmp_path).read_text("utf-8")
    for words in (
        "Cannot be told on this machine", "not counted", "links of the hosts", "Learning",
        "ui.perfetto.dev", "rank 3", "all_reduce by allreduce", "sending 720 ms", "offramp demo --out out",
    ):  # fmt: skip
        assert words in page
    assert "p2p: 41.0 MB from h1, 36.9 MB from leaf1" in page
    assert page.count('class="badge') == 4


def test_a_trace_that_cannot_be_read_is_named() -> None:
    page = page_of([replace(four_acts()[0], trace="gone.json")])
    assert "The trace is not drawn" in page
    assert "All of it is in gone.json" in page


def test_a_timeline_is_of_one_step(tmp_path: Path) -> None:
    trace(tmp_path / TRACE)
    drawn = timeline(tmp_path / TRACE)
    assert set(re.findall(r"step \d", drawn)) == {"step 0"}
    assert all(f'url(#part-{part})"' in drawn for part in ("computing", "sending", "waiting"))
    events = [{"ph": "X", "name": "e", "pid": k % 40, "tid": 0, "ts": k, "dur": 3} for k in range(2000)]
    (tmp_path / "many.json").write_text(json.dumps(events))
    many = timeline(tmp_path / "many.json")
    assert many.count('class="event"') == 600
    assert "Left out: 16 rows and the 600 shortest events" in many
    for text in ("{}", "[1, null]", '{"traceEvents": [{"ph": "X", "ts": "x"}]}', "no JSON"):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(OfframpError):
            timeline(tmp_path / "bad.json")


@pytest.mark.parametrize("seed", range(60))
def test_no_two_nodes_of_a_drawing_overlap(seed: int) -> None:
    rng = random.Random(1000 + seed)
    while (fabric := anything(rng).fabric) is None:
        pass
    plan = layout_of(fabric)
    assert set(plan.places) == {each.name for each in fabric.nodes}
    for (x0, y0), (x1, y1) in combinations(plan.places.values(), 2):
        assert y0 != y1 or abs(x0 - x1) > plan.column - 16
    assert all(0 <= x <= plan.width and 0 <= y <= plan.height for x, y in plan.places.values())


SMALL = """[...document.querySelectorAll('body *')].filter(it => [...it.childNodes].some(n => n.nodeType == 3 &&
 n.data.trim()) && !['TITLE', 'STYLE', 'title'].includes(it.tagName) && it.getClientRects().length).filter(it => {
   const m = it.ownerSVGElement ? it.getScreenCTM() : {a: 1, b: 0};
   return parseFloat(getComputedStyle(it).fontSize) * Math.hypot(m.a, m.b) < 11.9;
 }).map(it => it.textContent)"""
"""Text that is smaller than 12 pixels on the screen."""


WIDE = """[...document.querySelectorAll('.card, .scroll')].filter(it => it.scrollWidth > it.clientWidth)
 .map(it => it.textContent)"""
"""Cards and drawings whose contents are wider than they."""


@pytest.mark.full
def test_the_page_in_chromium(tmp_path: Path) -> None:
    """Nothing scrolls sideways, and letters have 12 pixels or more."""
    page = write_page(tmp_path)
    pictures = Path(os.environ.get("OFFRAMP_PICTURES", tmp_path))
    with browser(tmp_path) as there:
        for width, dark in ((390, False), (800, False), (1250, False), (1400, False), (1400, True)):
            there.open(page.as_uri(), width, 900, dark=dark)
            there.wait(f"location.href == {page.as_uri()!r} && document.readyState == 'complete'")
            assert there.evaluate("document.documentElement.scrollWidth") <= width
            assert there.evaluate(SMALL) == []
            assert there.evaluate(WIDE) == [], width
            there.picture(pictures / f"outcomes-{width}{'-dark' if dark else ''}.png")


def test_colours_beyond_the_style_sheet_have_a_rule_each() -> None:
    names = tuple(f"way{k}" for k in range(_STYLED + 2))
    rules = Palette(names).css.splitlines()
    assert [rule.split()[0] for rule in rules] == [f".{Palette(names).style(name)}" for name in names[_STYLED:]]
    assert Palette(names[:_STYLED]).css == ""
