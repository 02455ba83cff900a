# SPDX-License-Identifier: Apache-2.0
"""Many runs in several processes, with a file that says how far they are: what was ended goes on from there."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cache
from multiprocessing import get_context
from pathlib import Path

from offramp.p4src import p4_source
from offramp_base.errors import OfframpError
from offramp_p4.frontend import load
from switchgnn_soak.compiled import RUNS_PER_JOB, VERDICTS, CompiledSoak, Rates, SoakRun
from switchgnn_soak.jobs import SIZES
from switchgnn_soak.library import load_library

PROGRAMS = {"v1model": "v1model", "replicated": "replicated_v1model", "leaves": "v1model"}
"""Targets of a soak, and the P4 program of each."""
_CHUNK = 10 * RUNS_PER_JOB
_LONGEST_S = 300.0
"""For a chunk: machine code that does not come back is a finding, too."""


@dataclass(frozen=True)
class Plan:
    """Settings of a campaign.

    Attributes:
        kind: one of :data:`PROGRAMS`.
        rates: rates of the faults of single frames.
        first: the first seed.
        runs: number of seeds.
    """

    kind: str
    rates: Rates
    first: int
    runs: int


@dataclass
class Tally:
    """Findings of a campaign so far.

    Attributes:
        done: runs that have ended, the seeds from the first one without a gap.
        seconds: time that they took, on the clock of the wall.
        frames: that were sent in all runs.
        verdicts: runs by what they came to.
        findings: the runs that were not right.
    """

    done: int = 0
    seconds: float = 0.0
    frames: int = 0
    verdicts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(VERDICTS, 0))
    findings: list[SoakRun] = field(default_factory=list)

    def add(self, outcomes: list[SoakRun]) -> None:
        """The next runs."""
        self.done += len(outcomes)
        self.frames += sum(each.frames for each in outcomes)
        for each in outcomes:
            self.verdicts[each.verdict] += 1
        self.findings += [each for each in outcomes if each.verdict != "right"]

    def __str__(self) -> str:
        bad = " ".join(f"{self.verdicts[verdict]} {verdict}," for verdict in VERDICTS[1:])
        rate = self.done / self.seconds if self.seconds else 0.0
        return f"{self.done:,} runs, {self.frames:,} frames: {bad} {rate:,.0f} runs per second"


def campaign(
    plan: Plan,
    *,
    progress: Path | None = None,
    seconds: float | None = None,
    processes: int = 1,
    on_progress: Callable[[Tally], None] = lambda _: None,
) -> Tally:
    """All runs of ``plan``, or as many as end within ``seconds``.

    Args:
        plan: what to run.
        progress: where to go on from, and to note how far the runs are.
        seconds: time for this call.
        processes: how many.
        on_progress: is called after every few hundred runs.

    Raises:
        OfframpError: ``progress`` is of another plan or no such file, or a chunk of runs did not come back.
    """
    tally = _read(progress, plan) if progress is not None else Tally()
    before, start = tally.seconds, time.monotonic()
    for outcomes in _chunks(plan, tally.done, processes):
        tally.add(outcomes)
        tally.seconds = before + time.monotonic() - start
        if progress is not None:
            _write(progress, plan, tally)
        on_progress(tally)
        if seconds is not None and time.monotonic() - start >= seconds:
            break
    return tally


def _chunks(plan: Plan, done: int, processes: int) -> Iterator[list[SoakRun]]:
    last = plan.first + plan.runs
    starts = range(plan.first + done, last, _CHUNK)
    tasks = [(plan.kind, plan.rates, start, min(_CHUNK, last - start)) for start in starts]
    if processes == 1:
        yield from map(_run, tasks)
        return
    with get_context("spawn").Pool(processes) as pool:
        results = pool.imap(_run, tasks)
        for task in tasks:
            try:
                yield results.next(_LONGEST_S)
            except TimeoutError:
                raise OfframpError(
                    f"seeds {task[2]} to {task[2] + task[3] - 1}: no end within {_LONGEST_S:g} s"
                ) from None


def _run(task: tuple[str, Rates, int, int]) -> list[SoakRun]:
    kind, rates, first, count = task
    return list(_soak(kind, rates).run(first, count))


@cache
def _soak(kind: str, rates: Rates) -> CompiledSoak:
    program = load(p4_source(f"switchgnn/{PROGRAMS[kind]}.p4"), defines=SIZES)
    return CompiledSoak(load_library(), program, two_level=kind == "leaves", rates=rates)


def _read(path: Path, plan: Plan) -> Tally:
    if not path.exists():
        return Tally()
    try:
        kept = json.loads(path.read_text("utf-8"))
        if kept["plan"] != asdict(plan):
            raise OfframpError(f"{path}: of another campaign: {kept['plan']}")
        tally = kept["tally"]
        return Tally(
            tally["done"],
            tally["seconds"],
            tally["frames"],
            tally["verdicts"],
            [SoakRun(**each) for each in tally["findings"]],
        )
    except (ValueError, KeyError, TypeError) as error:
        raise OfframpError(f"{path}: not the progress of a soak: {error}") from None


def _write(path: Path, plan: Plan, tally: Tally) -> None:
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    partial.write_text(json.dumps({"plan": asdict(plan), "tally": asdict(tally)}), "utf-8")
    partial.replace(path)
