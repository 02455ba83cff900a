# SPDX-License-Identifier: Apache-2.0
"""A plan as tables of SONiC's CONFIG_DB (sonic-swss, ``doc/swss-schema.md``; YANG models of sonic-buildimage)."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence

from offramp.hermod.deploy.limits import LineLimits, burst_bytes
from offramp.hermod.dscp import CODES
from offramp.hermod.queues import QueuePlan

Config = dict[str, dict[str, dict[str, str]]]
"""Table, key, field to value."""

DSCP_MAP, TC_MAP = "DSCP_TO_TC_MAP", "TC_TO_QUEUE_MAP"
SCHEDULER, WRED, QUEUE, PORT_MAP = "SCHEDULER", "WRED_PROFILE", "QUEUE", "PORT_QOS_MAP"
TABLES = (DSCP_MAP, TC_MAP, SCHEDULER, WRED, QUEUE, PORT_MAP)
"""All that a plan concerns."""
REFERENCES = {"dscp_to_tc_map": DSCP_MAP, "tc_to_queue_map": TC_MAP, "scheduler": SCHEDULER, "wred_profile": WRED}
"""Fields of :data:`QUEUE` and :data:`PORT_MAP` to the tables whose rows they name."""
OTHER = "_OTHER"
"""Suffix, after the plan's name, of the name of the DSCP map of ports that are not the job's."""
_COLOURS = ("green", "yellow", "red")


def tables_for(
    plan: QueuePlan,
    ports: Sequence[str],
    name: str,
    *,
    members: Collection[str] | None = None,
    limits: LineLimits | None = None,
) -> Config:
    """The tables; traffic classes are queues. All objects are called ``name``, or begin with it.

    A queue with an ECN threshold marks every packet above it, and drops those that cannot be marked.

    Args:
        plan: queues and thresholds.
        ports: ports with the queues.
        name: name of the objects.
        members: the job's ports, whose DSCPs count; on the others each DSCP is best effort. None: all are the job's.
        limits: peak rates of queues, and the rate that the lowest is guaranteed, as it is served before all strict
            ones that have their own; None: neither.

    Raises:
        OfframpError: rates for a queue that the plan has not.
    """
    queues = range(plan.count)
    maps = {port: name if members is None or port in members else other_name(name) for port in ports}
    limited = {} if limits is None else rates(limits.of_queues(plan), 0, limits.lowest_bps)
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
        tables[WRED] = {own_name(name, queue): profile(size) for queue, size in sorted(plan.ecn_bytes.items())}
    return tables


def own_name(name: str, queue: int) -> str:
    """The WRED profile of a queue, and its scheduler if its rate is limited or guaranteed."""
    return f"{name}_{queue}"


def other_name(name: str) -> str:
    """The DSCP map of ports that are not the job's."""
    return name + OTHER


def merged(config: Config, tables: Config) -> Config:
    """The configuration with the fields of ``tables`` set."""
    after = copy.deepcopy(config)
    for table, rows in tables.items():
        for key, fields in rows.items():
            after.setdefault(table, {}).setdefault(key, {}).update(fields)
    return after


def plain(reference: str) -> str:
    """The name in a reference, which older releases write as ``[TABLE|NAME]``."""
    return reference.strip("[]").rpartition("|")[2] if reference.startswith("[") else reference


def alike(reference: str | None, table: str, name: str) -> str:
    """A reference to ``name`` in the form of another one; None: by the name alone."""
    return f"[{table}|{name}]" if reference is not None and reference.startswith("[") else name


def rates(peaks: Mapping[int, int], lowest: int | None, lowest_bps: int | None) -> dict[int, dict[str, str]]:
    """Fields of the schedulers of queues that have a rate, in bytes per second and bytes.

    SONiC's models want a ``cir`` with every ``pir``: a byte per second where nothing is guaranteed.

    Args:
        peaks: bits per second, by queue.
        lowest: the queue that is guaranteed a rate; None: none.
        lowest_bps: that rate; None: no queue is.
    """
    fields: dict[int, dict[str, str]] = {}
    for queue, bps in peaks.items():
        peak = {"pir": str(max(bps // 8, 1)), "pbs": str(burst_bytes(bps))}
        fields[queue] = {"meter_type": "bytes", "cir": "1", **peak}
    if lowest is not None and lowest_bps is not None:
        kept = min(lowest_bps, peaks.get(lowest, lowest_bps))
        own = fields.setdefault(lowest, {"meter_type": "bytes"})
        fields[lowest] = own | {"cir": str(max(kept // 8, 1)), "cbs": str(burst_bytes(kept))}
    return fields


def _queue(plan: QueuePlan, queue: int, name: str, scheduler: str) -> dict[str, str]:
    fields = {"scheduler": scheduler}
    if queue in plan.ecn_bytes:
        fields["wred_profile"] = own_name(name, queue)
    return fields


def profile(threshold: int) -> dict[str, str]:
    """A WRED profile that marks from ``threshold`` bytes on, and drops what cannot be marked."""
    fields = {"ecn": "ecn_all"}
    for colour in _COLOURS:
        fields[f"wred_{colour}_enable"] = "true"
        fields[f"{colour}_min_threshold"] = fields[f"{colour}_max_threshold"] = str(threshold)
        fields[f"{colour}_drop_probability"] = "100"
    return fields
