# SPDX-License-Identifier: Apache-2.0
"""Priorities of several jobs that share switches: disjoint DSCPs and common queues, by a policy.

A job's own order is never inverted, in DSCPs or in queues; two of its priorities may share one where there are few.
Everybody else has queue 0 and DSCP 0.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from offramp.hermod.dscp import CODES, DscpCodec
from offramp.hermod.queues import CONTROL, MOST_QUEUES, Priority, QueuePlan, plan_queues
from offramp_base.errors import OfframpError

COMPOSITIONS: Final = {
    "strict": "all of a job before all of the next",
    "weighted": "jobs share queues; a job of half the weight falls twice as fast",
}


@dataclass(frozen=True)
class Tenant:
    """One of the jobs.

    Attributes:
        name: unlike others'.
        codec: its priorities.
        weight: its ratio to the largest counts; of ``weighted`` only.
    """

    name: str
    codec: DscpCodec
    weight: float = 1.0


def compose(
    tenants: Sequence[Tenant], policy: str, queues: int = MOST_QUEUES, control: Collection[int] = CONTROL
) -> list[QueuePlan]:
    """A plan for each job; their control DSCPs are common, all others are one job's.

    Raises:
        OfframpError: no jobs, two of one name, a weight that is none, an unknown policy, too few queues or DSCPs.
    """
    _check(tenants, policy)
    free = [dscp for dscp in range(CODES - 1, 0, -1) if dscp not in control]
    levels = [_levels(tenants, i, policy, queues, control) for i in range(len(tenants))]
    slots = [_slots(own, len(free) * len(own) // max(sum(map(len, levels)), len(free))) for own in levels]
    wanted = sorted(
        {(-level, i, slot) for i, own in enumerate(slots) for slot, level in own.values()}
    )  # the highest queue first, jobs in order
    if len(wanted) > len(free):
        raise OfframpError(f"{len(tenants)} jobs need {len(wanted)} DSCPs: {len(free)} are free")
    given = dict(zip(wanted, free, strict=False))
    return [
        _plan(tenant, i, own, given, queues, frozenset(control))
        for i, (tenant, own) in enumerate(zip(tenants, slots, strict=True))
    ]


def switch_plan(tenants: Sequence[Tenant], plans: Sequence[QueuePlan]) -> QueuePlan:
    """The plan of a switch: the plans of all jobs in one, whose priorities name their job."""
    priorities = tuple(
        replace(priority, tenant=tenant.name)
        for tenant, plan in zip(tenants, plans, strict=True)
        for priority in plan.priorities
    )
    queues = {priority.queue for priority in priorities}
    return replace(
        plans[0],
        priorities=priorities,
        queue=tuple(map(max, *(plan.queue for plan in plans), [0] * CODES)),
        classes=len(queues),
        lowest=min(queues),
        job={"tenants": [tenant.name for tenant in tenants]},
    )


def _check(tenants: Sequence[Tenant], policy: str) -> None:
    if policy not in COMPOSITIONS:
        raise OfframpError(f"composition {policy}: expected one of {', '.join(COMPOSITIONS)}")
    names = [tenant.name for tenant in tenants]
    if not names:
        raise OfframpError("no jobs: expected one or more")
    for tenant in tenants:
        if names.count(tenant.name) > 1:
            raise OfframpError(f"job {tenant.name}: is given twice")
        if not 0 < tenant.weight < float("inf"):
            raise OfframpError(f"job {tenant.name}: weight {tenant.weight:g}, expected more than 0")


def _levels(tenants: Sequence[Tenant], i: int, policy: str, queues: int, control: Collection[int]) -> dict[int, int]:
    """The switch's queue of each code of a job."""
    data = queues - 1 - bool(control)
    if policy == "weighted":
        classes, below = max(data, 1), 0
    else:
        if data < len(tenants):
            raise OfframpError(
                f"{len(tenants)} jobs: {queues} queues leave {max(data, 0)} for data, expected one for each"
            )
        shares = [data // len(tenants) + (j < data % len(tenants)) for j in range(len(tenants))]
        classes, below = shares[i], sum(shares[i + 1 :])
    codec = tenants[i].codec
    plan = plan_queues(codec, queues, classes, control, apart=True)
    ratio = max(tenant.weight for tenant in tenants) / tenants[i].weight if policy == "weighted" else 1.0
    levels = {}
    for code, dscp in plan.dscp.items():
        away = classes - plan.queue[dscp]  # from the highest of its classes
        levels[code] = below + classes - min(int((away + 1) * ratio) - 1, classes - 1)
    return levels


def _slots(levels: dict[int, int], budget: int) -> dict[int, tuple[int, int]]:
    """A number ascending with the code, shared by neighbours of one queue where the budget is small, and the queue."""
    used = len(set(levels.values()))
    room = max(min(budget, len(levels)) - (used - 1 if budget < len(levels) else 0), 1)
    slots: dict[int, tuple[int, int]] = {}
    slot, last = -1, (-1, -1)
    for rank, (code, level) in enumerate(sorted(levels.items())):
        here = (rank * room // len(levels), level)
        slot += here != last
        last = here
        slots[code] = (slot, level)
    return slots


def _plan(
    tenant: Tenant,
    i: int,
    slots: dict[int, tuple[int, int]],
    given: dict[tuple[int, int, int], int],
    queues: int,
    control: frozenset[int],
) -> QueuePlan:
    queue = [0] * CODES
    priorities = []
    for code, (slot, level) in slots.items():
        dscp = given[-level, i, slot]
        queue[dscp] = level
        priorities.append(Priority(code, dscp, level, tenant.codec.meanings[code]))
    for value in control:
        queue[value] = queues - 1
    levels = {level for _, level in slots.values()}
    classes, lowest = max(levels) - min(levels) + 1, min(levels)
    return QueuePlan(tuple(priorities), tuple(queue), classes, control, queues, lowest, job={"tenant": tenant.name})
