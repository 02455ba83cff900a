# SPDX-License-Identifier: Apache-2.0
"""The referee: an item at all sizes, seeds and options, in processes or on a cluster, resumed after an end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from offramp.sweep import sweep
from offramp_base import __version__
from offramp_base.settings.error import SettingsError
from offramp_base.settings.field import Field
from offramp_sim.reproduce.item import Item
from offramp_sim.reproduce.referee.case import CaseResult, ItemCase, cases_of, run_case
from offramp_sim.reproduce.referee.rows import RowFile

GROUP: Final = "Referee"


@dataclass(frozen=True)
class RefereeSettings:
    """Settings with which ``--referee`` examines an item."""

    referee: Annotated[
        bool, Field("Run each item at all sizes, seeds and options, and say which numbers hold", group=GROUP)
    ] = False
    scales: Annotated[
        tuple[float, ...], Field("Sizes, times --scale; repeatable; by default those that each item names", group=GROUP)
    ] = ()
    seeds: Annotated[int, Field("Seeds, from --seed on", least=1, most=1000, group=GROUP)] = 3
    processes: Annotated[int | None, Field("Parallel runs; one per core by default", least=1, group=GROUP)] = None
    dask: Annotated[
        str | None,
        Field("Dask's address, ray://HEAD:10001 or slurm:OPTIONS to run on; works without --referee", group=GROUP),
    ] = None
    rows: Annotated[
        Path | None, Field("File of finished runs, from which an interrupted referee resumes", group=GROUP)
    ] = None
    claims: Annotated[
        bool, Field("Let the referee judge what the documents claim about these items, in one table", group=GROUP)
    ] = False
    search: Annotated[
        int,
        Field(
            "With --claims: runs by which to look for the settings nearest to each paper's headline number",
            least=0,
            group=GROUP,
        ),
    ] = 0

    def __post_init__(self) -> None:
        if any(not 0 < scale < float("inf") for scale in self.scales):
            raise SettingsError("scales", "expected numbers greater than 0", list(self.scales))


def examine(item: Item, settings: RefereeSettings, scale: float, seed: int, data: Path | None) -> list[CaseResult]:
    """The rows of all cases of an item, in their order; those in the file of rows are not run again.

    Raises:
        OfframpError: the file of rows is another's, or no scheduler answers.
    """
    return run_cases(cases_to_examine(item, settings, scale, seed), settings, data)


def cases_to_examine(item: Item, settings: RefereeSettings, scale: float, seed: int) -> list[ItemCase]:
    """All cases by which a referee examines an item."""
    scales = [scale * each for each in settings.scales or item.sizes]
    return cases_of(item, scales, range(seed, seed + settings.seeds))


def run_cases(cases: Sequence[ItemCase], settings: RefereeSettings, data: Path | None) -> list[CaseResult]:
    """The rows of ``cases``, in their order; those in the file of rows are not run again.

    Raises:
        OfframpError: the file of rows is another's, or no scheduler answers.
    """
    kept = None if settings.rows is None else RowFile(settings.rows, f"offramp {__version__}")
    rows = {} if kept is None else {case: row for case in cases if (row := kept.get(case)) is not None}
    missing = [case for case in cases if case not in rows]
    results = sweep(
        run_case,
        [(case, data) for case in missing],
        processes=settings.processes,
        dask=settings.dask,
        what="runs",
        each=None if kept is None else kept.put,
    )
    rows |= {row.case: row for row in results}
    return [rows[case] for case in cases]
