# SPDX-License-Identifier: Apache-2.0
"""What stands in the way of a plan in the configuration that a switch has."""

from __future__ import annotations

from offramp.hermod.deploy.plan import DeployPlan
from offramp.hermod.deploy.sonic.tables import DSCP_MAP, PORT_MAP, QUEUE, TC_MAP, Config, plain
from offramp_base.errors import OfframpError


def check(config: Config, tables: Config, plan: DeployPlan) -> None:
    """Whether ``tables`` can be added to ``config``.

    Raises:
        OfframpError: a name that is taken, a DSCP or a queue that is in use.
    """
    for table, rows in tables.items():
        if table not in (QUEUE, PORT_MAP):
            for key, fields in rows.items():
                there = config.get(table, {}).get(key)
                if there is not None and there != fields:
                    raise OfframpError(
                        f"{table} {key}: there already with other contents; undo it first, replace it, or use another "
                        "name"
                    )
    for port, fields in tables[PORT_MAP].items():
        own = tables[DSCP_MAP][fields["dscp_to_tc_map"]]
        planned = {dscp: own[str(dscp)] for dscp in plan.queues}
        for bound in (port, "global"):
            _bindings(bound, config.get(PORT_MAP, {}).get(bound, {}), fields, config, planned)
    for key, fields in tables[QUEUE].items():
        _queue(key, fields, config.get(QUEUE, {}))


def _bindings(
    port: str, there: dict[str, str], fields: dict[str, str], config: Config, planned: dict[int, str]
) -> None:
    for field, name in fields.items():
        other = plain(there.get(field, name))
        if other == name:
            continue
        if field == "dscp_to_tc_map":
            for dscp, queue in planned.items():
                theirs = _their_queue(dscp, other, plain(there.get("tc_to_queue_map", "")), config)
                if theirs is not None and theirs != queue:
                    raise OfframpError(
                        f"port {port}: DSCP {dscp} is in use: {DSCP_MAP} {other} puts it into queue {theirs}, the "
                        f"plan into {queue}"
                    )
        raise OfframpError(f"port {port}: {field} is {other} already; remove that from {PORT_MAP} first")


def _their_queue(dscp: int, dscp_map: str, tc_map: str, config: Config) -> str | None:
    traffic_class = config.get(DSCP_MAP, {}).get(dscp_map, {}).get(str(dscp))
    if traffic_class is None:
        return None
    return config.get(TC_MAP, {}).get(tc_map, {}).get(traffic_class, traffic_class)


def _queue(key: str, fields: dict[str, str], rows: dict[str, dict[str, str]]) -> None:
    port, _, index = key.partition("|")
    for other, there in rows.items():
        ports, _, indices = other.partition("|")
        first, _, last = indices.partition("-")
        if port in ports.split(",") and first.isdecimal() and int(first) <= int(index) <= int(last or first):
            for field, name in fields.items():
                if plain(there.get(field, name)) != name:
                    raise OfframpError(f"port {port}: queue {index} has {field} {plain(there[field])} already")
