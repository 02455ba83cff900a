# SPDX-License-Identifier: Apache-2.0
"""A plan fitted into a switch that already has a configuration.

Where ports have no maps of somebody else's, the tables are those of
:func:`~offramp.hermod.deploy.sonic.tables.tables_for`. Else the job takes queues that nobody reaches, by traffic
classes that nobody uses; its DSCPs that somebody uses are left to them, and its packets carry others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from offramp.hermod.deploy.limits import LineLimits
from offramp.hermod.deploy.sonic.binding import bind_maps
from offramp.hermod.deploy.sonic.queuing import QueueService, bind_queues
from offramp.hermod.deploy.sonic.surroundings import Surroundings
from offramp.hermod.deploy.sonic.tables import QUEUE, Config, merged, tables_for
from offramp.hermod.dscp import CODES
from offramp.hermod.queues import MOST_QUEUES, QueuePlan
from offramp_base.errors import OfframpError


class NoRoomError(OfframpError):
    """A plan does not fit beside the existing configuration."""


@dataclass(frozen=True)
class Fitted:
    """A plan as a switch gets it.

    Attributes:
        tables: rows and fields to set.
        plan: with the DSCPs that packets carry.
        split: rows of ``QUEUE`` that are written apart in ``tables`` instead.
        queues: the switch's queue by the plan's; those that are left out keep the queues that are there.
        moved: DSCPs that packets carry instead, by the DSCP that was planned.
        notes: remarks for the user, each in a line.
    """

    tables: Config
    plan: QueuePlan
    split: Sequence[str] = ()
    queues: Mapping[int, int] = field(default_factory=dict)
    moved: Mapping[int, int] = field(default_factory=dict)
    notes: Sequence[str] = ()

    def onto(self, config: Config) -> Config:
        """The configuration with the plan."""
        after = merged(config, self.tables)
        for key in self.split:
            del after[QUEUE][key]
        return after


def fit(
    config: Config,
    plan: QueuePlan,
    ports: Sequence[str],
    name: str,
    *,
    members: Collection[str] | None = None,
    limits: LineLimits | None = None,
    replace: bool = False,
) -> Fitted:
    """Find room for a plan.

    Args:
        config: the configuration, without anything of this plan.
        plan: queues and thresholds.
        ports: which have the queues.
        name: name of the objects.
        members: the job's ports; None: all.
        limits: peak rates of queues, and the rate that the lowest is guaranteed.
        replace: take all queues but lossless ones, and all DSCPs but those of lossless classes, from whoever has them.

    Raises:
        NoRoomError: no queue or no DSCP is free; the message says what is in the way.
        OfframpError: rows for several ports that cannot be told apart, names that are too long, rates for a queue that
            the plan has not.
    """
    there = Surroundings(config, ports)
    if there.empty:
        return Fitted(tables_for(plan, ports, name, members=members, limits=limits), plan)
    room = _room(there, replace)
    trusted = [port for port in ports if members is None or port in members]
    kept = set().union(*(there.used_dscps(port, replace) for port in trusted))
    moved = _moved(plan, kept)
    carried = plan.carried_by(moved)
    placed = {dscp: queue for dscp, queue in carried.queues.items() if dscp not in kept and (queue > 0 or replace)}
    needed = sorted({*placed.values(), *([plan.other] if replace else [])})
    last = room[-len(needed) :]
    chosen = {of_plan: last[at * len(last) // len(needed)] for at, of_plan in enumerate(needed)}
    queues = {of_plan: queue for of_plan, (queue, _) in chosen.items()}
    classes = {dscp: chosen[queue][1] for dscp, queue in placed.items()}
    default = chosen[plan.other][1] if replace else None
    tables = bind_maps(config, there, ports, trusted, name, classes, default, dict(chosen.values()), kept)
    served = _served(plan, queues, limits)
    rows, split = bind_queues(config, there, ports, name, served, None if replace else limits)
    return Fitted(tables | rows, carried, split, queues, moved, _notes(plan, queues, moved, kept, replace))


def _moved(plan: QueuePlan, kept: Collection[int]) -> dict[int, int]:
    """Other DSCPs for those that somebody uses: the nearest that nobody does, queues without any first.

    Where none is left, one that the job has already: of the same queue of the plan, else of the nearest.
    """
    own = {priority.dscp: priority.queue for priority in plan.priorities}
    free = {dscp for dscp in range(CODES) if dscp not in kept and dscp not in plan.queues}
    held = {dscp: queue for dscp, queue in own.items() if dscp not in kept}
    moved: dict[int, int] = {}
    for starving in (True, False):
        for dscp in sorted(own.keys() & set(kept)):
            queue = own[dscp]
            if dscp in moved or (starving and queue in held.values()):
                continue
            if free:
                moved[dscp] = min(free, key=lambda other: (abs(other - dscp), -other))
                free.remove(moved[dscp])
                held[moved[dscp]] = queue
            elif not starving and held:
                moved[dscp] = min(held, key=lambda other: (abs(held[other] - queue), held[other], abs(other - dscp)))
    if own.keys() & set(kept) - moved.keys():
        raise NoRoomError("no DSCP is left for the job: all of them are in use, or their class is lossless")
    return moved


def _room(there: Surroundings, replace: bool) -> list[tuple[int, int]]:
    """Queues that the job can have, ascending, and traffic classes that lead there."""
    queues = [q for q in range(MOST_QUEUES) if q not in there.lossless and (replace or q not in there.used_queues)]
    classes = [
        one
        for one in there.classes
        if one not in there.lossless_classes and (replace or one not in there.reached_classes)
    ]
    spare = [one for one in classes if one not in queues]
    room = [(q, q if q in classes else spare.pop(0)) for q in queues if q in classes or spare]
    if not room:
        pfc = ", ".join(map(str, sorted(there.lossless)))
        taken = ", ".join(map(str, sorted(there.used_queues - there.lossless)))
        raise NoRoomError(
            f"no queue is free: {' and '.join(there.maps()) or 'DSCPs without a map'} reach {taken or 'none'}"
            + (f", PFC has {pfc}" if pfc else "")
            + ("" if replace else "; --replace takes all but those of PFC")
        )
    return room


def _served(plan: QueuePlan, queues: Mapping[int, int], limits: LineLimits | None) -> dict[int, QueueService]:
    """Limits of each queue that the job takes: the summed rates of those that share it, and the lowest threshold."""
    peaks = {} if limits is None else limits.of_queues(plan)
    lowest = None if limits is None else limits.lowest_bps
    limits_of = {}
    for queue in sorted(set(queues.values())):
        sharing = [of_plan for of_plan, own in queues.items() if own == queue]
        peak = sum(peaks[q] for q in sharing) if all(q in peaks for q in sharing) else None
        marks = [plan.ecn_bytes[q] for q in sharing if q in plan.ecn_bytes]
        limits_of[queue] = QueueService(peak, lowest if plan.other in sharing else None, min(marks, default=None))
    return limits_of


def _notes(
    plan: QueuePlan, queues: Mapping[int, int], moved: Mapping[int, int], kept: Collection[int], replace: bool
) -> list[str]:
    shared = {queue: [str(q) for q, own in queues.items() if own == queue] for queue in queues.values()}
    pairs = ", ".join(f"{' and '.join(of_plan)} in {queue}" for queue, of_plan in shared.items())
    notes = [f"queues of the plan on the switch: {pairs or 'none'}" + ("" if replace else "; 0 where it is")]
    held = [str(dscp) for dscp in plan.queues if dscp in kept and dscp not in moved]
    if held:
        notes.append(f"control DSCPs that keep the queues that they have: {', '.join(held)}")
    if moved:
        pairs = ", ".join(f"{new} for {old}" for old, new in moved.items())
        notes.append(f"DSCPs that somebody else uses: packets carry {pairs}")
    if not replace and 0 in plan.ecn_bytes:
        notes.append("queue 0 of the plan is shared with others: its threshold for ECN is not set")
    return notes
