# SPDX-License-Identifier: Apache-2.0
"""Steps of a job as its ranks see them: ``with offramp.job.steps.step(n):`` around each, and what becomes of them.

A rank appends a line of JSON for each step to ``steps-RANK.jsonl`` in the folder of ``OFFRAMP_JOB_FOLDER``, with job,
rank and nanoseconds of the system's clock; without that variable nothing is written. Collectives of the backend
``offramp`` and the progress of training go to the same file, on tracks of their own.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import mean
from typing import Any, Final

from offramp_base.documents import parse_json, read_text
from offramp_base.ending.files import write_text
from offramp_base.errors import OfframpError

FOLDER: Final = "OFFRAMP_JOB_FOLDER"
JOB: Final = "OFFRAMP_JOB_NAME"
_MOST_BYTES: Final = 64 << 20
_NS: Final = 1e9
STEP: Final = "step"
COLLECTIVES: Final = "collectives"
PROGRESS: Final = "progress"
SENDING: Final = "sending"
_KEYS: Final = ("step", "begin_ns", "end_ns")
_SCORES: Final = ("loss", "accuracy")


@contextmanager
def step(number: int, what: str = STEP) -> Iterator[None]:
    """Time a part of a rank's work, a whole step unless ``what`` names another part."""
    folder = os.environ.get(FOLDER)
    begun = time.time_ns()
    yield
    if folder is None:
        return
    ended = time.time_ns()
    rows: list[dict[str, Any]] = [{"step": number, "what": what, "begin_ns": begun, "end_ns": ended}]
    if what == STEP:
        rows += [
            {"step": number, "what": name, "begin_ns": begin, "end_ns": end, "track": COLLECTIVES}
            for name, begin, end in _collectives(begun, ended)
        ]
    _append(Path(folder), rows)


def tell_progress(number: int, *, loss: float | None = None, accuracy: float | None = None) -> None:
    """Record how well the program has learned after a step, for the curves of the job's report."""
    folder = os.environ.get(FOLDER)
    if folder is not None:
        now = time.time_ns()
        scores = {
            "loss": None if loss is None else float(loss),
            "accuracy": None if accuracy is None else float(accuracy),
        }
        row = {"step": number, "what": PROGRESS, "begin_ns": now, "end_ns": now, "track": PROGRESS}
        _append(Path(folder), [row | {name: value for name, value in scores.items() if value is not None}])


def _append(folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    rank = os.environ.get("RANK", "0")
    source = {"job": os.environ.get(JOB, folder.name), "rank": int(rank)}
    with (folder / f"steps-{rank}.jsonl").open("a") as file:
        file.write("".join(json.dumps(source | dict(row)) + "\n" for row in rows))


def _collectives(begun_ns: int, ended_ns: int) -> list[tuple[str, int, int]]:
    """Kind, begin and end of the collectives of this process' groups that began within these times.

    Empty without the backend ``offramp``, and where its record has lost the first ones of the step.
    """
    module = sys.modules.get("offramp.torch.dispatcher")
    rows: list[tuple[str, int, int]] = []
    for dispatcher in list(module.every) if module is not None else ():
        entries = dispatcher.recorder.entries() if dispatcher.recorder is not None else []
        if entries and entries[0].id > 0 and entries[0].started * _NS > begun_ns:
            return []
        for each in entries:
            begin = round(each.started * _NS)
            if begun_ns <= begin <= ended_ns:
                end = begin + round(each.seconds * _NS) if each.seconds >= 0 else ended_ns
                rows.append((f"{each.kind} by {each.route}", begin, min(end, ended_ns)))
    return sorted(rows, key=lambda row: row[1])


def tell_paths(requests: Mapping[str, int]) -> None:
    """Say how many requests of an application have taken each path so far, for ``offramp job top``."""
    folder = os.environ.get(FOLDER)
    if folder is not None:
        path = Path(folder) / f"paths-{os.environ.get('RANK', '0')}.json"
        write_text(path, json.dumps({str(name): int(count) for name, count in requests.items()}) + "\n")


def read_paths(folder: Path) -> dict[int, dict[str, int]]:
    """The latest counts of requests by path that each rank wrote (:func:`tell_paths`); malformed files are left out."""
    paths: dict[int, dict[str, int]] = {}
    for path in sorted(folder.glob("paths-*.json")):
        rank = path.stem.removeprefix("paths-")
        try:
            paths[int(rank)] = {name: int(count) for name, count in parse_json(read_text(path)).items()}
        except (OfframpError, ValueError, TypeError, AttributeError):
            continue
    return paths


def read_steps(folder: Path) -> dict[int, list[dict[str, Any]]]:
    """The lines that each rank wrote (:func:`step`, :func:`tell_progress`); incomplete ones are left out."""
    steps: dict[int, list[dict[str, Any]]] = {}
    for path in sorted(folder.glob("steps-*.jsonl")):
        rank = path.stem.removeprefix("steps-")
        if not rank.isdecimal() or path.stat().st_size > _MOST_BYTES:
            continue
        rows = []
        for text in path.read_text("utf-8", "replace").splitlines():
            try:
                row = json.loads(text)
                rows.append(_checked(row))
            except (ValueError, TypeError, KeyError):
                continue
        steps[int(rank)] = rows
    return steps


def _checked(row: Mapping[str, Any]) -> dict[str, Any]:
    """A line of the file with the types that it should have.

    Raises:
        TypeError, ValueError, KeyError: it has others.
    """
    checked: dict[str, Any] = {key: int(row[key]) for key in _KEYS} | {"what": str(row["what"])}
    checked |= {name: str(row[name]) for name in ("track", "job") if name in row}
    return checked | {name: float(row[name]) for name in _SCORES if name in row}


def mean_step_s(folder: Path) -> float | None:
    """Mean seconds of a step, without the first one, which makes connections; None if no rank wrote any."""
    rows = [row for rows in read_steps(folder).values() for row in rows if row["what"] == STEP]
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
    ended = [{row["step"] for row in rows if row["what"] == STEP} for rows in steps.values()]
    common = set.intersection(*ended) if ended else set()
    if number is None and common:
        number = max(common)
    rows = [(rank, row) for rank, each in steps.items() for row in each if row["step"] == number]
    if not any(row.get("track") != PROGRESS for _, row in rows):
        raise OfframpError(f"{folder}: no rank has written step {'' if number is None else number}".rstrip())
    zero = min(row["begin_ns"] for _, row in rows if row.get("track") != PROGRESS)
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": rank, "args": {"name": f"rank {rank}"}} for rank in steps
    ]
    events += [
        {"ph": "M", "name": "thread_name", "pid": rank, "tid": tid, "args": {"name": name}}
        for rank in sorted({rank for rank, row in rows if row.get("track") == COLLECTIVES})
        for tid, name in enumerate(("steps", COLLECTIVES))
    ]
    for rank, row in rows:
        track = row.get("track")
        if track == PROGRESS:
            continue
        event = {"ph": "X", "pid": rank, "tid": int(track == COLLECTIVES), "name": row["what"]}
        event |= {"cat": SENDING} if track == COLLECTIVES else {"name": f"{row['what']} {row['step']}"}
        event |= {"ts": (row["begin_ns"] - zero) / 1e3, "dur": (row["end_ns"] - row["begin_ns"]) / 1e3}
        events.append(event)
    return {"traceEvents": events, "displayTimeUnit": "ms"}
