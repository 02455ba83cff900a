"""The state of a switch as commands of simple_switch_CLI."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from offramp.errors import OfframpError
from offramp_sim.p4.state import ActionData, Any, Exact, Lpm, Match, Optional, Range, TableState, Ternary

if TYPE_CHECKING:
    from offramp_sim.p4.state import ReplicationEngine
    from offramp_sim.p4.switch import Switch

_LAST: Final = 1_000_000  # bmv2's smallest number wins


def commands(switch: Switch) -> Iterator[str]:
    """What brings bmv2, with the same program, to the state of ``switch``."""
    yield "set_queue_depth 100000"  # so that nothing is lost for lack of room
    for table in switch.tables.values():
        yield from _table(table)
    yield from _replication(switch.pre)


def _table(table: TableState) -> Iterator[str]:
    if not table.table.const_default:
        yield f"table_set_default {table.name} {table.default.action} {_data(table.default)}".rstrip()
    for entry in table.entries:
        if entry.const:
            continue
        if not isinstance(entry.action, ActionData):
            raise OfframpError(f"table {table.name}: action profiles are not carried over to bmv2")
        keys = " ".join(map(_match, entry.keys, table.kinds, table.widths))
        priority = f" {_LAST - entry.priority}" if table.needs_priority else ""
        yield f"table_add {table.name} {entry.action.action} {keys} => {_data(entry.action)}{priority}"


def _data(action: ActionData) -> str:
    return " ".join(map(hex, action.args))


def _match(match: Match, kind: str, width: int) -> str:
    top = (1 << width) - 1
    if isinstance(match, Any):
        return {"lpm": "0/0", "range": f"0->{top:#x}"}.get(kind, "0&&&0")
    if isinstance(match, Exact):
        return hex(match.value)
    if isinstance(match, Lpm):
        return f"{match.value:#x}/{match.prefix_len}"
    if isinstance(match, Ternary):
        return f"{match.value:#x}&&&{match.mask:#x}"
    if isinstance(match, Range):
        return f"{match.low:#x}->{match.high:#x}"
    assert isinstance(match, Optional)
    return f"{match.value:#x}&&&{top:#x}"


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
