# SPDX-License-Identifier: Apache-2.0
"""``offramp job plan``, ``run``, ``export`` and ``undo``."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from offramp_base import Field, OfframpError, SettingsError
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import OUTPUT, Result

if TYPE_CHECKING:
    from rich.console import Console

    from offramp.cluster import Cluster
    from offramp.job import JobPlan, JobSettings
    from offramp.job.engine import JobEngine
    from offramp.job.planner import PlannerChoice
    from offramp.job.run import JobRunResult


@dataclass(frozen=True)
class Where:
    """The cluster of a command, and the engine that runs jobs on it."""

    on: Annotated[
        str,
        Field(
            "A cluster file, or a running laboratory: lab, or lab:NAME; in front of it perhaps an engine: "
            "ssh:, mpi:, torchrun:, local:, slurm:, srun:"
        ),
    ]

    @property
    def place(self) -> str:
        """The cluster file, or the laboratory."""
        from offramp.job.engine import parse_on

        return parse_on(self.on)[1]

    def engine(self) -> JobEngine:
        """The engine that runs the job."""
        from offramp.job.engine import ENGINES, parse_on

        return ENGINES.get(parse_on(self.on)[0])()

    def cluster(self) -> Cluster:
        """The cluster, read from its file, as the engine reaches it."""
        from offramp.cluster import read_cluster
        from offramp_sim.lab.state import find

        place = self.place
        if place == "lab" or place.startswith("lab:"):
            cluster = find(place.partition(":")[2] or None).cluster()
        else:
            cluster = read_cluster(place)
        return self.engine().reached(cluster)


@dataclass(frozen=True)
class JobPlanSettings(Where):
    """A job, and where it should run."""

    job: Annotated[Path, Field("A job file, YAML or TOML", position=True)]
    calibrate: Annotated[bool, Field("Measure each offload on the cluster, as far as the deadline allows")] = True


@dataclass(frozen=True)
class JobRunSettings(JobPlanSettings):
    """A job, where it should run, and how."""

    by: Annotated[str | None, Field("Use this offload, whatever the plan says: gloo, allreduce, hermod, …")] = None
    ablate: Annotated[bool, Field("Run the job again without the offload, to compare")] = False
    compare: Annotated[bool, Field("Run the job in every way that is possible, to judge the plan")] = False
    out: Annotated[Path, Field("Folder for logs, reports and a trace", group=OUTPUT, filled=True)] = Path("job-out")


@command(JobPlanSettings, Result, example="job plan job.yaml --on cluster.yaml")
def plan(settings: JobPlanSettings, result: Result) -> None:
    """Show what could be offloaded for a job on a cluster, how long a step takes with each, and the choice."""
    from offramp.job import JobSettings

    console = show.console()
    job, cluster = JobSettings.read(settings.job), settings.cluster()
    chosen = plan_of(console, job, cluster, measure=settings.calibrate, engine=settings.engine())
    show_plan(console, job, chosen)
    switches = show_leases(console, job, cluster, chosen)
    document = {**plan_document(chosen), "taken": str(chosen.taken.way), "switches": switches}
    result.write("offramp.job.plan/1", {"name": job.name, **document})


@command(JobRunSettings, Result, example="job run job.yaml --on lab")
def run(settings: JobRunSettings, result: Result) -> None:
    """Plan a job, deploy what it needs to switches and hosts, run it, and remove everything again."""
    from dataclasses import replace

    from offramp.job import JobSettings
    from offramp.job.kind import kind_of
    from offramp.job.report import report, write
    from offramp_base.settings import expect_choice

    console = show.console()
    job, cluster, engine = JobSettings.read(settings.job), settings.cluster(), settings.engine()
    engine.check()
    if settings.by is not None:
        expect_choice("by", settings.by, list(kind_of(job).ways))
    measure = settings.calibrate and settings.by is None
    chosen = plan_of(console, job, cluster, measure=measure, engine=engine)
    show_plan(console, job, chosen)
    if settings.by is not None:
        chosen = forced(chosen, settings.by)
    ways = [chosen.taken.way]
    if settings.compare:
        ways += [each.way for each in chosen.choices if each.step_s is not None and not each.taken]
    elif settings.ablate and chosen.taken is not chosen.plain:
        ways.append(chosen.plain.way)
    place = JobPlace(settings.job, settings.place, engine)
    outcomes = carry_out(console, job, cluster, chosen, ways, settings.out, place)
    words = ["offramp", "job", "run", str(settings.job), "--on", settings.on, "--by", str(chosen.taken.way)]
    content = report(job, replace(cluster), chosen, outcomes, settings.out, shlex.join(words))
    _, page = write(content, settings.out)
    show_outcome(console, content)
    console.print(f"report: {page}", soft_wrap=True)
    result.write("offramp.job/1", content)


@command(Where, Result, example="job undo --on cluster.yaml")
def undo(settings: Where, result: Result) -> None:
    """Remove what killed jobs have left on the switches of a cluster."""
    from offramp.job.switches import release_ended

    console = show.console()
    released = {}
    for switch in settings.cluster().switches:
        if switch.control:
            numbers = released[switch.name] = release_ended(switch)
            console.print(f"{switch.name}: {show.count(len(numbers), 'job')} released")
    result.write("offramp.job.undo/1", {"released": released})


@dataclass(frozen=True)
class JobPlace:
    """The file of a job, its cluster file or laboratory, and its engine."""

    job_file: Path
    on: str
    engine: JobEngine


def plan_of(
    console: Console, job: JobSettings, cluster: Cluster, *, measure: bool, engine: JobEngine | None = None
) -> JobPlan:
    """A job's plan within its deadline; without calibration, and with a message, if none is possible.

    A batch system is no place for calibrations.
    """
    from offramp.job import make_job_plan
    from offramp.job.engine import BatchEngine, RankEngine
    from offramp.job.measuring import measurer

    measure = measure and not isinstance(engine, BatchEngine)
    starts = engine if isinstance(engine, RankEngine) else None
    with ExitStack() as stack:
        if measure and (job.communicates or job.file):
            stack.enter_context(console.status("calibrating"))
        plan = make_job_plan(job, cluster, measurer(job, cluster, engine=starts) if measure else None)
    if plan.reason:
        console.print(f"not calibrated: {plan.reason}", soft_wrap=True, markup=False)
    return plan


def plan_document(plan: JobPlan) -> dict[str, Any]:
    """A plan as data: the report's rows, with what decides each and what its run will read."""
    from offramp.job.report import rows_of

    more = [{"bound": str(each.bound), "decided": dict(each.decided)} for each in plan.choices]
    rows = [row | added for row, added in zip(rows_of(plan), more, strict=True)]
    return {"plan": rows, "calibrated": plan.calibrated, "reason": plan.reason, "warning": plan.warning}


def carry_out(
    console: Console,
    job: JobSettings,
    cluster: Cluster,
    plan: JobPlan,
    ways: Sequence[str],
    out: Path,
    place: JobPlace | None = None,
) -> dict[str, JobRunResult]:
    """Run a job in each of these ways, each in its own folder; ``out`` gets the plan, and a trace of the first."""
    from offramp.job.run_file import save_run
    from offramp.job.watch import PLAN
    from offramp_base.ending.files import write_text

    out.mkdir(parents=True, exist_ok=True)
    write_text(out / PLAN, json.dumps({"name": job.name, **plan_document(plan)}) + "\n")
    outcomes = {}
    for way in ways:
        folder = out / str(way)
        _fresh(folder, requeued=_requeued(place))
        outcomes[way] = _run(console, job, cluster, plan.by(way), folder, place, plan_lines(plan))
        save_run(outcomes[way], folder)
    _trace(out / str(ways[0]), out / "trace.json")
    return outcomes


def forced(plan: JobPlan, way: str) -> JobPlan:
    """The plan with another way taken.

    Raises:
        SettingsError: a way that cannot be taken, and why.
    """
    from dataclasses import replace

    chosen = next(each for each in plan.choices if each.way == way)
    if chosen.step_s is None:
        raise SettingsError("by", chosen.reason, str(way))
    return replace(plan, choices=tuple(replace(each, taken=each.way == way) for each in plan.choices))


def plan_lines(plan: JobPlan) -> list[str]:
    """The plan in a line for each way, for a script."""
    from offramp.report.units import duration

    return [
        f"{each.way}: {'cannot be taken' if each.step_s is None else f'a step {duration(each.step_s)}'}"
        + (f"; {each.reason}" if each.reason else "")
        for each in plan.choices
    ]


def _run(
    console: Console,
    job: JobSettings,
    cluster: Cluster,
    choice: PlannerChoice,
    folder: Path,
    place: JobPlace | None,
    plan: Sequence[str],
) -> JobRunResult:
    from dataclasses import replace

    from rich.markup import escape

    from offramp.job import run_job
    from offramp.job.engine import BatchEngine, BatchSubmission, RankEngine
    from offramp.job.kind import PlacedJob
    from offramp.job.run_file import read_run

    way, engine = choice.way, place.engine if place is not None else None
    with console.status(f"{way}: deploying") as status:

        def note(what: str, name: str) -> None:
            status.update(escape(f"{way}: {what} {name}"))
            if what == "without":
                console.print(f"{name}: it runs in the plain way", markup=False, soft_wrap=True)
            elif what == "restart":
                console.print(f"{way}: {name}: restarted", markup=False, soft_wrap=True)

        if isinstance(engine, BatchEngine):
            assert place is not None
            submission = BatchSubmission(place.job_file, place.on, str(way), plan, folder.parent)
            account = engine.run(PlacedJob.on(job, cluster), submission, note)
            return replace(read_run(folder, cluster), account=account)
        return run_job(job, cluster, choice, folder, note, engine if isinstance(engine, RankEngine) else None)


def _requeued(place: JobPlace | None) -> bool:
    """Whether a batch system has started this job before."""
    from offramp.job.engine import RankEngine

    return place is not None and isinstance(place.engine, RankEngine) and place.engine.earlier > 0


def _fresh(folder: Path, *, requeued: bool) -> None:
    """Empty the folder of a run, so that results of an earlier run are not taken for this one's."""
    folder.mkdir(parents=True, exist_ok=True)
    for pattern in ("rank-*.log", "steps-*.jsonl", "paths-*.json", "network.yaml", "train.json", "run.json"):
        for path in folder.glob(pattern) if not requeued else ():
            path.unlink()


def _trace(folder: Path, path: Path) -> None:
    from offramp.job.steps import chrome_trace
    from offramp_base.ending.files import write_text

    try:
        trace = chrome_trace(folder)
    except OfframpError:  # the program does not say what its steps are
        return
    write_text(path, json.dumps(trace) + "\n")


def show_plan(console: Console, job: JobSettings, plan: JobPlan) -> None:
    """Show a job's plan as a table."""
    from offramp.report.units import duration

    table = show.table("by", "taken", "step", "without", "bound", "why", left=("by", "bound", "why"))
    plain = plan.plain.step_s
    for each in plan.choices:
        with_it, bound = ("", "") if each.step_s is None else (duration(each.step_s), str(each.bound))
        table.add_row(str(each.way), "yes" if each.taken else "", with_it, duration(plain or 0.0), bound, each.reason)
    console.print(table)
    if plan.warning:
        console.print(f"{job.name}: {plan.warning}", soft_wrap=True, markup=False)
    if plan.taken is plan.plain:
        console.print(f"{job.name}: {plan.taken.reason}", soft_wrap=True)


def show_leases(console: Console, job: JobSettings, cluster: Cluster, plan: JobPlan) -> list[dict[str, str | int]]:
    """Show the switches of the way that a plan takes: program, the job's part, and whether there is room; as data."""
    from offramp.job.kind import PlacedJob
    from offramp.job.leases import leases_of, rows_of

    try:
        leases = leases_of(PlacedJob.on(job, cluster), plan.taken)
    except OfframpError as error:  # an agent that is not there yet, say
        console.print(f"{plan.taken.way}: cannot be deployed now: {error}", soft_wrap=True, markup=False)
        return []
    if leases:
        table = show.table("switch", "program", "leases", "now", left=("switch", "program", "leases", "now"))
        for lease in leases:
            beside = f" beside {show.count(lease.jobs, 'job')}" if lease.jobs else ""
            table.add_row(lease.switch, lease.program, lease.leases, lease.now + beside)
        console.print(table)
    return rows_of(leases)


def show_outcome(console: Console, content: Mapping[str, Any]) -> None:
    """Show measured times beside predicted ones."""
    from offramp.report.units import duration

    for way, each in content["measured"].items():
        step = f", a step {duration(each['step_s'])}" if each["step_s"] else ""
        console.print(f"{way}: {duration(each['seconds'])}{step}")
    if content["best"] is not None:
        share = (
            ""
            if content["best"] == content["taken"]
            else f"; {content['taken']} {content['over_best']:.2f} of its time"
        )
        console.print(f"fastest measured: {content['best']}{share}")
    if content["error"] is not None:
        console.print(f"predicted {duration(content['predicted_step_s'])}: {content['error']:+.0%}")
    sys.stdout.flush()
