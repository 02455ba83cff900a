# SPDX-License-Identifier: Apache-2.0
"""The figure of limits of jobs on engines says of each what the page says now; with the history, also when it ended."""

from __future__ import annotations

import html
import re
import subprocess

import pytest

from engine_limits import LIMITS, PAGE, ROOT, figure, revisions, stands

FIGURE = (ROOT / "docs/results/engine-limits.svg").read_text()
ROW = re.compile(r'fill="#1b2733">([^<]+)</text>\n  <rect[^\n]+\n[^\n]+fill="#44546a">([^<]+)<')


def test_the_figure_is_of_the_present_page() -> None:
    page = (ROOT / PAGE).read_text()
    drawn = {html.unescape(what): said == "stands" for what, said in ROW.findall(FIGURE)}
    assert drawn == {each.what: stands(each, page) for each in LIMITS}


def test_each_limit_stood_when_nothing_had_run_on_an_engine() -> None:
    try:
        history = revisions()
    except subprocess.CalledProcessError:
        pytest.skip("the history of docs/LIMITATIONS.md is not here")
    _, first = history[0]
    assert [each.what for each in LIMITS if not stands(each, first)] == []
    drawn = figure(history)
    assert re.findall(r"aria-label=\"[^\"]+\"", drawn) == re.findall(r"aria-label=\"[^\"]+\"", FIGURE)
