# SPDX-License-Identifier: Apache-2.0
"""Commands for tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from offramp_p4_tools.dropin.thrift.catalogue import InputError, TableInfo, match_key, shown
from offramp_p4_tools.dropin.thrift.commands.base import (
    CommandSession,
    action_of,
    colons,
    command,
    priority_of,
    show_data,
    split_key,
    values_of,
    whole,
)
from offramp_p4_tools.dropin.thrift.commands.profiles import act_prof_dump

_ACTION_TYPES: Final = {2: "member", 3: "group"}


@command(0, 0)
def show_tables(s: CommandSession, args: list[str]) -> None:
    """List tables."""
    del args
    for name in sorted(s.known.tables):
        s.say(s.known.tables[name])


@command(0, 0)
def show_actions(s: CommandSession, args: list[str]) -> None:
    """List actions."""
    del args
    for name in sorted(s.known.actions):
        s.say(s.known.actions[name])


@command(1, 1)
def table_show_actions(s: CommandSession, args: list[str]) -> None:
    """List the actions of a table."""
    for _, action in sorted(s.table(args[0]).actions.items()):
        s.say(action)


@command(1, 1)
def table_info(s: CommandSession, args: list[str]) -> None:
    """Show a table and its actions."""
    s.say(s.table(args[0]))
    s.say("*" * 80)
    table_show_actions(s, args)


@command(2)
def table_set_default(s: CommandSession, args: list[str]) -> None:
    """Set the action that a miss runs."""
    table = s.table(args[0])
    action = action_of(table.actions, args[1], f"Table {args[0]}")
    data = values_of(action, args[2:])
    s.say(f"Setting default action of {args[0]}")
    s.say(f"{'action:':20} {args[1]}")
    s.say(f"{'runtime data:':20} {colons(data)}")
    s.ask("bm_mt_set_default_action", table_name=table.name, action_name=action.name, action_data=data)


@command(1, 1)
def table_reset_default(s: CommandSession, args: list[str]) -> None:
    """Bring back the program's default."""
    s.ask("bm_mt_reset_default_entry", table_name=s.table(args[0]).name)


@command(1, 1)
def table_num_entries(s: CommandSession, args: list[str]) -> None:
    """Count entries."""
    s.say(s.ask("bm_mt_get_num_entries", table_name=s.table(args[0]).name))


@command(1, 1)
def table_clear(s: CommandSession, args: list[str]) -> None:
    """Remove all entries."""
    s.ask("bm_mt_clear_entries", table_name=s.table(args[0]).name, reset_default_entry=False)


@command(3)
def table_add(s: CommandSession, args: list[str]) -> None:
    """Add an entry: table, action, keys => parameters, priority."""
    table = s.table(args[0])
    action = action_of(table.actions, args[1], f"Table {args[0]}")
    words, options = priority_of(table, args[2:])
    keys, params = split_key(words)
    data, key = values_of(action, params), match_key(table, keys)
    s.say(f"Adding entry to {table.kind} match table {args[0]}")
    texts = (f"{kind.upper()}-{value}" for kind, value in (shown(p, ":") for p in key))
    s.say(f"{'match key:':20} " + "\t".join(texts))
    s.say(f"{'action:':20} {args[1]}")
    s.say(f"{'runtime data:':20} {colons(data)}")
    names = {"table_name": table.name, "action_name": action.name}
    handle = s.ask("bm_mt_add_entry", **names, match_key=key, action_data=data, options=options)
    s.say(f"Entry has been added with handle {handle}")


@command(3)
def table_modify(s: CommandSession, args: list[str]) -> None:
    """Give an entry another action: table, action, handle => parameters."""
    table = s.table(args[0])
    action = action_of(table.actions, args[1], f"Table {args[0]}")
    handle, words = whole(args[2], "entry handle"), [w for w in args[3:] if w != "=>"]
    data = values_of(action, words)
    s.say(f"Modifying entry {handle} for {table.kind} match table {args[0]}")
    names = {"table_name": table.name, "action_name": action.name}
    s.ask("bm_mt_modify_entry", **names, entry_handle=handle, action_data=data)


@command(2, 2)
def table_delete(s: CommandSession, args: list[str]) -> None:
    """Remove an entry."""
    table, handle = s.table(args[0]), whole(args[1], "entry handle")
    s.say(f"Deleting entry {handle} from {args[0]}")
    s.ask("bm_mt_delete_entry", table_name=table.name, entry_handle=handle)


@command(3, 3)
def table_set_timeout(s: CommandSession, args: list[str]) -> None:
    """Set the idle time-out of an entry, milliseconds."""
    table = s.table(args[0])
    if not table.has_timeouts:
        raise InputError(f"Table {args[0]} does not support entry timeouts")
    handle, timeout = whole(args[1], "entry handle"), whole(args[2], "timeout_ms")
    s.say(f"Setting a {timeout} ms timeout for entry {handle}")
    s.ask("bm_mt_set_entry_ttl", table_name=table.name, entry_handle=handle, timeout_ms=timeout)


def _showaction_of(s: CommandSession, entry: Mapping[str, Any]) -> None:
    kind = entry["action_type"]
    if kind in _ACTION_TYPES:
        handle = entry["mbr_handle"] if kind == 2 else entry["grp_handle"]
        s.say(f"Index: {_ACTION_TYPES[kind]}({handle})")
    elif kind == 1:
        show_data(s, entry["action_name"], entry.get("action_data", []))
    else:
        s.say("EMPTY")


def _show_entry(s: CommandSession, table: TableInfo, entry: Mapping[str, Any]) -> None:
    width = max(20, *(len(name) for name, _, _ in table.keys)) if table.keys else 20
    s.say(f"Dumping entry {entry['entry_handle']:#x}")
    s.say("Match key:")
    for param, (name, _, _) in zip(entry["match_key"], table.keys, strict=False):
        kind, value = shown(param)
        s.say(f"* {name:{width}}: {kind.upper():10}{value}")
    if entry.get("options", {}).get("priority", -1) >= 0:
        s.say(f"Priority: {entry['options']['priority']}")
    _showaction_of(s, entry["action_entry"])
    if "life" in entry:
        life = entry["life"]
        s.say(f"Life: {life['time_since_hit_ms']}ms since hit, timeout is {life['timeout_ms']}ms")


@command(2, 2)
def table_dump_entry(s: CommandSession, args: list[str]) -> None:
    """Show one entry."""
    table = s.table(args[0])
    _show_entry(s, table, s.ask("bm_mt_get_entry", table_name=table.name, entry_handle=whole(args[1], "entry handle")))


@command(1)
def table_dump_entry_from_key(s: CommandSession, args: list[str]) -> None:
    """Show the entry with a key."""
    table = s.table(args[0])
    words, options = priority_of(table, args[1:])
    key = match_key(table, words)
    _show_entry(s, table, s.ask("bm_mt_get_entry_from_key", table_name=table.name, match_key=key, options=options))


@command(1, 1)
def table_dump(s: CommandSession, args: list[str]) -> None:
    """Show all entries and the default."""
    table = s.table(args[0])
    s.say("==========\nTABLE ENTRIES")
    for entry in s.ask("bm_mt_get_entries", table_name=table.name):
        s.say("**********")
        _show_entry(s, table, entry)
    if table.profile is not None:
        act_prof_dump(s, [table.profile])
    s.say("==========\nDumping default entry")
    _showaction_of(s, s.ask("bm_mt_get_default_entry", table_name=table.name))
    s.say("==========")
