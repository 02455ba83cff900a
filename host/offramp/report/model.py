# SPDX-License-Identifier: Apache-2.0
"""Contents of a report; the code that ran the work fills them in, this package only draws them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Run:
    """One training run.

    Attributes:
        name: how it is called throughout the report.
        result: :meth:`offramp.train.results.TrainingResult.as_dict`.
    """

    name: str
    result: Mapping[str, Any]

    @property
    def communicates(self) -> bool:
        """Whether any feature left its worker."""
        return bool(self.result["packets"])


@dataclass(frozen=True)
class Check:
    """A claim that the report makes about its runs, and whether it holds."""

    claim: str
    holds: bool


@dataclass(frozen=True)
class Table:
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
    """A whole report.

    Attributes:
        title: of the page.
        summary: one sentence under it.
        runs: in the order in which they are drawn.
        command: how to repeat it.
        checks: claims with their outcome.
        tables: further tables, such as predictions for other settings.
        notes: further paragraphs.
        advice: what other settings would change about which way is best.
        origin: version, commit and date.
    """

    title: str
    summary: str
    runs: Sequence[Run]
    command: str
    checks: Sequence[Check] = ()
    tables: Sequence[Table] = ()
    notes: Sequence[Note] = field(default=())
    advice: str = ""
    origin: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The JSON form: the same data."""
        return asdict(self)
