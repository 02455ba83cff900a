# SPDX-License-Identifier: Apache-2.0
"""The page as a browser's parser sees it; how it looks is for the eye and tested nowhere."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from offramp.report import TrainingRun, write_report
from offramp.report.charts import ChartLine, line_chart
from offramp.report.page import render
from offramp.report.units import number, si
from offramp_base.errors import OfframpError


class Text(HTMLParser):
    """The text that a reader sees, and a check that tags nest."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs) -> None:
        assert not {"src", "href", "srcset"} & {name for name, _ in attrs}, "the page needs nothing from outside"
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs) -> None:
        pass

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        if self.open and self.open[-1] != "style":
            self.text.append(data)


def read(page: str) -> str:
    parser = Text()
    parser.feed(page)
    assert not parser.open
    return " ".join(parser.text)


def test_the_page_shows_every_number_and_stands_alone(report) -> None:
    page = render(report)
    text = read(page)
    for run in report.runs:
        for key in ("passes", "recirculations", "aggregators_peak", "overflows", "packets"):
            assert number(run.result[key]) in text
        for key in ("bytes_up", "bytes_down", "wire_bytes_up", "wire_bytes_down"):
            assert si(run.result[key], "B") in text
    for expected in (
        "A report & more",
        "offramp train --epochs 3 '<x>'",
        "One is two.",
        "12\u202f345",
        "Only a guess.",
    ):
        assert expected in text
    assert "tiny <graph>" in text
    assert "prefers-color-scheme: dark" in page
    assert not re.search(r"https?:|@import|url\(", page)
    assert not re.search(r"\b(nan|inf|None)\b", re.sub(r"<td>split</td>.*?</tr>", "", page))


def test_the_answer_comes_first_and_peaks_agree(report) -> None:
    slow = TrainingRun("switch", {**report.runs[3].result, "seconds": 20.0})
    page = render(replace(report, runs=[*report.runs[:3], slow], advice="By metis <half>.", origin="Offramp 9, today"))
    text = read(page)
    assert "p2p wins in time; switch in bytes. Training took 12.2 s by p2p" in text
    assert text.index("By metis <half>.") < text.index("Test accuracy")
    assert "Offramp 9, today" in text


def test_main_numbers_are_those_of_the_run_that_was_asked_for(report) -> None:
    """Short runs have times too; runs without a difference have none."""
    first, beside = (TrainingRun(name, {**report.runs[3].result, "seconds": 0.0125}) for name in ("switch", "p2p"))
    text = read(render(replace(report, runs=[first, beside, report.runs[0]])))
    tiles = text[: text.index("Learning")]
    assert "switch, epoch 3" in tiles
    assert "12.5 ms on this machine" in tiles
    assert "from switch's: none." in text


def test_one_way_alone_says_how_to_find_out(report) -> None:
    text = read(render(replace(report, runs=report.runs[1:2])))
    assert f"Only {report.runs[1].name} was run: --compare trains by the other ways, too" in text
    assert "Should I use" not in read(render(replace(report, runs=report.runs[:1])))


def test_every_picture_is_well_formed(report) -> None:
    pictures = re.findall(r"<svg.*?</svg>", render(report), re.DOTALL)
    assert len(pictures) == 4  # accuracy, loss, up, down
    for picture in pictures:
        root = ET.fromstring(picture)
        width, height = map(float, root.attrib["viewBox"].split()[2:])
        for rectangle in root.iter("rect"):
            box = {key: float(rectangle.attrib[key]) for key in ("x", "y", "width", "height")}
            assert min(box.values()) >= 0
            assert box["x"] + box["width"] <= width
            assert box["y"] + box["height"] <= height


def test_bars_are_as_high_as_the_bytes(report) -> None:
    up = ET.fromstring(re.findall(r"<svg.*?</svg>", render(report), re.DOTALL)[2])
    heights = {}
    for group in up.iter("g"):
        title = group.find("title").text
        outer, inner = (float(r.attrib["height"]) for r in group.iter("rect"))
        heights[title.partition(":")[0]] = inner, outer
    unit = heights["worker 0, switch"][0] / 1000
    assert heights["worker 1, p2p"] == pytest.approx((6000 * unit, 9000 * unit), rel=1e-2)
    assert heights["worker 0, strawman"] == pytest.approx((2000 * unit, 3000 * unit), rel=1e-2)


def test_a_run_without_communication_has_no_traffic_to_show(report) -> None:
    text = read(render(replace(report, runs=report.runs[:1])))
    assert "Bytes on every link" not in text


def test_one_epoch_is_enough_for_a_chart() -> None:
    chart = line_chart([ChartLine("a", [1], [0.5], "p2p")], x_label="x", y_label="y", x_form=str, y_form=str)
    ET.fromstring(chart)


def test_both_files_are_written_and_hold_the_same(report, tmp_path) -> None:
    page, data = write_report(report, tmp_path / "new" / "report.html")
    assert page.read_text("utf-8") == render(report)
    content = json.loads(data.read_text("utf-8"))
    assert [run["name"] for run in content["runs"]] == ["local", "p2p", "strawman", "switch"]
    assert content["runs"][3]["result"] == report.runs[3].result


def test_a_folder_that_cannot_be_written_is_one_line(report, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OfframpError, match=r"^report .*report.html: cannot be written: "):
        write_report(report, tmp_path / "file" / "report.html")


def test_between_two_epochs_there_is_no_mark():
    line = ChartLine("a", [1, 2], [0.5, 0.6], "p2p")
    chart = line_chart([line], x_label="epoch", y_label="loss", x_form=lambda x: f"{x:.0f}", y_form=str)
    assert [chart.count(f">{epoch}</text>") for epoch in (1, 2)] == [1, 1]
