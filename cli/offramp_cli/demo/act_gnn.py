# SPDX-License-Identifier: Apache-2.0
"""Act ``gnn``: a graph network whose features the switches add, and the same training from worker to worker by turns.

All ways add the same integers, so all give the bits that one process computes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING, Any, Final

from offramp.job import JobSettings, run_job
from offramp.job.answer import Circumstances, verdict
from offramp.job.kind import kind_of
from offramp.job.load import processors
from offramp.job.outcome import fabric_of
from offramp.job.record import RunRecord, read_record
from offramp.job.run import JobRunResult
from offramp.job.training import result_of
from offramp.report import Alternative, Outcome, ReportCheck
from offramp.report.units import si
from offramp.train import TrainSettings
from offramp_cli.demo.laboratory import RANKS
from offramp_cli.demo.one_process import train_in_one_process

if TYPE_CHECKING:
    from offramp.train import Epoch
    from offramp_cli.demo.acts import Scene
    from offramp_cli.demo.settings import DemoSettings

GRAPH: Final = "sbm:n=1000,k=8,degree=24,features=64,homophily=0.5"
"""Communities of vertices; a hash spreads each vertex's neighbours over all workers."""
PLAIN: Final = "p2p"
WAYS: Final[Mapping[str, Mapping[str, str]]] = {"p2p": {"codec": "fixed"}, "switchgnn": {}}
"""Ways of the job, the plain one first, and the settings by which each adds the same integers."""
_HIDDEN, _LAYERS = 64, 3
_TURNS: Final = 3
_BUDGET_S: Final = 40.0
"""Time within which a further turn of all ways has to end."""


@dataclass
class Turns:
    """The runs of one way.

    Attributes:
        runs, records: runs and records of each turn.
        epochs: results of the first turn; those of the others are equal.
        difference: where a turn's results differ from the reference first; empty while none does.
    """

    runs: list[JobRunResult] = field(default_factory=list)
    records: list[RunRecord] = field(default_factory=list)
    difference: str = ""

    def alternative(self, name: str) -> Alternative:
        """The way with all its epochs; means of parts and of start-up."""
        parts = [each.parts for each in self.records if each.parts]
        starts = [
            max(0.0, run.seconds - sum(record.seconds)) for run, record in zip(self.runs, self.records, strict=True)
        ]
        return Alternative(
            name,
            measured_s=tuple(second for each in self.records for second in each.seconds),
            startup_s=mean(starts),
            parts_s={name: mean(each[name] for each in parts) for name in parts[0]} if parts else {},
            curve=self.records[0].curve,
            note=f"{len(self.runs)} runs, by turns" if len(self.runs) > 1 else "",
        )

    @property
    def sent(self) -> int:
        """Bytes that hosts sent in the first turn; 0 where links count none."""
        return sum(up for up, _ in self.runs[0].bytes_by_link.values())


def play(scene: Scene) -> Outcome:
    """Train by turns, compare with one process."""
    cluster = scene.laboratory.cluster()
    reference = scores(train_in_one_process(settings_of(scene.settings)))
    turns = {way: Turns() for way in WAYS}
    count = 0
    while count == 0 or scene.again(count, _TURNS, _BUDGET_S):
        count += 1
        for way, mine in turns.items():
            folder = scene.out / "gnn" / f"{way}-{count}"
            with scene.stage.console.status(f"{way}, turn {count}") as status:
                job = job_of(scene.settings, way, folder)
                mine.runs.append(run_job(job, cluster, way, folder, partial(_tell, status, f"{way}, turn {count}")))
            mine.records.append(read_record(kind_of(job), folder, one_clock=True))
            mine.difference = mine.difference or difference(scores_of(folder), reference)
            took = median(mine.records[-1].seconds)
            scene.stage.console.print(f"  {way}, turn {count}: an epoch {1e3 * took:.0f} ms", soft_wrap=True)
    return outcome_of(turns, fabric_of(cluster, {way: mine.runs[0] for way, mine in turns.items()}))


def _tell(status: Any, turn: str, what: str, name: str) -> None:
    """Show a step of a job as a part of the act."""
    status.update(f"{turn}: {what} {name}")


def outcome_of(turns: Mapping[str, Turns], fabric: Any) -> Outcome:
    """The outcome of all turns."""
    alternatives = [mine.alternative(way) for way, mine in turns.items()]
    others = [run.others for mine in turns.values() for run in mine.runs if run.others is not None]
    known = Circumstances(
        PLAIN,
        {way: mean(run.seconds for run in mine.runs) for way, mine in turns.items()},
        {way: mine.sent for way, mine in turns.items() if mine.sent},
        others=max(others, default=None),
        processors=processors(),
        unit="epoch",
    )
    return Outcome(
        "gnn",
        "",
        "",
        verdict(alternatives, known),
        "epoch",
        tuple(alternatives),
        fabric,
        tuple(checks(turns)),
        notes=(f"{known.load[0].upper()}{known.load[1:]}.",) if known.load else (),
    )


def checks(turns: Mapping[str, Turns]) -> list[ReportCheck]:
    """Checks of equality; and of bytes, if links count them."""
    claims = [
        ReportCheck(
            f"By {way}, loss and accuracies of all epochs equal one process's to the last bit{mine.difference}.",
            not mine.difference,
        )
        for way, mine in turns.items()
    ]
    plain = turns[PLAIN].sent
    for way, mine in turns.items():
        if way != PLAIN and plain and mine.sent:
            claim = f"Hosts sent {si(mine.sent, 'B')} by {way}, less than the {si(plain, 'B')} by {PLAIN}."
            claims.append(ReportCheck(claim, mine.sent < plain))
    return claims


def settings_of(settings: DemoSettings, graph: str = GRAPH) -> TrainSettings:
    """The training with its integers sent from worker to worker."""
    return TrainSettings(
        graph=graph,
        partition="hash",
        workers=RANKS,
        hidden=_HIDDEN,
        layers=_LAYERS,
        epochs=max(2, settings.steps // 2),
        seed=settings.seed,
        propagator=PLAIN,
        codec="fixed",
    )


def job_of(settings: DemoSettings, way: str, folder: Path) -> JobSettings:
    """The same training as a job by a way; its file is written into the folder."""
    mine = settings_of(settings)
    names = ("graph", "partition", "hidden", "layers", "epochs", "seed")
    fields = {name: getattr(mine, name) for name in names} | dict(WAYS[way])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "train.yaml"
    path.write_text("".join(f"{name}: '{value}'\n" if name == "graph" else f"{name}: {value}\n"
                            for name, value in fields.items()), "utf-8")  # fmt: skip
    return JobSettings(name="gnn", train=path)


Scores = list[tuple[float, float, float, float]]


def scores(epochs: Sequence[Epoch]) -> Scores:
    """Loss and accuracies of each epoch."""
    return [(each.loss, each.train_accuracy, each.val_accuracy, each.test_accuracy) for each in epochs]


def difference(run: Scores, reference: Scores) -> str:
    """A clause on the first epoch in which a run differs from the reference; empty if none does."""
    for epoch, (mine, expected) in enumerate(zip(run, reference, strict=False), start=1):
        if mine != expected:
            return f" (epoch {epoch}: {mine}, one process {expected})"
    return "" if len(run) == len(reference) else f" ({len(run)} epochs, one process {len(reference)})"


def scores_of(folder: Path) -> Scores:
    """The same of a run, from the file of its rank 0; numbers in JSON lose no bits."""
    names = ("loss", "train_accuracy", "val_accuracy", "test_accuracy")
    return [tuple(row[name] for name in names) for row in result_of(folder).get("per_epoch", [])]
