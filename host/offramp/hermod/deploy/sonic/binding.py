# SPDX-License-Identifier: Apache-2.0
"""Maps of DSCPs and traffic classes beside those that ports have: copies of theirs with what the job needs changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from offramp.hermod.deploy.sonic.names import named
from offramp.hermod.deploy.sonic.surroundings import Surroundings
from offramp.hermod.deploy.sonic.tables import DSCP_MAP, PORT_MAP, REFERENCES, TC_MAP, Config, alike, other_name, plain
from offramp.hermod.dscp import CODES
from offramp.hermod.queues import MOST_QUEUES
from offramp_base.errors import OfframpError


def bind_maps(
    config: Config,
    there: Surroundings,
    ports: Sequence[str],
    trusted: Collection[str],
    name: str,
    classes: Mapping[int, int],
    default: int | None,
    queues: Mapping[int, int],
    kept: Collection[int],
) -> Config:
    """The maps, and the rows of ``PORT_QOS_MAP`` that refer to them.

    Args:
        config: without anything of ours.
        there: what it says.
        ports: all that get queues.
        trusted: those of the job.
        name: name of the objects.
        classes: traffic class by DSCP, of the DSCPs that are changed on the job's ports.
        default: class of all other DSCPs, on all ports; None: they stay as they are, and other ports too.
        queues: the classes' queues: class by queue.
        kept: DSCPs that stay as they are in any case.

    Raises:
        OfframpError: a row for several ports of which only some are concerned.
    """
    wanted: dict[tuple[str, str], tuple[str, dict[str, str]]] = {}
    for port in ports:
        theirs = there.dscp_map(port)
        base = {str(dscp): theirs.get(str(dscp), "0") for dscp in range(CODES)} if not theirs else dict(theirs)
        own = classes if port in trusted else {}
        new = {dscp: own.get(dscp, default) for dscp in range(CODES) if dscp not in kept}
        new = {dscp: one for dscp, one in new.items() if one is not None}
        if new:
            complete = base | {str(dscp): str(one) for dscp, one in new.items()}
            wanted[port, "dscp_to_tc_map"] = (name if port in trusted else other_name(name), complete)
        table = dict(there.tc_map(port)) or {str(one): str(one) for one in range(MOST_QUEUES)}
        changed = table | {str(one): str(queue) for queue, one in queues.items()}
        if changed != there.tc_map(port):
            wanted[port, "tc_to_queue_map"] = (name, changed)
    return _tables(config, there, wanted)


def _tables(
    config: Config, there: Surroundings, wanted: Mapping[tuple[str, str], tuple[str, dict[str, str]]]
) -> Config:
    tables: Config = {DSCP_MAP: {}, TC_MAP: {}, PORT_MAP: {}}
    for (port, field), (base, fields) in wanted.items():
        table = REFERENCES[field]
        key, reference = there.reference(port, field) or (port, None)
        _together(key, field, port, base, wanted)
        if reference is None and config.get(PORT_MAP, {}).get(key) == {}:
            raise OfframpError(f"{PORT_MAP} {key}: is empty, and could not be put back; remove it first")
        object_name = named(table, base, None if reference is None else plain(reference))
        tables[table][object_name] = fields
        like = "[" if reference is None and there.brackets else reference
        tables[PORT_MAP].setdefault(key, {})[field] = alike(like, table, object_name)
    return {table: rows for table, rows in tables.items() if rows}


def _together(
    key: str, field: str, port: str, base: str, wanted: Mapping[tuple[str, str], tuple[str, dict[str, str]]]
) -> None:
    for other in key.split(","):
        if other != port and wanted.get((other, field), ("",))[0] != base:
            raise OfframpError(
                f"{PORT_MAP} {key}: {port} would have another {field} than {other}; name all of its ports, or split it"
            )
