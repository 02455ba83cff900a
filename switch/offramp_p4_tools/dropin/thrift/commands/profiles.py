# SPDX-License-Identifier: Apache-2.0
"""Commands for action profiles."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from offramp_p4_tools.dropin.thrift.catalogue import InputError, find, match_key
from offramp_p4_tools.dropin.thrift.commands.base import (
    COMMANDS,
    CommandSession,
    action_of,
    command,
    priority_of,
    show_data,
    split_key,
    values_of,
    whole,
)


def _profile(s: CommandSession, name: str) -> str:
    return find({n: n for n in s.known.profiles}, name, "action profile")


@command(2)
def act_prof_create_member(s: CommandSession, args: list[str]) -> None:
    """Add a member."""
    profile = _profile(s, args[0])
    action = action_of(s.known.profiles[profile], args[1], f"Action profile '{args[0]}'")
    data = values_of(action, args[2:])
    handle = s.ask("bm_mt_act_prof_add_member", act_prof_name=profile, action_name=action.name, action_data=data)
    s.say(f"Member has been created with handle {handle}")


@command(3)
def act_prof_modify_member(s: CommandSession, args: list[str]) -> None:
    """Give a member another action: profile, action, handle, parameters."""
    profile = _profile(s, args[0])
    action = action_of(s.known.profiles[profile], args[1], f"Action profile '{args[0]}'")
    names = {"act_prof_name": profile, "action_name": action.name}
    handle = whole(args[2], "member handle")
    s.ask("bm_mt_act_prof_modify_member", **names, mbr_handle=handle, action_data=values_of(action, args[3:]))


@command(2, 2)
def act_prof_delete_member(s: CommandSession, args: list[str]) -> None:
    """Remove a member."""
    s.ask(
        "bm_mt_act_prof_delete_member", act_prof_name=_profile(s, args[0]), mbr_handle=whole(args[1], "member handle")
    )


@command(1, 1)
def act_prof_create_group(s: CommandSession, args: list[str]) -> None:
    """Add a group."""
    handle = s.ask("bm_mt_act_prof_create_group", act_prof_name=_profile(s, args[0]))
    s.say(f"Group has been created with handle {handle}")


@command(2, 2)
def act_prof_delete_group(s: CommandSession, args: list[str]) -> None:
    """Remove a group."""
    s.ask("bm_mt_act_prof_delete_group", act_prof_name=_profile(s, args[0]), grp_handle=whole(args[1], "group handle"))


def _in_group(s: CommandSession, args: list[str], method: str) -> None:
    member, group = whole(args[1], "member handle"), whole(args[2], "group handle")
    s.ask(method, act_prof_name=_profile(s, args[0]), mbr_handle=member, grp_handle=group)


@command(3, 3)
def act_prof_add_member_to_group(s: CommandSession, args: list[str]) -> None:
    """Put a member into a group."""
    _in_group(s, args, "bm_mt_act_prof_add_member_to_group")


@command(3, 3)
def act_prof_remove_member_from_group(s: CommandSession, args: list[str]) -> None:
    """Take a member out of a group."""
    _in_group(s, args, "bm_mt_act_prof_remove_member_from_group")


@command(1, 1)
def act_prof_dump(s: CommandSession, args: list[str]) -> None:
    """Show members and groups."""
    profile = _profile(s, args[0])
    s.say("==========\nMEMBERS")
    for member in s.ask("bm_mt_act_prof_get_members", act_prof_name=profile):
        s.say("**********")
        _show_member(s, member)
    if any(t.type == "indirect_ws" and t.profile == profile for t in s.known.tables.values()):
        s.say("==========\nGROUPS")
        for group in s.ask("bm_mt_act_prof_get_groups", act_prof_name=profile):
            s.say("**********")
            _show_group(s, group)


def _show_member(s: CommandSession, member: Mapping[str, Any]) -> None:
    s.say(f"Dumping member {member['mbr_handle']}")
    show_data(s, member["action_name"], member.get("action_data", []))


def _show_group(s: CommandSession, group: Mapping[str, Any]) -> None:
    s.say(f"Dumping group {group['grp_handle']}")
    s.say(f"Members: [{', '.join(map(str, group.get('mbr_handles', [])))}]")


@command(2, 2)
def act_prof_dump_member(s: CommandSession, args: list[str]) -> None:
    """Show one member."""
    profile, handle = _profile(s, args[0]), whole(args[1], "member handle")
    _show_member(s, s.ask("bm_mt_act_prof_get_member", act_prof_name=profile, mbr_handle=handle))


@command(2, 2)
def act_prof_dump_group(s: CommandSession, args: list[str]) -> None:
    """Show one group."""
    profile, handle = _profile(s, args[0]), whole(args[1], "group handle")
    _show_group(s, s.ask("bm_mt_act_prof_get_group", act_prof_name=profile, grp_handle=handle))


def _indirect(s: CommandSession, args: list[str], method: str, handle: str) -> None:
    table = s.table(args[0])
    words, options = priority_of(table, args[1:])
    keys, rest = split_key(words)
    if len(rest) != 1:
        raise InputError("Invalid format, could not find group or member handle after =>")
    key, number = match_key(table, keys), whole(rest[0], "handle")
    s.say(f"Adding entry to indirect match table {table.name}")
    entry = s.ask(method, table_name=table.name, match_key=key, options=options, **{handle: number})
    s.say(f"Entry has been added with handle {entry}")


@command(2)
def table_indirect_add(s: CommandSession, args: list[str]) -> None:
    """Add an entry with a member."""
    _indirect(s, args, "bm_mt_indirect_add_entry", "mbr_handle")


@command(2)
def table_indirect_add_with_group(s: CommandSession, args: list[str]) -> None:
    """Add an entry with a group."""
    _indirect(s, args, "bm_mt_indirect_ws_add_entry", "grp_handle")


@command(2, 2)
def table_indirect_delete(s: CommandSession, args: list[str]) -> None:
    """Remove an entry."""
    handle = whole(args[1], "entry handle")
    s.ask("bm_mt_indirect_delete_entry", table_name=s.table(args[0]).name, entry_handle=handle)


@command(2, 2)
def table_indirect_set_default(s: CommandSession, args: list[str]) -> None:
    """Have a miss run a member."""
    handle = whole(args[1], "handle")
    s.ask("bm_mt_indirect_set_default_member", table_name=s.table(args[0]).name, mbr_handle=handle)


@command(2, 2)
def table_indirect_set_default_with_group(s: CommandSession, args: list[str]) -> None:
    """Have a miss run a group."""
    handle = whole(args[1], "handle")
    s.ask("bm_mt_indirect_ws_set_default_group", table_name=s.table(args[0]).name, grp_handle=handle)


@command(1, 1)
def table_indirect_reset_default(s: CommandSession, args: list[str]) -> None:
    """Bring back the program's default."""
    s.ask("bm_mt_indirect_reset_default_entry", table_name=s.table(args[0]).name)


def _of_table(name: str, substitute: str) -> None:
    """Register a command that names a table in place of its action profile, as bmv2's older scripts do."""
    modifies = not name.startswith("table_dump")

    @command(1, name=name)
    def run(s: CommandSession, args: list[str]) -> None:
        table = s.table(args[0])
        if table.profile is None or ("group" in name and table.type != "indirect_ws"):
            raise InputError(f"Cannot run this command for table {args[0]} of type {table.type}")
        if modifies:
            if sum(t.profile == table.profile for t in s.known.tables.values()) > 1:
                raise InputError("Legacy command does not work with shared action profiles")
            sys.stderr.write(f"This is a deprecated command, use '{substitute}' instead\n")
        COMMANDS[substitute](s, [table.profile, *args[1:]])


for _verb in ("create_member", "modify_member", "delete_member", "create_group", "delete_group"):
    _of_table(f"table_indirect_{_verb}", f"act_prof_{_verb}")
for _verb in ("add_member_to_group", "remove_member_from_group"):
    _of_table(f"table_indirect_{_verb}", f"act_prof_{_verb}")
for _verb in ("dump_member", "dump_group"):
    _of_table(f"table_{_verb}", f"act_prof_{_verb}")
