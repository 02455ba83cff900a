# SPDX-License-Identifier: Apache-2.0
"""The state of a switch as commands of simple_switch_CLI: what bmv2's JSON has no place for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from offramp_p4.engines import AnySwitch
    from offramp_p4.state import ReplicationEngine

QUEUE_DEPTH: Final = 1_000_000
"""Queue depth with which bmv2 drops nothing."""


def commands(switch: AnySwitch) -> Iterator[str]:
    """Default actions other than the program's (p4c may have left a table out), replication and registers."""
    yield f"set_queue_depth {QUEUE_DEPTH}"
    for table in switch.tables.values():
        if table.default_is_changed:
            data = " ".join(map(hex, table.default.args))
            yield f"table_set_default {table.name} {table.default.action} {data}".rstrip()
    yield from _replication(switch.pre)
    for name, register in switch.registers.items():
        for index, value in enumerate(register.values):
            if value:
                yield f"register_write {name} {index} {value & register.width.mask}"


def _replication(pre: ReplicationEngine) -> Iterator[str]:
    nodes = 0
    groups = dict(pre.multicast)
    sessions = {}
    for session, config in pre.clones.items():
        sessions[session] = max((*groups, 0x8000)) + 1  # a group of its own, which keeps the replication ids
        groups[sessions[session]] = config.replicas
    for group, replicas in groups.items():
        yield f"mc_mgrp_create {group}"
        for replica in replicas:
            yield f"mc_node_create {replica.instance} {replica.port}"
            yield f"mc_node_associate {group} {nodes}"
            nodes += 1
    for session, group in sessions.items():
        yield f"mirroring_add_mc {session} {group}"
