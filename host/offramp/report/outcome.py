# SPDX-License-Identifier: Apache-2.0
"""Results of a comparison: predictions, measurements and models of each alternative, kept apart.

A job has one outcome, the demo one for each of its acts. :mod:`offramp.report` draws them all on the same page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from offramp.report.model import ReportCheck

Answer = Literal["yes", "no", "unknown"]
Parts = Literal["computing", "sending", "waiting"]


@dataclass(frozen=True)
class FabricMachine:
    """A machine of the fabric.

    Attributes:
        name: its name in the cluster file.
        role: its role in the comparison.
        rack: name of the group that is drawn together, such as the leaf above the hosts; empty: none.
    """

    name: str
    role: Literal["host", "switch", "card", "nic"]
    rack: str = ""


@dataclass(frozen=True)
class FabricLink:
    """A link of the fabric and what crossed it.

    Attributes:
        ends: names of two nodes.
        rate_bps: rate in each direction; None where nothing limits it.
        bytes_by: by alternative, the bytes from the first end and those from the second. An alternative whose bytes
            nobody counted is absent.
    """

    ends: tuple[str, str]
    rate_bps: int | None
    bytes_by: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class DrawnFabric:
    """The network on which the alternatives ran."""

    nodes: tuple[FabricMachine, ...]
    links: tuple[FabricLink, ...]


@dataclass(frozen=True)
class ProgressPoint:
    """Progress of training after a step or an epoch; None where it was not evaluated."""

    step: int
    loss: float | None = None
    accuracy: float | None = None


@dataclass(frozen=True)
class Alternative:
    """One way to carry out the same work.

    Attributes:
        name: such as ``p2p`` or ``allreduce``.
        predicted_s: seconds of a step that the planner predicted before the run; None: it predicted nothing.
        measured_s: seconds of each step that was executed here, start-up excluded; empty: nothing was measured.
        modelled_s: seconds of a step by a simulator or model of hardware that is not here; None: not modelled.
        startup_s: seconds before the first step; None: unknown.
        parts_s: mean seconds of a measured step by what the ranks did.
        curve: progress of training.
        note: why it was taken or not, or could not run; a sentence.
        taken: whether the planner chose it.
        bound: what sets the floor of its time, such as ``links of the hosts``; empty: unknown.
    """

    name: str
    predicted_s: float | None = None
    measured_s: tuple[float, ...] = ()
    modelled_s: float | None = None
    startup_s: float | None = None
    parts_s: Mapping[Parts, float] = field(default_factory=dict)
    curve: tuple[ProgressPoint, ...] = ()
    note: str = ""
    taken: bool = False
    bound: str = ""


@dataclass(frozen=True)
class Verdict:
    """The answer to an outcome's question.

    Attributes:
        answer: yes, no, or unknown where this machine cannot tell.
        sentence: the answer in words; for unknown it says why (load, spread of samples, unfinished calibration).
    """

    answer: Answer
    sentence: str


@dataclass(frozen=True)
class Outcome:
    """A question, its answer and everything that supports it.

    Attributes:
        name: short, such as ``gnn``; the anchor on the page.
        title: heading.
        question: what was asked; a sentence.
        verdict: the answer.
        step: the unit of work whose seconds are given: ``step``, ``epoch``, ``coflow``, ``request``.
        alternatives: the plain one first.
        fabric: where they ran; None: no network.
        checks: claims that hold or do not.
        trace: file of a step's timeline in Chrome's trace format, relative to the page; empty: none.
        notes: sentences that a reader needs, such as what the machine lacks.
        seconds: how long all of it took.
    """

    name: str
    title: str
    question: str
    verdict: Verdict
    step: str
    alternatives: tuple[Alternative, ...]
    fabric: DrawnFabric | None = None
    checks: tuple[ReportCheck, ...] = ()
    trace: str = ""
    notes: tuple[str, ...] = ()
    seconds: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """The outcome's data for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Outcome:
        """An outcome from the data of :meth:`as_dict`, also as JSON has given them back."""
        return cls(
            **{
                **data,
                "verdict": Verdict(**data["verdict"]),
                "alternatives": tuple(_alternative(each) for each in data["alternatives"]),
                "fabric": None if data["fabric"] is None else _fabric(data["fabric"]),
                "checks": tuple(ReportCheck(**each) for each in data["checks"]),
                "notes": tuple(data["notes"]),
            }
        )


def _alternative(data: Mapping[str, Any]) -> Alternative:
    curve = tuple(ProgressPoint(**each) for each in data["curve"])
    return Alternative(**{**data, "measured_s": tuple(data["measured_s"]), "curve": curve})


def _fabric(data: Mapping[str, Any]) -> DrawnFabric:
    links = [{**each, "ends": tuple(each["ends"])} for each in data["links"]]
    return DrawnFabric(
        tuple(FabricMachine(**each) for each in data["nodes"]),
        tuple(FabricLink(**{**each, "bytes_by": {k: tuple(v) for k, v in each["bytes_by"].items()}}) for each in links),
    )
