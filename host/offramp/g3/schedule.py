# SPDX-License-Identifier: Apache-2.0
"""The times at which a worker computes a bin and its results leave (g3.md sections 5, 6 and 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from offramp_base.settings.error import SettingsError


@dataclass(frozen=True)
class Schedule:
    """The order of computation and communication in an epoch.

    Attributes:
        eager: a bin starts as soon as its own rows are there; otherwise a layer waits for all of its rows.
        asynchronous: rows leave while the next bin is computed; otherwise after the layer, which waits for that.
        boundary_first: bins of boundary vertices come first; otherwise vertices are in the order of their ids.
        stale: rows of other workers are those of the epoch before (PipeGCN; Sylvie's asynchronous mode).
        adaptive: whether rows are stale is Sylvie's controller's to say, epoch by epoch.
        isolated: edges between workers are left out (ClusterGCN).
        recomputes: states of other workers are recomputed where that costs less than fetching them (NeutronStar).
    """

    eager: bool = False
    asynchronous: bool = False
    boundary_first: bool = False
    stale: bool = False
    adaptive: bool = False
    isolated: bool = False
    recomputes: bool = False

    @property
    def bins(self) -> int:
        """Bins of each worker unless the run sets their number: one where nothing is gained by more."""
        return 8 if self.asynchronous else 1


SCHEDULES: Final = {
    "sequential": Schedule(),
    "inter": Schedule(eager=True, asynchronous=True),
    "intra": Schedule(asynchronous=True, boundary_first=True),
    "g3": Schedule(eager=True, asynchronous=True, boundary_first=True),
    "stale": Schedule(eager=True, asynchronous=True, boundary_first=True, stale=True),
    "adaptive": Schedule(eager=True, asynchronous=True, boundary_first=True, adaptive=True),
    "isolated": Schedule(isolated=True),
    "hybrid": Schedule(recomputes=True),
}
"""Schedules by name: G3's pipeline ablation, one-epoch staleness (always, or as Sylvie decides), no exchange at all,
and NeutronStar's hybrid."""


def schedule_of(name: str) -> Schedule:
    """The schedule called ``name``.

    Raises:
        OfframpError: there is none.
    """
    if name not in SCHEDULES:
        raise SettingsError("schedule", f"expected plain or one of {', '.join(SCHEDULES)}", name)
    return SCHEDULES[name]
