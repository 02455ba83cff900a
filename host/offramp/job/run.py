# SPDX-License-Identifier: Apache-2.0
"""Deploy a plan, run the ranks, take everything away: one transaction, begun anew after something has died."""

from __future__ import annotations

import contextlib
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from offramp.allreduce.control import SwitchFullError
from offramp.cluster.model import Cable, Cluster
from offramp.job.agents import AgentThere
from offramp.job.bounded import Deadline, wait_for_abandoned
from offramp.job.counters import Moved, link_bytes, of_hosts, since
from offramp.job.engine import RankEngine
from offramp.job.kind import CalibrationResult, JobKind, JobStart, PlacedJob, kind_of
from offramp.job.later import undo_later
from offramp.job.line import WaitingLine
from offramp.job.load import tasks_of_others
from offramp.job.parts import device_steps, queue_steps
from offramp.job.planner import PlannerChoice
from offramp.job.ranks import RankProcesses
from offramp.job.settings import JobSettings
from offramp.job.switches import ProgramOnSwitch, answers, release
from offramp.job.transaction import Transaction, TransactionStep
from offramp_base.ending.files import write_text
from offramp_base.errors import OfframpError
from offramp_base.listening.token import Token

Note = Callable[[str, str], None]
_BACK_S: Final = 60.0
"""Seconds that a switch or agent that has died may stay away."""
_POLL_S: Final = 0.1
_PAUSE_S: Final = (0.3, 1.5)
"""Seconds between two attempts to get room on switches, at random, so that waiting jobs do not meet again."""
EVENTS: Final = "events.jsonl"
"""The run's structured log in its folder."""


def _silent(what: str, name: str) -> None:
    """Ignore a report of progress."""


@dataclass
class JobRunResult:
    """The result of a run.

    Attributes:
        seconds: seconds from the start of the ranks to the end of the last one, of the attempt that ended well.
        attempts: number of starts.
        bytes_by_link: sent and received by each host on its links, while the ranks ran.
        steps: steps of deploying, in order.
        links: bytes from the first end and from the second of each link that is counted, meanwhile.
        begun_ns: when the ranks of that attempt started, by the system's clock; None: unknown.
        others: tasks of others that wanted a processor of this machine just before; None: unknown.
        without: the reason that it ran in the plain way, where its own had no room on switches; else empty.
        account: what the batch system says of the job, with the engine's name; empty where there is none.
    """

    seconds: float
    attempts: int
    bytes_by_link: dict[str, tuple[int, int]] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)
    links: dict[Cable, Moved] = field(default_factory=dict)
    begun_ns: int | None = None
    others: float | None = None
    without: str = ""
    account: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class There:
    """The deployment that the ranks find.

    Attributes:
        network: file for ``OFFRAMP_NETWORK``; None where they need none.
        steps: that put it there.
    """

    network: Path | None
    steps: Sequence[TransactionStep]

    def lost(self) -> str:
        """The reason that the ranks cannot go on: a switch or an agent that is gone, or was restarted; else empty."""
        return next((reason for step in self.steps if (reason := step.holds())), "")


@contextmanager
def deployed(
    job: JobSettings, cluster: Cluster, ways: Sequence[str], folder: Path, note: Note = _silent
) -> Iterator[There]:
    """Put everything there that the ranks need for these ways.

    Raises:
        OfframpError: something cannot be put there; what was is taken away.
    """
    with _deployed(kind_of(job), PlacedJob.on(job, cluster), ways, folder, _number(), note) as there:
        yield there


def _number() -> int:
    return random.SystemRandom().randrange(1, 1 << 32)


@contextmanager
def _deployed(
    kind: JobKind, placed: PlacedJob, ways: Sequence[str], folder: Path, number: int, note: Note
) -> Iterator[There]:
    wanted = kind.deployment(placed, ways, number, folder)
    steps = [*device_steps(placed), *wanted.steps, *queue_steps(placed, number)]
    with Transaction(note, partial(undo_later, placed.cluster) if steps else None) as transaction:
        for step in steps:
            transaction.apply(step)
        path = None
        if wanted.network is not None:
            path = folder.absolute() / "network.yaml"
            write_text(path, wanted.network)
        yield There(path, steps)


def run_job(
    job: JobSettings,
    cluster: Cluster,
    choice: PlannerChoice | str,
    folder: Path,
    note: Note = _silent,
    engine: RankEngine | None = None,
) -> JobRunResult:
    """Run a job as a plan has chosen; what dies has it started again, up to ``restarts`` times.

    A rank, a switch or an agent may die at any moment, also while the job is deployed or taken away. The next attempt
    waits for switches and agents to be back, brings what the job has there again, and starts all ranks, which go on
    from their checkpoint.

    Args:
        job: the job.
        cluster: the cluster that it runs on.
        choice: a choice of the job's plan, whose decisions the ranks read, or a way of the job's kind.
        folder: takes logs, and files of the ranks.
        note: is called with each step, as :class:`~offramp.job.transaction.Transaction` tells it.
        engine: starts the ranks; None: each host as the cluster's file says.

    Raises:
        OfframpError: it cannot be deployed, or something failed once too often.
    """
    steps: list[str] = []

    def on_step(what: str, name: str) -> None:
        steps.append(f"{what} {name}")
        _log(folder, {"job": job.name, "at_ns": time.time_ns(), "what": what, "name": name})
        note(what, name)

    kind = kind_of(job)
    _check_engine(engine, kind, job, cluster)
    job = _with_token(job, folder)
    way, decided = (choice, None) if isinstance(choice, str) else (choice.way, choice.decided)
    placed = replace(PlacedJob.on(job, cluster), decided=decided)
    wait_for_abandoned()  # a calibration may still take its state away from switches
    needed = _needed(kind, placed, way, folder)  # refuses before anything is touched
    numbers: list[int] = []
    try:
        return _attempts(kind, placed, way, folder, needed, numbers, on_step, steps, engine)
    except SwitchFullError as error:
        plain = kind.ways[0]
        if not job.fallback or way == plain:
            raise
        on_step("without", f"{way}: {error}")
        placed = replace(placed, decided=None)
        needed = _needed(kind, placed, plain, folder)
        result = _attempts(kind, placed, plain, folder, needed, numbers, on_step, steps, engine)
        return replace(result, without=str(error))
    except Exception:
        with contextlib.suppress(OfframpError):  # a switch that does not answer is the next job's, or that of job undo
            _release(needed, numbers)
        raise


def _needed(kind: JobKind, placed: PlacedJob, way: str, folder: Path) -> list[TransactionStep]:
    """All steps of a way, of which none is applied."""
    number = _number()
    return [*kind.deployment(placed, [way], number, folder).steps, *queue_steps(placed, number)]


def _log(folder: Path, row: dict[str, object]) -> None:
    """Append a line of JSON to the run's log of what was deployed, started, restarted and undone."""
    with (folder / EVENTS).open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def _attempts(
    kind: JobKind,
    placed: PlacedJob,
    way: str,
    folder: Path,
    needed: Sequence[TransactionStep],
    numbers: list[int],
    on_step: Note,
    steps: list[str],
    engine: RankEngine | None,
) -> JobRunResult:
    job = placed.job
    attempt = 0 if engine is None else engine.earlier
    room = Deadline(job.wait_s)
    with WaitingLine(step.switch for step in needed if isinstance(step, ProgramOnSwitch)) as line:
        while True:
            numbers.append(_number())
            try:
                result = _attempt(kind, placed, way, JobStart(folder, attempt), numbers[-1], on_step, engine, line)
            except SwitchFullError as error:
                numbers.pop()
                if not room.left_s:
                    raise
                line.stand()
                on_step("wait", str(error))
                time.sleep(min(room.left_s, random.uniform(*_PAUSE_S)))
                continue
            except OfframpError as error:
                if attempt >= job.restarts:
                    raise
                attempt += 1
                on_step("restart", str(error))
                _wait_until_back(needed)
                _release(needed, numbers)
                continue
            _release(needed, numbers)
            return replace(result, steps=steps)


def _check_engine(engine: RankEngine | None, kind: JobKind, job: JobSettings, cluster: Cluster) -> None:
    if engine is None:
        return
    engine.check()
    reason = engine.refuse(job.hosts_of(cluster))
    if engine.together and kind.leading is not None:
        reason = f"starts all ranks together, of which {job.kind} has to end some before the others"
    if reason:
        raise OfframpError(f"job {job.name}: engine {engine.name}: {reason}")


def _attempt(
    kind: JobKind,
    placed: PlacedJob,
    way: str,
    start: JobStart,
    number: int,
    on_step: Note,
    engine: RankEngine | None,
    line: WaitingLine,
) -> JobRunResult:
    """One attempt that ends well."""
    cluster, hosts = placed.cluster, placed.hosts
    program = kind.program(placed, way, start)
    done: JobRunResult | None = None
    try:
        with _deployed(kind, placed, [way], start.folder, number, on_step) as there:
            line.leave()
            ranks = RankProcesses(
                program, cluster, hosts, there.network, start.folder, start.attempt, kind.leading, engine
            )
            others = tasks_of_others()
            before, begun_ns = link_bytes(cluster), time.time_ns()
            on_step("start", f"{placed.ranks} ranks")
            try:
                ranks.start()
                seconds = ranks.wait(lost=there.lost)
            except OfframpError:
                _wait_until_back(there.steps)  # so that they can be undone
                raise
            moved = since(before, link_bytes(cluster))
            by_host = of_hosts(hosts, cluster, moved)
            done = JobRunResult(seconds, start.attempt + 1, by_host, links=moved, begun_ns=begun_ns, others=others)
    except OfframpError:
        if done is None:
            raise
        _wait_until_back(there.steps)  # the ranks have ended well; a switch has died since
        _release(there.steps, [number])
    assert done is not None
    return done


def _wait_until_back(steps: Sequence[TransactionStep]) -> None:
    """Wait for switches and agents to answer; not forever."""
    deadline = time.monotonic() + _BACK_S
    for step in steps:
        while not _back(step) and time.monotonic() < deadline:
            time.sleep(_POLL_S)


def _back(step: TransactionStep) -> bool:
    if isinstance(step, ProgramOnSwitch):
        return answers(step.switch)
    return not isinstance(step, AgentThere) or not step.holds()  # all else is the job's own to bring back


def _release(steps: Sequence[TransactionStep], numbers: Sequence[int]) -> None:
    """Take out of switches what an attempt has left there whose undoing failed.

    Raises:
        OfframpError: a switch does not answer.
    """
    for step in steps:
        if isinstance(step, ProgramOnSwitch):
            release(step.switch, list(numbers))


def calibrate(
    job: JobSettings,
    cluster: Cluster,
    ways: Sequence[str],
    size: int,
    folder: Path,
    timeout_s: float,
    note: Note = _silent,
    stopped: Callable[[], bool] = lambda: False,
    engine: RankEngine | None = None,
) -> CalibrationResult:
    """Measure the seconds of a step, or of ``size`` bytes, by each way that works on the cluster.

    Args:
        job: the job.
        cluster: the cluster to run on.
        ways: ways to measure.
        size: bytes of an all-reduce, where that matters.
        folder: takes logs, and files of the ranks.
        timeout_s: timeout for everything but taking it away again.
        note: is called with each step, as :class:`~offramp.job.transaction.Transaction` tells it.
        stopped: whether nobody waits for the measurements any more.
        engine: starts the ranks; None: each host as the cluster's file says.

    Raises:
        OfframpError: it cannot be deployed or run, or takes too long.
    """
    kind = kind_of(job)
    placed = PlacedJob.on(_with_token(job, folder), cluster)

    def once(program: JobSettings, chosen: Sequence[str], mine: Path, left_s: float) -> None:
        deadline = Deadline(left_s)

        def in_time(what: str, name: str) -> None:
            if what == "apply" and (stopped() or not deadline.left_s):
                raise OfframpError(f"job {job.name}: not deployed within {left_s:.1f} s: {name}")
            note(what, name)

        with _deployed(kind, placed, chosen, mine, _number(), in_time) as there:
            ranks = RankProcesses(program, cluster, placed.hosts, there.network, mine, 0, kind.leading, engine)
            ranks.start()
            ranks.wait(deadline.left_s, stopped=stopped)

    return kind.calibrate(placed, ways, size, folder, timeout_s, once)


def _with_token(job: JobSettings, folder: Path) -> JobSettings:
    """The job with a token of its own, which Hermod's endpoints ask for, unless it has one."""
    path = folder.absolute() / "job.token"  # hosts that ssh leads to start in a folder of their own
    if any(each.startswith("OFFRAMP_TOKEN_FILE=") for each in job.environment):
        return job
    if not path.exists():
        Token.random().write(path)
    return replace(job, environment=(*job.environment, f"OFFRAMP_TOKEN_FILE={path}"))
