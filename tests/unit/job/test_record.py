# SPDX-License-Identifier: Apache-2.0
"""Steps, their parts and curves from the files of ranks; parts have a closed form on steps that are made up."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from offramp.job.kind import KINDS
from offramp.job.record import RunRecord, read_record
from offramp.job.steps import COLLECTIVES, FOLDER, chrome_trace, read_steps, step, tell_progress
from offramp.job.training import RESULT
from offramp.report.outcome import ProgressPoint

MS = 1_000_000


def write(folder: Path, rank: int, rows: list[tuple[Any, ...]]) -> None:
    lines = []
    for number, what, begin, end, *track in rows:
        row = {"step": number, "what": what, "begin_ns": begin * MS, "end_ns": end * MS}
        lines.append(json.dumps(row | ({"track": track[0]} if track else {})))
    (folder / f"steps-{rank}.jsonl").write_text("\n".join(lines) + "\n")


def of_command(folder: Path, *, one_clock: bool = True) -> RunRecord:
    return read_record(KINDS.get("command")(), folder, one_clock=one_clock)


def two_ranks(folder: Path) -> None:
    """Rank 1 comes 20 ms late into a sum that ends at 90; rank 0 computes 30 and 10 ms around it."""
    late = {0: 30, 1: 50}
    for rank, begin in late.items():
        rows = [(0, "step", 0, 500), (1, "step", 1000, 1100), (1, "forward", 1000, 1010)]
        write(folder, rank, [*rows, (1, "all_reduce by gloo", 1000 + begin, 1090, COLLECTIVES)])


def test_parts_of_a_step(tmp_path: Path) -> None:
    two_ranks(tmp_path)
    record = of_command(tmp_path)
    assert record.seconds == (pytest.approx(0.1),)
    assert record.begin_ns == 1000 * MS
    assert record.parts == {
        "computing": pytest.approx((0.04 + 0.06) / 2),
        "sending": pytest.approx(0.04),
        "waiting": pytest.approx(0.02 / 2),
    }
    assert sum(record.parts.values()) == pytest.approx(0.1)
    apart = of_command(tmp_path, one_clock=False).parts
    assert apart == {"computing": pytest.approx(0.05), "sending": pytest.approx(0.05)}


def test_collectives_that_overlap_count_once(tmp_path: Path) -> None:
    rows = [(0, "step", 0, 9), (1, "step", 0, 100)]
    rows += [(1, "a", 10, 50, COLLECTIVES), (1, "a", 30, 70, COLLECTIVES), (1, "a", 40, 60, COLLECTIVES)]
    write(tmp_path, 0, rows)
    assert of_command(tmp_path).parts == {
        "computing": pytest.approx(0.04),
        "sending": pytest.approx(0.06),
        "waiting": 0,
    }


def test_a_rank_without_collectives_leaves_no_parts(tmp_path: Path) -> None:
    two_ranks(tmp_path)
    write(tmp_path, 2, [(0, "step", 0, 500), (1, "step", 1000, 1200)])
    record = of_command(tmp_path)
    assert record.parts == {}
    assert record.seconds == (pytest.approx(0.2),)  # of the slowest rank


class Ring:
    """A record of collectives as the backend keeps it."""

    def __init__(self, *entries: SimpleNamespace) -> None:
        self._entries = entries

    def entries(self) -> list[SimpleNamespace]:
        return list(self._entries)


@pytest.fixture
def ring(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    def with_entries(*entries: SimpleNamespace) -> None:
        module = SimpleNamespace(every=[SimpleNamespace(recorder=Ring(*entries)), SimpleNamespace(recorder=None)])
        monkeypatch.setitem(sys.modules, "offramp.torch.dispatcher", module)

    monkeypatch.setenv(FOLDER, str(tmp_path))
    return with_entries


def entry(number: int, started: float, seconds: float) -> SimpleNamespace:
    return SimpleNamespace(id=number, kind="all_reduce", route="allreduce", started=started, seconds=seconds)


def test_collectives_of_the_backend_are_recorded(ring: Any, tmp_path: Path) -> None:
    now = time.time()
    ring(entry(0, now - 60, 1.0))
    with step(0):
        pass
    now = time.time()
    with step(1):
        time.sleep(0.03)
        ring(entry(0, now - 60, 1.0), entry(1, now + 0.005, 0.01), entry(2, now + 0.016, -1))
    rows = [row for row in read_steps(tmp_path)[0] if row.get("track") == COLLECTIVES]
    assert [(row["step"], row["what"]) for row in rows] == [(1, "all_reduce by allreduce")] * 2
    assert (rows[0]["end_ns"] - rows[0]["begin_ns"]) / 1e9 == pytest.approx(0.01, rel=1e-3)
    whole = next(row for row in read_steps(tmp_path)[0] if row["what"] == "step" and row["step"] == 1)
    assert rows[1]["end_ns"] == whole["end_ns"]  # it had not ended
    events = chrome_trace(tmp_path)["traceEvents"]
    assert [each["tid"] for each in events if each["ph"] == "X"] == [0, 1, 1]
    assert {each["cat"] for each in events if each.get("tid") == 1 and each["ph"] == "X"} == {"sending"}
    assert sorted(of_command(tmp_path).parts) == ["computing", "sending", "waiting"]


def test_a_record_that_has_lost_the_begin_of_a_step_says_nothing(ring: Any, tmp_path: Path) -> None:
    with step(0):
        ring(entry(7, time.time(), 0.001))
    assert [row["what"] for row in read_steps(tmp_path)[0]] == ["step"]


def test_progress_of_a_program_becomes_a_curve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tell_progress(0, loss=1.0)  # without the variable nothing is written
    monkeypatch.setenv(FOLDER, str(tmp_path))
    for number in range(3):
        with step(number):
            pass
        tell_progress(number, loss=1 / (1 + number), accuracy=None if number < 2 else 0.5)
    record = of_command(tmp_path)
    assert record.curve == (ProgressPoint(0, 1.0), ProgressPoint(1, 0.5), ProgressPoint(2, 1 / 3, 0.5))
    assert len(record.seconds) == 2
    assert {each["name"] for each in chrome_trace(tmp_path)["traceEvents"]} == {"process_name", "step 2"}


def test_epochs_are_steps_where_their_mean_is_one(tmp_path: Path) -> None:
    train, pipeline = KINDS.get("train")(), KINDS.get("unitg")()
    rows = [
        {"epoch": k, "seconds": s, "communication_seconds": 0.5, "reduction_seconds": 0.1, "loss": 1 / k,
         "test_accuracy": 0.1 * k}
        for k, s in enumerate((9.0, 1.0, 3.0), 1)
    ]  # fmt: skip
    (tmp_path / RESULT).write_text(json.dumps({"per_epoch": rows, "seconds": 15.0, "epochs": 3}))
    record = read_record(train, tmp_path, one_clock=True)
    assert record.seconds == (1.0, 3.0)
    assert record.parts == {"computing": pytest.approx(1.4), "sending": pytest.approx(0.6)}
    assert record.curve[1] == ProgressPoint(2, 0.5, 0.2)
    assert read_record(pipeline, tmp_path, one_clock=True).seconds == (5.0,)  # of the whole run


def test_a_run_that_wrote_nothing_has_an_empty_record(tmp_path: Path) -> None:
    for name in ("command", "train", "leo"):
        assert read_record(KINDS.get(name)(), tmp_path, one_clock=True) == RunRecord()
