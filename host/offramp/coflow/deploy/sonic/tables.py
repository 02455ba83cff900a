"""A plan as tables of SONiC's CONFIG_DB (sonic-swss, ``doc/swss-schema.md``; YANG models of sonic-buildimage)."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from offramp.coflow.deploy.plan import DeployPlan
from offramp.coflow.dscp import CODES

Config = dict[str, dict[str, dict[str, str]]]
"""Table, key, field to value."""

DSCP_MAP, TC_MAP = "DSCP_TO_TC_MAP", "TC_TO_QUEUE_MAP"
SCHEDULER, WRED, QUEUE, PORT_MAP = "SCHEDULER", "WRED_PROFILE", "QUEUE", "PORT_QOS_MAP"
TABLES = (DSCP_MAP, TC_MAP, SCHEDULER, WRED, QUEUE, PORT_MAP)
"""All that a plan concerns."""
_COLOURS = ("green", "yellow", "red")


def tables_for(plan: DeployPlan, ports: Sequence[str], name: str) -> Config:
    """The tables; traffic classes are queues. All objects are called ``name``, or begin with it.

    A queue with an ECN threshold marks every packet above it, and drops those that cannot be marked.
    """
    queues = range(plan.count)
    tables: Config = {
        DSCP_MAP: {name: {str(dscp): str(plan.queues.get(dscp, plan.other)) for dscp in range(CODES)}},
        TC_MAP: {name: {str(queue): str(queue) for queue in queues}},
        SCHEDULER: {name: {"type": "STRICT"}},
        QUEUE: {f"{port}|{queue}": _queue(plan, queue, name) for port in ports for queue in queues},
        PORT_MAP: {port: {"dscp_to_tc_map": name, "tc_to_queue_map": name} for port in ports},
    }
    if plan.ecn_bytes:
        tables[WRED] = {profile_name(name, queue): _profile(size) for queue, size in sorted(plan.ecn_bytes.items())}
    return tables


def profile_name(name: str, queue: int) -> str:
    """The WRED profile of a queue."""
    return f"{name}_{queue}"


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
    for table in (DSCP_MAP, TC_MAP, SCHEDULER):
        after.get(table, {}).pop(name, None)
    profiles = {profile_name(name, queue) for queue in range(8)}
    for profile in profiles:
        after.get(WRED, {}).pop(profile, None)
    for table, own in ((QUEUE, {name, *profiles}), (PORT_MAP, {name})):
        for key, fields in list(after.get(table, {}).items()):
            for field, value in list(fields.items()):
                if plain(value) in own:
                    del fields[field]
            if not fields and config[table][key]:
                del after[table][key]
    return {table: rows for table, rows in after.items() if rows or not config[table]}


def plain(reference: str) -> str:
    """The name in a reference, which older releases write as ``[TABLE|NAME]``."""
    return reference.strip("[]").rpartition("|")[2] if reference.startswith("[") else reference


def _queue(plan: DeployPlan, queue: int, name: str) -> dict[str, str]:
    fields = {"scheduler": name}
    if queue in plan.ecn_bytes:
        fields["wred_profile"] = profile_name(name, queue)
    return fields


def _profile(threshold: int) -> dict[str, str]:
    fields = {"ecn": "ecn_all"}
    for colour in _COLOURS:
        fields[f"wred_{colour}_enable"] = "true"
        fields[f"{colour}_min_threshold"] = fields[f"{colour}_max_threshold"] = str(threshold)
        fields[f"{colour}_drop_probability"] = "100"
    return fields
