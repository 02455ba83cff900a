# SPDX-License-Identifier: Apache-2.0
"""The state of a switch as commands of simple_switch_CLI: what bmv2's JSON has no place for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from offramp_p4.reference.entries import entry_keys, goes_into_json, key_text, ranked
from offramp_p4.state import ActionData, GroupAction, MemberAction

if TYPE_CHECKING:
    from offramp_p4.engines import AnySwitch
    from offramp_p4.state import ReplicationEngine, TableState

QUEUE_DEPTH: Final = 1_000_000
"""Queue depth with which bmv2 drops nothing."""


def commands(switch: AnySwitch, *, replication: bool = True) -> Iterator[str]:
    """Default actions other than the program's (p4c may have left a table out), registers, and some entries.

    With ``replication`` also multicast groups and mirror sessions, before queues that are deep enough.
    """
    if replication:
        yield f"set_queue_depth {QUEUE_DEPTH}"
    for table in switch.tables.values():
        if table.default_is_changed:
            data = " ".join(map(hex, table.default.args))
            yield f"table_set_default {table.name} {table.default.action} {data}".rstrip()
        if table.profile is None and not goes_into_json(table):
            yield from _entries(table)
    if replication:
        yield from _replication(switch.pre)
    yield from _profiles(switch)
    for name, register in switch.registers.items():
        for index, value in enumerate(register.values):
            if value:
                yield f"register_write {name} {index} {value & register.width.mask}"


def _entries(table: TableState) -> Iterator[str]:
    for entry, priority in ranked(table):
        assert isinstance(entry.action, ActionData)
        keys = " ".join(key_text(key) for key in entry_keys(table, entry))
        data = " ".join(map(hex, entry.action.args))
        words = f"table_add {table.name} {entry.action.action} {keys} => {data}".rstrip()
        yield f"{words} {priority}" if table.needs_priority else words


def _profiles(switch: AnySwitch) -> Iterator[str]:
    """Members and groups, whose handles bmv2 counts from 0, and the entries that use them."""
    for name, profile in switch.profiles.items():
        members = {member: handle for handle, member in enumerate(profile.members)}
        groups = {group: handle for handle, group in enumerate(profile.groups)}
        for action in profile.members.values():
            yield " ".join([f"act_prof_create_member {name} {action.action}", *map(hex, action.args)])
        for group, handle in groups.items():
            yield f"act_prof_create_group {name}"
            for member in profile.groups[group]:
                yield f"act_prof_add_member_to_group {name} {members[member]} {handle}"
        for table in profile.tables:
            for entry, priority in ranked(table):
                assert isinstance(entry.action, MemberAction | GroupAction)
                grouped = isinstance(entry.action, GroupAction)
                keys = " ".join(key_text(key) for key in entry_keys(table, entry))
                words = f"table_indirect_add{'_with_group' * grouped} {table.name} {keys} => "
                words += str((groups if grouped else members)[entry.action.id])
                yield f"{words} {priority}" if table.needs_priority else words


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
