# SPDX-License-Identifier: Apache-2.0
"""A plan as tables of SONiC's CONFIG_DB (sonic-swss, ``doc/swss-schema.md``; YANG models of sonic-buildimage)."""

from __future__ import annotations

import copy
from collections.abc import Collection, Sequence

from offramp.hermod.deploy.limits import Limits, burst_bytes
from offramp.hermod.deploy.plan import DeployPlan
from offramp.hermod.dscp import CODES

Config = dict[str, dict[str, dict[str, str]]]
"""Table, key, field to value."""

DSCP_MAP, TC_MAP = "DSCP_TO_TC_MAP", "TC_TO_QUEUE_MAP"
SCHEDULER, WRED, QUEUE, PORT_MAP = "SCHEDULER", "WRED_PROFILE", "QUEUE", "PORT_QOS_MAP"
TABLES = (DSCP_MAP, TC_MAP, SCHEDULER, WRED, QUEUE, PORT_MAP)
"""All that a plan concerns."""
REFERENCES = {"dscp_to_tc_map": DSCP_MAP, "tc_to_queue_map": TC_MAP, "scheduler": SCHEDULER, "wred_profile": WRED}
"""Fields of :data:`QUEUE` and :data:`PORT_MAP` to the tables whose rows they name."""
_COLOURS = ("green", "yellow", "red")


def tables_for(
    plan: DeployPlan,
    ports: Sequence[str],
    name: str,
    *,
    members: Collection[str] | None = None,
    limits: Limits | None = None,
) -> Config:
    """The tables; traffic classes are queues. All objects are called ``name``, or begin with it.

    A queue with an ECN threshold marks every packet above it, and drops those that cannot be marked.

    Args:
        plan: queues and thresholds.
        ports: which have the queues.
        name: of the objects.
        members: the job's ports, whose DSCPs count; on the others each DSCP is best effort. None: all are the job's.
        limits: peak rates of queues, and the rate that the lowest is guaranteed, as it is served before all strict
            ones that have their own; None: neither.

    Raises:
        OfframpError: rates for a queue that the plan has not.
    """
    queues = range(plan.count)
    maps = {port: name if members is None or port in members else other_name(name) for port in ports}
    limited = {} if limits is None else _limited(plan, limits)
    schedulers = {queue: own_name(name, queue) if queue in limited else name for queue in queues}
    tables: Config = {
        DSCP_MAP: {name: {str(dscp): str(plan.queues.get(dscp, plan.other)) for dscp in range(CODES)}},
        TC_MAP: {name: {str(queue): str(queue) for queue in queues}},
        SCHEDULER: {schedulers[queue]: {"type": "STRICT", **limited.get(queue, {})} for queue in queues},
        QUEUE: {f"{port}|{queue}": _queue(plan, queue, name, schedulers[queue]) for port in ports for queue in queues},
        PORT_MAP: {port: {"dscp_to_tc_map": maps[port], "tc_to_queue_map": name} for port in ports},
    }
    if other_name(name) in maps.values():
        tables[DSCP_MAP][other_name(name)] = {str(dscp): str(plan.other) for dscp in range(CODES)}
    if plan.ecn_bytes:
        tables[WRED] = {own_name(name, queue): _profile(size) for queue, size in sorted(plan.ecn_bytes.items())}
    return tables


def own_name(name: str, queue: int) -> str:
    """The WRED profile of a queue, and its scheduler if its rate is limited or guaranteed."""
    return f"{name}_{queue}"


def other_name(name: str) -> str:
    """The DSCP map of ports that are not the job's."""
    return f"{name}_OTHER"


def merged(config: Config, tables: Config) -> Config:
    """The configuration with the fields of ``tables`` set."""
    after = copy.deepcopy(config)
    for table, rows in tables.items():
        for key, fields in rows.items():
            after.setdefault(table, {}).setdefault(key, {}).update(fields)
    return after


def without(config: Config, name: str) -> Config:
    """The configuration without our objects and without what refers to them; nothing is left empty."""
    after = copy.deepcopy(config)
    by_queue = {own_name(name, queue) for queue in range(8)}
    own = {DSCP_MAP: {name, other_name(name)}, TC_MAP: {name}, SCHEDULER: {name, *by_queue}, WRED: by_queue}
    for table, names in own.items():
        for key in names:
            after.get(table, {}).pop(key, None)
    for table in (QUEUE, PORT_MAP):
        for key, fields in list(after.get(table, {}).items()):
            for field, target in REFERENCES.items():
                if field in fields and plain(fields[field]) in own[target]:
                    del fields[field]
            if not fields and config[table][key]:
                del after[table][key]
    return {table: rows for table, rows in after.items() if rows or not config[table]}


def plain(reference: str) -> str:
    """The name in a reference, which older releases write as ``[TABLE|NAME]``."""
    return reference.strip("[]").rpartition("|")[2] if reference.startswith("[") else reference


def _limited(plan: DeployPlan, limits: Limits) -> dict[int, dict[str, str]]:
    """Fields of the schedulers of queues that have a rate, in bytes per second and bytes."""
    fields: dict[int, dict[str, str]] = {}
    peaks = limits.of_queues(plan)
    for queue, bps in peaks.items():
        fields[queue] = {"meter_type": "bytes", "pir": str(max(bps // 8, 1)), "pbs": str(burst_bytes(bps))}
    if limits.lowest_bps is not None:
        kept = min(limits.lowest_bps, peaks.get(0, limits.lowest_bps))
        own = fields.setdefault(0, {"meter_type": "bytes"})
        fields[0] = own | {"cir": str(max(kept // 8, 1)), "cbs": str(burst_bytes(kept))}
    return fields


def _queue(plan: DeployPlan, queue: int, name: str, scheduler: str) -> dict[str, str]:
    fields = {"scheduler": scheduler}
    if queue in plan.ecn_bytes:
        fields["wred_profile"] = own_name(name, queue)
    return fields


def _profile(threshold: int) -> dict[str, str]:
    fields = {"ecn": "ecn_all"}
    for colour in _COLOURS:
        fields[f"wred_{colour}_enable"] = "true"
        fields[f"{colour}_min_threshold"] = fields[f"{colour}_max_threshold"] = str(threshold)
        fields[f"{colour}_drop_probability"] = "100"
    return fields
