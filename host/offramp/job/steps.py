# SPDX-License-Identifier: Apache-2.0
"""Steps of a job as its ranks see them: ``with offramp.job.steps.step(n):`` around each, and what becomes of them.

A rank appends a line of JSON for each step to ``steps-RANK.jsonl`` in the folder of ``OFFRAMP_JOB_FOLDER``, in
nanoseconds of the system's clock; without that variable nothing is written.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import mean
from typing import Any, Final

from offramp_base.documents import parse_json, read_text
from offramp_base.ending.files import write_text
from offramp_base.errors import OfframpError

FOLDER: Final = "OFFRAMP_JOB_FOLDER"
_MOST_BYTES: Final = 64 << 20
_NS: Final = 1e9


@contextmanager
def step(number: int, what: str = "step") -> Iterator[None]:
    """Time a part of a rank's work, a whole step unless ``what`` says something else."""
    folder = os.environ.get(FOLDER)
    begun = time.time_ns()
    yield
    if folder is None:
        return
    line = {"step": number, "what": what, "begin_ns": begun, "end_ns": time.time_ns()}
    with (Path(folder) / f"steps-{os.environ.get('RANK', '0')}.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")


def tell_paths(requests: Mapping[str, int]) -> None:
    """Say how many requests of an application have taken each path so far, for ``offramp job top``."""
    folder = os.environ.get(FOLDER)
    if folder is not None:
        path = Path(folder) / f"paths-{os.environ.get('RANK', '0')}.json"
        write_text(path, json.dumps({str(name): int(count) for name, count in requests.items()}) + "\n")


def read_paths(folder: Path) -> dict[int, dict[str, int]]:
    """The latest counts of requests by path that each rank wrote (:func:`tell_paths`); malformed files are left out."""
    found: dict[int, dict[str, int]] = {}
    for path in sorted(folder.glob("paths-*.json")):
        rank = path.stem.removeprefix("paths-")
        try:
            found[int(rank)] = {name: int(count) for name, count in parse_json(read_text(path)).items()}
        except (OfframpError, ValueError, TypeError, AttributeError):
            continue
    return found


def read_steps(folder: Path) -> dict[int, list[dict[str, Any]]]:
    """The timings that each rank wrote (:func:`step`); incomplete lines are left out."""
    found: dict[int, list[dict[str, Any]]] = {}
    for path in sorted(folder.glob("steps-*.jsonl")):
        rank = path.stem.removeprefix("steps-")
        if not rank.isdecimal() or path.stat().st_size > _MOST_BYTES:
            continue
        rows = []
        for text in path.read_text("utf-8", "replace").splitlines():
            try:
                row = json.loads(text)
                rows.append({k: (str(row[k]) if k == "what" else int(row[k])) for k in _KEYS})
            except (ValueError, TypeError, KeyError):
                continue
        found[int(rank)] = rows
    return found


_KEYS: Final = ("step", "what", "begin_ns", "end_ns")


def mean_step_s(folder: Path) -> float | None:
    """Mean seconds of a step, without the first one, which makes connections; None if no rank wrote any."""
    rows = [row for rows in read_steps(folder).values() for row in rows if row["what"] == "step"]
    first = min((row["step"] for row in rows), default=0)
    seconds = [(row["end_ns"] - row["begin_ns"]) / _NS for row in rows if row["step"] > first]
    return mean(seconds) if seconds else None


def chrome_trace(folder: Path, number: int | None = None) -> dict[str, Any]:
    """One step of all ranks as a trace for Perfetto or Chrome (Trace Event Format): a process for each rank.

    Args:
        folder: the folder in which ranks wrote.
        number: number of the step; by default of the last one that all ranks have ended.

    Raises:
        OfframpError: no rank wrote such a step.
    """
    steps = read_steps(folder)
    ended = [{row["step"] for row in rows if row["what"] == "step"} for rows in steps.values()]
    common = set.intersection(*ended) if ended else set()
    if number is None and common:
        number = max(common)
    rows = [(rank, row) for rank, each in steps.items() for row in each if row["step"] == number]
    if not rows:
        raise OfframpError(f"{folder}: no rank has written step {'' if number is None else number}".rstrip())
    zero = min(row["begin_ns"] for _, row in rows)
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": rank, "args": {"name": f"rank {rank}"}} for rank in steps
    ]
    events += [
        {
            "ph": "X",
            "name": f"{row['what']} {row['step']}",
            "pid": rank,
            "tid": 0,
            "ts": (row["begin_ns"] - zero) / 1e3,
            "dur": (row["end_ns"] - row["begin_ns"]) / 1e3,
        }
        for rank, row in rows
    ]
    return {"traceEvents": events, "displayTimeUnit": "ms"}
