# SPDX-License-Identifier: Apache-2.0
"""The measurements of a run, read from the files of its ranks: steps, their parts, and the progress of training."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isclose
from pathlib import Path
from statistics import mean
from typing import Any, Final

from offramp.job.kind import JobKind
from offramp.job.steps import COLLECTIVES, PROGRESS, STEP, read_steps
from offramp.job.training import result_of
from offramp.report.outcome import Parts, ProgressPoint

_NS: Final = 1e9
Row = Mapping[str, Any]


@dataclass(frozen=True)
class RunRecord:
    """The records that the ranks of a run wrote.

    Attributes:
        seconds: seconds of each step but the first, which makes connections, on its slowest rank; empty: unknown.
        parts: mean seconds of these steps by what the ranks did; empty: unknown.
        curve: progress of training.
        begin_ns: begin of the first of these steps, by the system's clock; None: unknown.
    """

    seconds: tuple[float, ...] = ()
    parts: Mapping[Parts, float] = field(default_factory=dict)
    curve: tuple[ProgressPoint, ...] = ()
    begin_ns: int | None = None


def read_record(kind: JobKind, folder: Path, *, one_clock: bool) -> RunRecord:
    """The record of a run.

    Args:
        kind: the kind of its job.
        folder: the folder into which its ranks wrote.
        one_clock: whether all ranks have the same clock, so that waiting for the last one can be told from sending.
    """
    ranks = read_steps(folder)
    if any(row["what"] == STEP for rows in ranks.values() for row in rows):
        return _of_steps(ranks, one_clock=one_clock)
    mean_s = kind.step_s(folder)
    epochs: list[dict[str, Any]] = result_of(folder).get("per_epoch", [])
    curve = tuple(_point(number, row) for number, row in enumerate(epochs, 1))
    if mean_s is None:
        return RunRecord(curve=curve)
    rows = epochs[1:] or epochs
    seconds = tuple(float(row["seconds"]) for row in rows)
    if not seconds or not isclose(mean(seconds), mean_s, rel_tol=1e-6):  # a step is something else than an epoch
        return RunRecord((mean_s,), curve=curve)
    return RunRecord(seconds, _parts_of_epochs(rows), curve)


def _point(number: int, row: Row) -> ProgressPoint:
    return ProgressPoint(int(row.get("epoch", number)), row.get("loss"), row.get("test_accuracy"))


def _parts_of_epochs(rows: Sequence[Row]) -> dict[Parts, float]:
    """Parts of epochs whose results tell exchanges and reductions of gradients from the rest."""
    if not all({"communication_seconds", "reduction_seconds"} <= row.keys() for row in rows):
        return {}
    sending = mean(float(row["communication_seconds"]) + float(row["reduction_seconds"]) for row in rows)
    return {"computing": max(0.0, mean(float(row["seconds"]) for row in rows) - sending), "sending": sending}


def _of_steps(ranks: Mapping[int, Sequence[Row]], *, one_clock: bool) -> RunRecord:
    steps: dict[int, dict[int, Row]] = defaultdict(dict)
    collectives: dict[int, dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    points: dict[int, ProgressPoint] = {}
    for rank, rows in ranks.items():
        for row in rows:
            if row["what"] == STEP:
                steps[row["step"]][rank] = row
            elif row.get("track") == COLLECTIVES:
                collectives[row["step"]][rank].append(row)
            elif row.get("track") == PROGRESS and rank == min(ranks):
                points[row["step"]] = ProgressPoint(row["step"], row.get("loss"), row.get("accuracy"))
    counted = {number: each for number, each in sorted(steps.items()) if number > min(steps)}
    parts = [_parts(each, collectives[number], one_clock=one_clock) for number, each in counted.items()]
    return RunRecord(
        tuple(max(_seconds(row) for row in each.values()) for each in counted.values()),
        _mean(parts),
        tuple(points[number] for number in sorted(points)),
        min((row["begin_ns"] for each in counted.values() for row in each.values()), default=None),
    )


def _seconds(row: Row) -> float:
    return float(row["end_ns"] - row["begin_ns"]) / _NS


def _parts(step: Mapping[int, Row], collectives: Mapping[int, Sequence[Row]], *, one_clock: bool) -> dict[Parts, float]:
    """Mean seconds over the ranks of one step; empty where a rank's collectives are unknown.

    A rank sends while a collective is under way, whatever it computes meanwhile. It waits from its begin of a
    collective to that of the last rank; this takes one clock, and ranks that begin the same collectives in order.
    """
    if not step or any(not collectives.get(rank) for rank in step):
        return {}
    by_rank = {rank: [(row["begin_ns"], row["end_ns"]) for row in collectives[rank]] for rank in step}
    names = [[row["what"] for row in collectives[rank]] for rank in step]
    comparable = one_clock and all(each == names[0] for each in names)
    last = [max(spans[k][0] for spans in by_rank.values()) for k in range(len(names[0]))] if comparable else []
    rows: list[dict[Parts, float]] = []
    for rank, spans in by_rank.items():
        under_way = _covered(spans) / _NS
        parts: dict[Parts, float] = {"computing": max(0.0, _seconds(step[rank]) - under_way), "sending": under_way}
        if comparable:
            sending = [(min(end, max(begin, last[k])), end) for k, (begin, end) in enumerate(spans)]
            parts["sending"] = _covered(sending) / _NS
            parts["waiting"] = under_way - parts["sending"]
        rows.append(parts)
    return _mean(rows)


def _mean(rows: Sequence[Mapping[Parts, float]]) -> dict[Parts, float]:
    """The mean of each part that all rows have; empty if one has none."""
    if not rows or not all(rows):
        return {}
    return {name: mean(row[name] for row in rows) for name in rows[0] if all(name in row for row in rows)}


def _covered(spans: Iterable[tuple[int, int]]) -> int:
    """Nanoseconds that these spans cover together."""
    total, reached = 0, -(1 << 63)
    for begin, end in sorted(spans):
        total += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return total
