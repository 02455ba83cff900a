# SPDX-License-Identifier: Apache-2.0
"""Rows of ``QUEUE`` and ``PORT_QOS_MAP`` that stand for several: ``Ethernet0,Ethernet4|3-4``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from offramp.hermod.deploy.sonic.tables import PORT_MAP, QUEUE, Config

Cell = tuple[str, int]
"""A port and a queue of it; on a switch with virtual output queues the port is ``HOST|ASIC|PORT``."""


def cells(key: str) -> list[Cell]:
    """The queues that a key of ``QUEUE`` stands for; none where it is no such key."""
    ports, _, indices = key.rpartition("|")
    where, bar, names = ports.rpartition("|")
    first, dash, last = indices.partition("-")
    if not first.isdecimal() or (dash and not last.isdecimal()):
        return []
    return [
        (f"{where}{bar}{port}", queue)
        for port in names.split(",")
        for queue in range(int(first), int(last or first) + 1)
    ]


def key_of(cell: Cell) -> str:
    """The key of one queue."""
    return f"{cell[0]}|{cell[1]}"


def holding(config: Config, field: str) -> dict[Cell, list[str]]:
    """Keys of the rows of ``QUEUE`` that give a queue the ``field``, by queue."""
    keys: dict[Cell, list[str]] = {}
    for key, fields in config.get(QUEUE, {}).items():
        for cell in cells(key) if field in fields else ():
            keys.setdefault(cell, []).append(key)
    return keys


def bound(config: Config, port: str) -> dict[str, tuple[str, str]]:
    """Fields of ``PORT_QOS_MAP`` that a port has by itself or in a list: the row's key and the value."""
    of_port = {}
    for key, fields in config.get(PORT_MAP, {}).items():
        if port in key.split(","):
            of_port.update({field: (key, value) for field, value in fields.items()})
    return of_port


def where(config: Config) -> str:
    """The prefix of a port in keys of ``QUEUE``: empty, or ``HOST|ASIC|`` with virtual output queues."""
    local: Any = config.get("DEVICE_METADATA", {}).get("localhost", {})
    voq = local.get("switch_type") == "voq"
    return f"{local.get('hostname', '')}|{local.get('asic_name', '')}|" if voq else ""


def references(config: Config, ending: str) -> Iterator[tuple[str, str]]:
    """Table and name of all maps that fields with this ending refer to, in any table: of ports, tunnels, the switch."""
    for rows in config.values():
        for fields in rows.values():
            for field, value in fields.items() if isinstance(fields, dict) else ():
                if isinstance(value, str) and field.endswith(ending):
                    start = field.removeprefix("decap_").removeprefix("encap_")
                    yield start.upper(), value
