# SPDX-License-Identifier: Apache-2.0
"""The switches of a job before it runs: their programs, what it leases there, and whether there is room now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from offramp.job.kind import PlacedJob, kind_of
from offramp.job.ledger import SwitchLedger, folder_of
from offramp.job.parts import queue_steps
from offramp.job.switches import ProgramOnSwitch, looking
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.job.planner import PlannerChoice
    from offramp_base.p4rt.session import Session


@dataclass(frozen=True)
class SwitchLease:
    """A job's part of a switch.

    Attributes:
        switch: name of the switch.
        program: what it will run: the program there if other jobs use it, else the job's own.
        leases: the part that the job has to itself.
        jobs: number of jobs that use the switch now.
        now: whether there is room now, and what the job does otherwise.
    """

    switch: str
    program: str
    leases: str
    jobs: int
    now: str


def leases_of(placed: PlacedJob, choice: PlannerChoice) -> list[SwitchLease]:
    """The leases of a job by a way of its plan; nothing is changed. Empty for ways without switches.

    Raises:
        OfframpError: the job cannot be deployed; with file and line.
    """
    placed = replace(placed, decided=choice.decided)
    with TemporaryDirectory(prefix="offramp-plan-") as folder:  # of the links that ranks would open
        deployment = kind_of(placed.job).deployment(placed, [choice.way], 1, Path(folder))
    steps = [*deployment.steps, *queue_steps(placed, 1)]
    return [_lease(step, placed) for step in steps if isinstance(step, ProgramOnSwitch)]


def _lease(step: ProgramOnSwitch, placed: PlacedJob) -> SwitchLease:
    ledger = SwitchLedger(folder_of(step.switch))
    jobs = len(ledger.running)
    problem = step.barred(ledger) or (jobs and _asked(step, step.full)) or ""
    program = ledger.program if jobs else step.brings
    return SwitchLease(step.switch.name, program, step.lease, jobs, _otherwise(placed, problem))


def _asked(step: ProgramOnSwitch, ask: Callable[[Session], str]) -> str:
    """The answer of a switch, or that it gave none."""
    try:
        with looking(step.switch) as session:
            return ask(session) if step.runs(session) else ""
    except OfframpError as error:
        return str(error)


def _otherwise(placed: PlacedJob, problem: str) -> str:
    job = placed.job
    if not problem:
        return "room"
    if job.wait_s:
        then = f"waits up to {job.wait_s:g} s" + (", then runs in the plain way" if job.fallback else "")
    else:
        then = "runs in the plain way" if job.fallback else "would be refused"
    return f"{then}: {problem}"


def rows_of(leases: Sequence[SwitchLease]) -> list[dict[str, str | int]]:
    """Leases as data."""
    return [dict(vars(lease)) for lease in leases]
