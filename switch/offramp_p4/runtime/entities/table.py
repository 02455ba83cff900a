# SPDX-License-Identifier: Apache-2.0
"""One table between P4Runtime messages and the switch's state (section 9.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from offramp_base.p4rt.schema import config, v1
from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.runtime.entities.base import invalid
from offramp_p4.runtime.entities.matching import ActionCodec, CodecOf, KeyCodec, ScopedActions
from offramp_p4.runtime.entities.meters import colour_counts, meter_config
from offramp_p4.runtime.entities.selectors import ActionSelector
from offramp_p4.state import ActionData, GroupAction, MemberAction, TableEntry, TableState

Action = ActionData | MemberAction | GroupAction


class P4RuntimeTable:
    """One table as the control plane sees it."""

    def __init__(
        self,
        info: Any,
        state: TableState,
        actions: ActionCodec,
        p4info: Any,
        codec_of: CodecOf,
        clock: Callable[[], int],
        selector: ActionSelector | None = None,
    ) -> None:
        self.info = info
        self.state = state
        self.id = info.preamble.id
        self.what = f"table {info.preamble.name}"
        self.keys = KeyCodec(info.match_fields, self.what, codec_of)
        self.codec = actions
        self.actions = ScopedActions(info, actions, self.what)
        self.selector = selector
        self.clock = clock
        resources = set(info.direct_resource_ids)
        self.has_counter = any(c.preamble.id in resources for c in p4info.direct_counters)
        meters = [m for m in p4info.direct_meters if m.preamble.id in resources]
        self.has_meter = bool(meters)
        self.meter_type = meters[0].spec.type if meters else config.MeterSpec.TWO_RATE_THREE_COLOR
        self.has_timeout = info.idle_timeout_behavior != config.Table.NO_TIMEOUT

    @property
    def takes_batches(self) -> bool:
        """Whether entries have nothing but exact and lpm keys and an action of their own."""
        plain = not self.info.implementation_id and not self.has_timeout
        return plain and bool(self.state.kinds) and set(self.state.kinds) <= {"exact", "lpm"}

    def priority(self, entry: Any) -> int:
        """The priority of an entry, checked against the match kinds."""
        if self.keys.needs_priority and entry.priority <= 0:
            raise invalid(f"{self.what}: priority must be above 0, got {entry.priority}")
        if not self.keys.needs_priority and entry.priority:
            raise invalid(f"{self.what}: exact and lpm entries have priority 0, got {entry.priority}")
        return int(entry.priority)

    def find(self, entry: Any) -> TableEntry:
        """The entry with the match and priority of a message, or the default entry.

        Raises:
            RpcError: NOT_FOUND.
        """
        if entry.is_default_action:
            self.check_default(entry)
            return self.state.default_entry
        match = self.state.get(self.keys.decode(entry.match), self.priority(entry))
        if match is None:
            raise RpcError(Code.NOT_FOUND, f"{self.what}: no entry with this match")
        return match

    def check_default(self, entry: Any) -> None:
        """Check that a message for the default entry has no key and no time-out.

        Raises:
            RpcError: it has one of them.
        """
        if entry.match or entry.priority:
            raise invalid(f"{self.what}: the default entry has neither match nor priority")
        if entry.idle_timeout_ns or entry.HasField("time_since_last_hit"):
            raise invalid(f"{self.what}: the default entry has no idle time-out")

    # --- actions -------------------------------------------------------------------------------------------

    def claim_action(self, action: Any) -> Action:
        """The action of an entry; a one-shot action set is put into the selector.

        Raises:
            RpcError, StateError: nothing has changed.
        """
        kind = action.WhichOneof("type")
        if (kind == "action") == bool(self.info.implementation_id):
            expected = "a member, group or action set" if self.info.implementation_id else "an action"
            raise invalid(f"{self.what}: expected {expected}, got {kind or 'none'}")
        if kind == "action":
            return self.actions.decode(action.action, default=False)
        selector = self.selector
        if selector is None:
            raise invalid(f"{self.what} has no action profile")
        if kind == "action_profile_action_set":
            if selector.uses:
                raise invalid(f"{self.what}: its entries use members and groups, so they cannot use action sets")
            message = action.action_profile_action_set
            decoded = [self.actions.decode(a.action, default=False) for a in message.action_profile_actions]
            return selector.insert_one_shot(message, decoded)
        if selector.has_one_shots:
            raise invalid(f"{self.what}: its entries use action sets, so they cannot use members and groups")
        if kind == "action_profile_member_id":
            use: MemberAction | GroupAction = MemberAction(action.action_profile_member_id)
        else:
            use = GroupAction(action.action_profile_group_id)
        selector.uses[use] += 1
        return use

    def release_action(self, action: Action) -> None:
        """An entry with this action is no more."""
        if self.selector is None or isinstance(action, ActionData):
            return
        if isinstance(action, GroupAction) and self.selector.one_shot(action) is not None:
            self.selector.release(action)
            return
        self.selector.uses[action] -= 1
        if not self.selector.uses[action]:
            del self.selector.uses[action]

    def encode_action(self, action: Action) -> Any:
        """An entry's action as a TableAction."""
        match action:
            case MemberAction(identifier):
                return v1.TableAction(action_profile_member_id=identifier)
            case GroupAction(identifier):
                one_shot = self.selector.one_shot(action) if self.selector is not None else None
                if one_shot is not None:
                    return v1.TableAction(action_profile_action_set=one_shot)
                return v1.TableAction(action_profile_group_id=identifier)
            case _:
                return v1.TableAction(action=self.codec.encode(action))

    # --- messages ------------------------------------------------------------------------------------------

    def key_message(self, entry: TableEntry) -> Any:
        """A TableEntry message with only the key of ``entry``."""
        if entry is self.state.default_entry:
            return v1.TableEntry(table_id=self.id, is_default_action=True)
        return v1.TableEntry(table_id=self.id, match=self.keys.encode(entry.keys), priority=max(entry.priority, 0))

    def message(self, known: TableEntry, wanted: Any) -> Any:
        """An entry as a TableEntry, with those of its resources that ``wanted`` asks for."""
        entry = self.key_message(known)
        action = self.state.default if entry.is_default_action else known.action
        entry.action.CopyFrom(self.encode_action(action))
        entry.is_const = known.const
        set_metadata(entry, known.metadata)
        entry.idle_timeout_ns = known.idle_timeout_ns
        if wanted.HasField("counter_data") and self.has_counter:
            entry.counter_data.packet_count = known.packets
            entry.counter_data.byte_count = known.bytes
        if wanted.HasField("meter_config") and self.has_meter and known.meter is not None and known.meter.rates:
            entry.meter_config.CopyFrom(meter_config(known.meter))
        if wanted.HasField("meter_counter_data") and self.has_meter and not entry.is_default_action:
            entry.meter_counter_data.CopyFrom(colour_counts(known.meter))
        if wanted.HasField("time_since_last_hit") and self.has_timeout and not entry.is_default_action:
            entry.time_since_last_hit.elapsed_ns = max(0, self.clock() - known.last_hit_us * 1000)
        return entry

    def matching(self, wanted: Any) -> Iterator[TableEntry]:
        """The entries that a TableEntry message selects (section 9.1.6)."""
        if wanted.is_default_action:
            self.check_default(wanted)
            yield self.state.default_entry
            return
        if wanted.match:
            keys = self.keys.decode(wanted.match)
            if self.keys.needs_priority and not wanted.priority:
                entries: Iterator[TableEntry] = (e for e in self.state.entries if e.keys == keys)
            else:
                known = self.state.get(keys, wanted.priority)
                entries = iter([] if known is None else [known])
        else:
            entries = self.state.entries
        action = wanted.action.action.action_id
        name = self.codec.name(action) if action else ""
        wanted_metadata = metadata(wanted)
        for entry in entries:
            if wanted.priority and entry.priority != wanted.priority:
                continue
            if wanted_metadata and entry.metadata != wanted_metadata:
                continue
            if name and not (isinstance(entry.action, ActionData) and entry.action.action == name):
                continue
            yield entry


# `controller_metadata` is the deprecated form, a number; it comes back as it was given.
_OLD = b"\0controller_metadata"


def metadata(entry: Any) -> bytes:
    """The metadata of a message in one of its two forms."""
    if entry.metadata or not entry.controller_metadata:
        return bytes(entry.metadata)
    return _OLD + int(entry.controller_metadata).to_bytes(8, "big")


def set_metadata(entry: Any, value: bytes) -> None:
    """Give a message its metadata in the form in which it was written."""
    if value.startswith(_OLD):
        entry.controller_metadata = int.from_bytes(value[len(_OLD) :], "big")
    else:
        entry.metadata = value
