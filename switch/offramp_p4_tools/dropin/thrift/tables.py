# SPDX-License-Identifier: Apache-2.0
"""Tables and action profiles as bmv2's run-time services see them: entries by handle, smaller priorities win."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, Final

from offramp_p4.state import ActionData, GroupAction, MemberAction, TableEntry
from offramp_p4.state.arrays import MeterCell
from offramp_p4.state.match import StateError
from offramp_p4_tools.dropin.thrift.keys import match_param, matches
from offramp_p4_tools.dropin.thrift.services import RequestRefused, TableCode

if TYPE_CHECKING:
    from offramp_p4.engines import AnySwitch
    from offramp_p4.state import ActionProfileState, TableState

_LOWEST: Final = (1 << 24) - 1
"""The sum of an entry's priority and its bmv2 priority, of which the lowest wins, as in PI."""
_CODES: Final = {
    "already_exists": TableCode.DUPLICATE,
    "exhausted": TableCode.FULL,
    "not_found": TableCode.HANDLE,
    "permission_denied": TableCode.IMMUTABLE,
}


class Handles:
    """Numbers for the entries of one table, kept as long as an entry is there."""

    def __init__(self) -> None:
        self._next = count()
        self._numbers: dict[int, int] = {}
        self._entries: dict[int, TableEntry] = {}

    def number(self, entry: TableEntry) -> int:
        """The handle of an entry."""
        if id(entry) not in self._numbers:
            handle = next(self._next)
            self._numbers[id(entry)], self._entries[handle] = handle, entry
        return self._numbers[id(entry)]

    def get(self, handle: int, table: TableState) -> TableEntry:
        """The entry of a handle.

        Raises:
            Refused: there is no such entry.
        """
        entry = self._entries.get(handle)
        if entry is None or table.get(entry.keys, entry.priority) is not entry:
            raise RequestRefused(TableCode.HANDLE, f"table {table.name}: no entry {handle}")
        return entry


class TableMethods:
    """The methods of tables and action profiles."""

    def __init__(self, switch: AnySwitch) -> None:
        self.switch = switch
        self._handles: dict[str, Handles] = {}

    def handle(self, table: str, entry: TableEntry) -> int:
        """The handle of an entry that is in a table."""
        return self._of(self._table(table)).number(entry)

    def _table(self, name: str) -> TableState:
        table = self.switch.tables.get(name)
        if table is None:
            raise RequestRefused(TableCode.TABLE, f"no table {name}")
        for entry in table.entries:
            self._of(table).number(entry)
        return table

    def _direct(self, name: str) -> TableState:
        """A table whose entries have actions."""
        table = self._table(name)
        if table.profile is not None:
            raise RequestRefused(TableCode.TYPE, f"table {name} has an action profile")
        return table

    def _indirect(self, name: str, *, selector: bool = False) -> TableState:
        """A table whose entries have members; with ``selector`` one whose entries may have groups."""
        table = self._table(name)
        if table.profile is None or (selector and not table.profile.selector):
            raise RequestRefused(TableCode.TYPE, f"table {name} has no action {'selector' if selector else 'profile'}")
        return table

    def _of(self, table: TableState) -> Handles:
        return self._handles.setdefault(table.name, Handles())

    def _entry(self, table: str | TableState, entry_handle: int) -> tuple[TableState, TableEntry]:
        table = self._table(table) if isinstance(table, str) else table
        return table, self._of(table).get(entry_handle, table)

    def _changed_entry(self, table: TableState, entry_handle: int) -> TableEntry:
        """An entry that is to change; that the program's entries do not comes before the handle, as in bmv2."""
        if table.table.const_entries:
            raise RequestRefused(TableCode.IMMUTABLE, f"the entries of table {table.name} are const")
        return self._of(table).get(entry_handle, table)

    # --- entries ------------------------------------------------------------------------------------------------

    def bm_mt_get_num_entries(self, table_name: str) -> int:
        """Number of entries."""
        return len(self._table(table_name))

    def bm_mt_clear_entries(self, table_name: str, reset_default_entry: bool) -> None:
        """Remove all entries."""
        table = self._table(table_name)
        table.clear()
        if reset_default_entry:
            table.set_default(None)

    def bm_mt_add_entry(
        self, table_name: str, match_key: list[Any], action_name: str, action_data: list[bytes], options: Any = None
    ) -> int:
        """Add an entry with an action; returns its handle."""
        table = self._direct(table_name)
        return self._add(table, match_key, _action(table, action_name, action_data), options)

    def bm_mt_indirect_add_entry(
        self, table_name: str, match_key: list[Any], mbr_handle: int, options: Any = None
    ) -> int:
        """Add an entry with a member; returns its handle."""
        table = self._indirect(table_name)
        return self._add(table, match_key, _member(table, mbr_handle), options)

    def bm_mt_indirect_ws_add_entry(
        self, table_name: str, match_key: list[Any], grp_handle: int, options: Any = None
    ) -> int:
        """Add an entry with a group; returns its handle."""
        table = self._indirect(table_name, selector=True)
        return self._add(table, match_key, _filled_group(table, grp_handle), options)

    def _add(
        self, table: TableState, match_key: list[Any], action: ActionData | MemberAction | GroupAction, options: Any
    ) -> int:
        if not table.kinds:
            raise RequestRefused(TableCode.NO_KEY, f"table {table.name} has no key: only its default action can be set")
        entry = TableEntry(matches(table, match_key), action, _priority(table, options))
        with _coded():
            table.insert(entry)
        return self._of(table).number(entry)

    def bm_mt_modify_entry(
        self, table_name: str, entry_handle: int, action_name: str, action_data: list[bytes]
    ) -> None:
        """Give an entry another action."""
        table = self._direct(table_name)
        self._modify(table, entry_handle, _action(table, action_name, action_data))

    def bm_mt_indirect_modify_entry(self, table_name: str, entry_handle: int, mbr_handle: int) -> None:
        """Give an entry another member."""
        table = self._indirect(table_name)
        self._modify(table, entry_handle, _member(table, mbr_handle))

    def bm_mt_indirect_ws_modify_entry(self, table_name: str, entry_handle: int, grp_handle: int) -> None:
        """Give an entry another group."""
        table = self._indirect(table_name, selector=True)
        self._modify(table, entry_handle, _filled_group(table, grp_handle))

    def _modify(self, table: TableState, entry_handle: int, action: ActionData | MemberAction | GroupAction) -> None:
        entry = self._changed_entry(table, entry_handle)
        with _coded():
            table.modify(TableEntry(entry.keys, action, entry.priority, idle_timeout_ns=entry.idle_timeout_ns))

    def bm_mt_delete_entry(self, table_name: str, entry_handle: int) -> None:
        """Remove an entry of a table with actions."""
        self._delete(self._direct(table_name), entry_handle)

    def bm_mt_indirect_delete_entry(self, table_name: str, entry_handle: int) -> None:
        """Remove an entry of a table with members."""
        self._delete(self._indirect(table_name), entry_handle)

    def _delete(self, table: TableState, entry_handle: int) -> None:
        entry = self._changed_entry(table, entry_handle)
        with _coded():
            table.delete(entry.keys, entry.priority)

    def bm_mt_set_entry_ttl(self, table_name: str, entry_handle: int, timeout_ms: int) -> None:
        """Set the time without hits after which an entry is reported."""
        table = self._table(table_name)
        if not table.notes_hits:
            raise RequestRefused(TableCode.AGEING, f"table {table.name} has no support_timeout")
        _, entry = self._entry(table, entry_handle)
        entry.idle_timeout_ns = max(0, timeout_ms) * 1_000_000

    bm_mt_indirect_set_entry_ttl = bm_mt_set_entry_ttl

    def bm_mt_get_entries(self, table_name: str) -> list[Any]:
        """All entries."""
        table = self._table(table_name)
        return [self._shown(table, entry) for entry in table.entries]

    def bm_mt_get_entry(self, table_name: str, entry_handle: int) -> Any:
        """One entry."""
        return self._shown(*self._entry(table_name, entry_handle))

    def bm_mt_get_entry_from_key(self, table_name: str, match_key: list[Any], options: Any = None) -> Any:
        """The entry with a key; without a key the default entry."""
        table = self._table(table_name)
        if not match_key:
            default = self.bm_mt_get_default_entry(table_name)
            return {"match_key": [], "options": None, "entry_handle": 0, "action_entry": default, "life": None}
        with _coded():
            entry = table.get(matches(table, match_key), _priority(table, options))
        if entry is None:
            raise RequestRefused(TableCode.KEY, f"table {table.name}: no entry with this key")
        return self._shown(table, entry)

    def _shown(self, table: TableState, entry: TableEntry) -> dict[str, Any]:
        life = {"timeout_ms": entry.idle_timeout_ns // 1_000_000, "time_since_hit_ms": 0}
        return {
            "match_key": [
                match_param(k, kind, w) for k, kind, w in zip(entry.keys, table.kinds, table.widths, strict=True)
            ],
            "options": {"priority": _LOWEST - entry.priority if table.needs_priority else -1},
            "entry_handle": self._of(table).number(entry),
            "action_entry": _action_entry(entry.action),
            "life": life if entry.idle_timeout_ns else None,
        }

    # --- default actions ----------------------------------------------------------------------------------------

    def bm_mt_set_default_action(self, table_name: str, action_name: str, action_data: list[bytes]) -> None:
        """Set the action that a miss runs."""
        table = self._direct(table_name)
        with _coded({"permission_denied": TableCode.DEFAULT_CONST}):
            table.set_default(_action(table, action_name, action_data))

    def bm_mt_reset_default_entry(self, table_name: str) -> None:
        """The default action of the program again."""
        self._direct(table_name).set_default(None)

    def bm_mt_indirect_reset_default_entry(self, table_name: str) -> None:
        """The default action of the program again, of a table with members."""
        self._indirect(table_name).set_default(None)

    def bm_mt_get_default_entry(self, table_name: str) -> Any:
        """The action that a miss runs."""
        table = self._table(table_name)
        if table.profile is not None and not table.default_is_changed:
            return {"action_type": 0}
        return _action_entry(table.default)

    # --- counters and meters of entries ---------------------------------------------------------------------------

    def bm_mt_read_counter(self, table_name: str, entry_handle: int) -> Any:
        """The direct counter of an entry."""
        _, entry = self._entry(self._with(table_name, "counters", TableCode.COUNTERS), entry_handle)
        return {"bytes": entry.bytes, "packets": entry.packets}

    def bm_mt_write_counter(self, table_name: str, entry_handle: int, value: Any) -> None:
        """Set the counter of an entry."""
        _, entry = self._entry(self._with(table_name, "counters", TableCode.COUNTERS), entry_handle)
        entry.bytes, entry.packets = value.get("bytes", 0), value.get("packets", 0)

    def bm_mt_reset_counters(self, table_name: str) -> None:
        """Set those of all entries to 0."""
        for entry in self._with(table_name, "counters", TableCode.COUNTERS).entries:
            entry.bytes = entry.packets = 0

    def bm_mt_set_meter_rates(self, table_name: str, entry_handle: int, rates: list[Any]) -> None:
        """Configure the direct meter of an entry."""
        _, entry = self._entry(self._with(table_name, "meters", TableCode.METERS), entry_handle)
        limits = read_rates(rates, TableCode.ERROR)
        entry.meter = MeterCell()
        entry.meter.configure(limits, self.switch.now_us)

    def bm_mt_get_meter_rates(self, table_name: str, entry_handle: int) -> list[Any]:
        """The rates of the direct meter of an entry."""
        _, entry = self._entry(self._with(table_name, "meters", TableCode.METERS), entry_handle)
        return [] if entry.meter is None else shown_rates(entry.meter)

    def _with(self, table_name: str, what: str, code: int) -> TableState:
        """A table that has direct ``what``; this comes before the handle is looked up, as in bmv2."""
        table = self._table(table_name)
        if what not in table.table.properties:
            raise RequestRefused(code, f"table {table.name} has no direct {what}")
        return table

    # --- action profiles ------------------------------------------------------------------------------------------

    def _profile(self, name: str) -> ActionProfileState:
        profile = self.switch.profiles.get(name)
        if profile is None:
            raise RequestRefused(TableCode.PROFILE, f"no action profile {name}")
        return profile

    def bm_mt_act_prof_add_member(self, act_prof_name: str, action_name: str, action_data: list[bytes]) -> int:
        """Add a member; its handle."""
        profile = self._profile(act_prof_name)
        handle = next(i for i in count() if i not in profile.members)
        with _coded():
            profile.insert_member(handle, self._member_action(profile, action_name, action_data))
        return handle

    def bm_mt_act_prof_modify_member(
        self, act_prof_name: str, mbr_handle: int, action_name: str, action_data: list[bytes]
    ) -> None:
        """Give a member another action."""
        profile = self._profile(act_prof_name)
        with _coded({"not_found": TableCode.MEMBER}):
            profile.modify_member(mbr_handle, self._member_action(profile, action_name, action_data))

    def _member_action(self, profile: ActionProfileState, name: str, data: list[bytes]) -> ActionData:
        return _action(profile.tables[0], name, data) if profile.tables else ActionData(name, tuple(map(_number, data)))

    def bm_mt_act_prof_delete_member(self, act_prof_name: str, mbr_handle: int) -> None:
        """Remove a member that nothing uses."""
        profile = self._profile(act_prof_name)
        if any(entry.action == MemberAction(mbr_handle) for table in profile.tables for entry in table.entries):
            raise RequestRefused(TableCode.MEMBER_USED, f"member {mbr_handle} is in use")
        with _coded({"not_found": TableCode.MEMBER, "invalid": TableCode.MEMBER_USED}):
            profile.delete_member(mbr_handle)

    def bm_mt_act_prof_get_members(self, act_prof_name: str) -> list[Any]:
        """All members."""
        profile = self._profile(act_prof_name)
        return [self._shown_member(profile, handle) for handle in profile.members]

    def bm_mt_act_prof_get_member(self, act_prof_name: str, mbr_handle: int) -> Any:
        """One member."""
        return self._shown_member(self._profile(act_prof_name), mbr_handle)

    def _shown_member(self, profile: ActionProfileState, handle: int) -> dict[str, Any]:
        if handle not in profile.members:
            raise RequestRefused(TableCode.MEMBER, f"no member {handle}")
        action = profile.members[handle]
        return {"mbr_handle": handle, "action_name": action.action, "action_data": _data(action)}

    def _selector(self, name: str) -> ActionProfileState:
        profile = self._profile(name)
        if not profile.selector:
            raise RequestRefused(TableCode.NO_SELECTION, f"action profile {name} has no groups")
        return profile

    def _group(self, name: str, grp_handle: int) -> tuple[ActionProfileState, tuple[int, ...]]:
        profile = self._selector(name)
        if grp_handle not in profile.groups:
            raise RequestRefused(TableCode.GROUP, f"no group {grp_handle}")
        return profile, profile.groups[grp_handle]

    def bm_mt_act_prof_create_group(self, act_prof_name: str) -> int:
        """Add an empty group; its handle."""
        profile = self._selector(act_prof_name)
        handle = next(i for i in count() if i not in profile.groups)
        profile.insert_group(handle, ())
        return handle

    def bm_mt_act_prof_delete_group(self, act_prof_name: str, grp_handle: int) -> None:
        """Remove a group that nothing uses."""
        profile, _ = self._group(act_prof_name, grp_handle)
        if any(entry.action == GroupAction(grp_handle) for table in profile.tables for entry in table.entries):
            raise RequestRefused(TableCode.GROUP_USED, f"group {grp_handle} is in use")
        profile.delete_group(grp_handle)

    def bm_mt_act_prof_add_member_to_group(self, act_prof_name: str, mbr_handle: int, grp_handle: int) -> None:
        """Add a member to a group."""
        profile, members = self._group(act_prof_name, grp_handle)
        if mbr_handle in members:
            raise RequestRefused(TableCode.IN_GROUP, f"member {mbr_handle} is in group {grp_handle}")
        with _coded({"not_found": TableCode.MEMBER}):
            profile.modify_group(grp_handle, (*members, mbr_handle))

    def bm_mt_act_prof_remove_member_from_group(self, act_prof_name: str, mbr_handle: int, grp_handle: int) -> None:
        """Take a member out of a group."""
        profile, members = self._group(act_prof_name, grp_handle)
        if mbr_handle not in members:
            raise RequestRefused(TableCode.NOT_IN_GROUP, f"member {mbr_handle} is not in group {grp_handle}")
        profile.modify_group(grp_handle, tuple(m for m in members if m != mbr_handle))

    def bm_mt_act_prof_get_groups(self, act_prof_name: str) -> list[Any]:
        """All groups."""
        groups = self._selector(act_prof_name).groups
        return [{"grp_handle": handle, "mbr_handles": list(members)} for handle, members in groups.items()]

    def bm_mt_act_prof_get_group(self, act_prof_name: str, grp_handle: int) -> Any:
        """One group."""
        _, members = self._group(act_prof_name, grp_handle)
        return {"grp_handle": grp_handle, "mbr_handles": list(members)}


class _coded:  # noqa: N801 - used as a statement
    """Context that refuses what the state refuses with bmv2's code for it."""

    def __init__(self, codes: dict[str, int] | None = None) -> None:
        self._codes = {**_CODES, **(codes or {})}

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, StateError):
            raise RequestRefused(self._codes.get(error.kind, TableCode.ERROR), str(error)) from None


def _action_entry(action: ActionData | MemberAction | GroupAction) -> dict[str, Any]:
    if isinstance(action, MemberAction):
        return {"action_type": 2, "mbr_handle": action.id}
    if isinstance(action, GroupAction):
        return {"action_type": 3, "grp_handle": action.id}
    return {"action_type": 1, "action_name": action.action, "action_data": _data(action)}


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _action(table: TableState, name: str, data: list[bytes]) -> ActionData:
    if name not in table.actions and name != table.table.default.action.action.name:
        raise RequestRefused(TableCode.ACTION, f"table {table.name} has no action {name}")
    choice = table.actions.get(name, table.table.default.action)
    if len(choice.data_params) != len(data):
        raise RequestRefused(TableCode.DATA, f"action {name} takes {len(choice.data_params)} values")
    return ActionData(name, tuple(map(_number, data)))


def _member(table: TableState, handle: int) -> MemberAction:
    if table.profile is None or handle not in table.profile.members:
        raise RequestRefused(TableCode.MEMBER, f"table {table.name}: no member {handle}")
    return MemberAction(handle)


def _filled_group(table: TableState, handle: int) -> GroupAction:
    if table.profile is None or handle not in table.profile.groups:
        raise RequestRefused(TableCode.GROUP, f"table {table.name}: no group {handle}")
    if not table.profile.groups[handle]:
        raise RequestRefused(TableCode.EMPTY_GROUP, f"group {handle} has no members")
    return GroupAction(handle)


def _data(action: ActionData) -> list[bytes]:
    """The values of an action, each in as few octets as it needs, which is how bmv2 gives them back."""
    return [value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big") for value in action.args]


def _priority(table: TableState, options: Any) -> int:
    given = (options or {}).get("priority") or 0
    if not 0 <= given <= _LOWEST:
        raise RequestRefused(TableCode.KEY, f"priority {given}: expected 0 to {_LOWEST}")
    return _LOWEST - given if table.needs_priority else 0


def read_rates(rates: list[Any], code: int = 3) -> tuple[tuple[float, int], ...]:
    """Rates of a meter in units per second, committed first.

    Raises:
        RequestRefused: with ``code``; there are not two, or they go down.
    """
    out = tuple((rate.get("units_per_micros", 0.0) * 1e6, rate.get("burst_size", 0)) for rate in rates)
    if len(out) != 2 or out[0][0] > out[1][0] or any(not 0 <= rate < 1e15 or burst < 0 for rate, burst in out):
        raise RequestRefused(code, "a meter takes two rates, the committed one not above the peak")
    return out


def shown_rates(cell: MeterCell) -> list[Any]:
    """The rates of a meter as bmv2 has them."""
    return [{"units_per_micros": rate / 1e6, "burst_size": burst} for rate, burst in cell.rates]
