# SPDX-License-Identifier: Apache-2.0
"""Counters of the switch: the outcome of each pass, and totals derived from the outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from offramp.switchgnn.target import EGRESS, ProgramTarget

OUTCOMES = "SwitchGnnIngress.outcomes"
OPEN = "SwitchGnnIngress.telemetry.open"
PEAK = "SwitchGnnIngress.telemetry.peak"


def outcome_counters(target: ProgramTarget) -> list[str]:
    """Names of the counters of outcomes: ingress, and egress where that aggregates."""
    return [target.full(OUTCOMES), *([f"{EGRESS}.outcomes"] if target.replicates else [])]


class Disposition(IntEnum):
    """Outcome of a packet's pass; ``switchgnn_outcome_t`` of the P4 program, which explains each."""

    FOREIGN = 0
    MALFORMED = 1
    STALE = 2
    DUPLICATE = 3
    UNKNOWN = 4
    OPENED = 5
    ADDED = 6
    COMPLETED = 7
    DELIVERED = 8
    RAW = 9
    SHARED = 10
    DONE = 11
    DONE_REPEATED = 12
    GO = 13
    GO_REPEATED = 14
    WAITING = 15
    RELEASED = 16
    FETCHED = 17
    RESENT = 18
    ACKNOWLEDGED = 19
    RELAYED = 20
    RESUMED = 21
    STRANGER = 22
    HARVESTED = 23


_CONTRIBUTIONS = (Disposition.OPENED, Disposition.ADDED, Disposition.COMPLETED, Disposition.DELIVERED)
_REFUSED = (Disposition.RAW, Disposition.SHARED)


def totals(outcomes: Mapping[int, int], uploads: int, recirculations: int) -> dict[str, int]:
    """Every outcome by its name in lower case, and totals.

    ``passes``: passes of DATA that were served, those in which a sum fetches its upper lanes included;
    ``contributions``: those that entered a sum in the switch; ``results``: sums sent; ``overflows``: contributions for
    which no aggregator was free (strawman); ``uploads``: accepted DATA packets; ``recirculations``: passes beyond a
    packet's first.
    """
    counts = {outcome.name.lower(): outcomes.get(outcome, 0) for outcome in Disposition}
    contributions = sum(outcomes.get(o, 0) for o in _CONTRIBUTIONS)
    overflows = sum(outcomes.get(o, 0) for o in _REFUSED)
    harvested = outcomes.get(Disposition.HARVESTED, 0)
    return {
        **counts,
        "passes": contributions + overflows + harvested,
        "contributions": contributions,
        "results": outcomes.get(Disposition.COMPLETED, 0) + outcomes.get(Disposition.DELIVERED, 0),
        "overflows": overflows,
        "uploads": uploads,
        "recirculations": recirculations + harvested,
    }
