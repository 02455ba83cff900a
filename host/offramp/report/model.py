# SPDX-License-Identifier: Apache-2.0
"""Contents of a report; the code that ran the work fills it in, this package only draws it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class TrainingRun:
    """One training run.

    Attributes:
        name: its name throughout the report.
        result: what :meth:`offramp.workers.epochs.RunResult.as_dict` returns.
    """

    name: str
    result: Mapping[str, Any]

    @property
    def communicates(self) -> bool:
        """Whether any feature was sent between workers."""
        return bool(self.result["packets"])


@dataclass(frozen=True)
class ReportCheck:
    """A claim of the report about its runs, and whether it holds."""

    claim: str
    holds: bool


@dataclass(frozen=True)
class ReportTable:
    """Rows of text or numbers under column names."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | int | float]]
    note: str = ""


@dataclass(frozen=True)
class Note:
    """A paragraph under a heading."""

    title: str
    text: str


@dataclass(frozen=True)
class Report:
    """A complete report.

    Attributes:
        title: title of the page.
        summary: one sentence under it.
        runs: the runs in the order in which they are drawn; the first one was asked for, the others are beside it.
        command: how to repeat it.
        checks: claims, and whether they hold.
        tables: further tables, such as predictions for other settings.
        notes: further paragraphs.
        advice: how other settings would change which way is best.
        origin: version, commit and date.
    """

    title: str
    summary: str
    runs: Sequence[TrainingRun]
    command: str
    checks: Sequence[ReportCheck] = ()
    tables: Sequence[ReportTable] = ()
    notes: Sequence[Note] = field(default=())
    advice: str = ""
    origin: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The report's data for JSON."""
        return asdict(self)
