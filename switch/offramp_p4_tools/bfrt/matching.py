# SPDX-License-Identifier: Apache-2.0
"""A program's match tables, and the action profiles and selectors behind them, as BF-RT describes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from offramp_base.p4rt.schema import config
from offramp_p4 import constructor, ir
from offramp_p4.runtime.p4info import extern_unit
from offramp_p4.runtime.tna_externs import standard_externs
from offramp_p4_tools.bfrt import common
from offramp_p4_tools.bfrt.fields import ActionSpec, Annotations, BfrtField, TableSpec
from offramp_p4_tools.bfrt.numbers import FieldId, object_ids
from offramp_p4_tools.bfrt.valuetypes import register_fields

_MATCH: Final = {"EXACT": "Exact", "LPM": "LPM", "TERNARY": "Ternary", "RANGE": "Range", "OPTIONAL": "Optional"}
_OTHER: Final = {"atcam_partition_index": "ATCAM", "dleft_hash": "DLEFT_HASH"}
_SCOPES: Final = {0: "TableAndDefault", 1: "TableOnly", 2: "DefaultOnly"}
_SLICE: Final = re.compile(r"\[\d+:\d+\]")
_INDEX: Final = re.compile(r"\[(\d+)\]")
_NOTE: Final = re.compile(r"(@[\w.$]+)(?:\((.*)\))?", re.DOTALL)
_ADT_OFFSET: Final = 0xDEADBEEF
"""The value that p4c writes in place of one that only the chip knows."""


def match_tables(program: ir.Program, info: Any) -> list[TableSpec]:
    """The tables, and those of their action profiles and selectors, as ``info``, the P4Info, lists them."""
    shared = _Implementations(program)
    sources = {t.name: t for t in program.tables}
    actions = {a.preamble.id: a for a in info.actions}
    tables = [_table(program, t, sources[t.preamble.name], actions, shared) for t in info.tables]
    return [*tables, *shared.tables({t.name: t for t in tables}, sources, info, actions)]


class _Implementations:
    """The action profiles and selectors of a program, which tables share."""

    def __init__(self, program: ir.Program) -> None:
        self._profiles = [i for i in program.externs if i.extern == "ActionProfile"]
        self._selectors = [i for i in program.externs if i.extern == "ActionSelector"]
        own = [i for i in self._selectors if _profile_of(i) is None]
        self.profile_ids = object_ids("ActionProfile", [i.name for i in [*self._profiles, *own]])
        names = {i: i.name if i not in own else f"{i.name}_sel" for i in self._selectors}
        self.selector_names, self._own = names, own
        self.selector_ids = object_ids("ActionSelector", names.values())

    def kind(self, table: ir.MatchTable) -> tuple[str, tuple[BfrtField, ...], tuple[int, ...]]:
        """The type of a table, the fields that name what its entries do, and what it depends on."""
        i = table.properties.get("implementation")
        if isinstance(i, ir.ExternInstance) and i.extern == "ActionSelector":
            profile = _profile_of(i) or i
            needs = self.selector_ids[self.selector_names[i]], self.profile_ids[profile.name]
            return "MatchAction_Indirect_Selector", common.MEMBER_OR_GROUP, needs
        if isinstance(i, ir.ExternInstance) and i.extern == "ActionProfile":
            return "MatchAction_Indirect", (common.MEMBER,), (self.profile_ids[i.name],)
        return "MatchAction_Direct", (), ()

    def tables(
        self,
        tables_by_name: dict[str, TableSpec],
        sources: dict[str, ir.MatchTable],
        info: Any,
        actions: dict[int, Any],
    ) -> Iterator[TableSpec]:
        """Profiles, then selectors with their look-up of members; a profile that no table has is left out."""
        p4info = {t.preamble.name: t for t in info.tables}
        for i in [*self._profiles, *self._own]:
            users = [name for name in tables_by_name if self._profile_behind(sources[name]) is i]
            if users:
                specs = _actions(p4info[users[0]], actions)
                size = constructor.number(i, "size")
                yield TableSpec(self.profile_ids[i.name], i.name, "Action", size, (common.MEMBER,), (), specs)
        get = object_ids("ActionSelectorGetMember", self.selector_names.values())
        for i in self._selectors:
            name, profile = self.selector_names[i], _profile_of(i) or i
            yield _selector(self.selector_ids[name], name, i, self.profile_ids[profile.name])
            yield _get_member(get[name], name, self.selector_ids[name])

    def _profile_behind(self, table: ir.MatchTable) -> ir.ExternInstance | None:
        i = table.properties.get("implementation")
        if not isinstance(i, ir.ExternInstance):
            return None
        return (_profile_of(i) or i) if i.extern == "ActionSelector" else i


def _profile_of(i: ir.ExternInstance) -> ir.ExternInstance | None:
    """The action profile that a selector selects from; None: it has members of its own."""
    profile = constructor.argument(i, "action_profile") if "action_profile" in i.params else None
    return profile if isinstance(profile, ir.ExternInstance) else None


def _selector(number: int, name: str, i: ir.ExternInstance, profile: int) -> TableSpec:
    most, groups = (
        constructor.number(i, p) if p in i.params else other
        for p, other in (("max_group_size", 120), ("num_groups", 1024))
    )
    data = (
        BfrtField(FieldId.ACTION_MEMBER_ID, "$ACTION_MEMBER_ID", "uint32", repeated=True),
        BfrtField(FieldId.MEMBER_STATUS, "$ACTION_MEMBER_STATUS", "bool", repeated=True),
        BfrtField(FieldId.MAX_GROUP_SIZE, "$MAX_GROUP_SIZE", "uint32", default=most),
        BfrtField(FieldId.ADT_OFFSET, "$ADT_OFFSET", "uint32", default=_ADT_OFFSET),
    )
    return TableSpec(number, name, "Selector", groups, (common.GROUP,), data, depends_on=(profile,))


def _get_member(number: int, selector: str, selector_id: int) -> TableSpec:
    key = (
        BfrtField(FieldId.GET_MEMBER_GROUP, "$SELECTOR_GROUP_ID", "uint64", mandatory=True),
        BfrtField(FieldId.HASH_VALUE, "hash_value", "uint64", mandatory=True),
    )
    data = (BfrtField(FieldId.GET_MEMBER_ID, "$ACTION_MEMBER_ID", "uint64"),)
    name = f"{selector}_get_member"
    return TableSpec(number, name, "SelectorGetMember", 1, key, data, depends_on=(selector_id,))


def _table(
    program: ir.Program, t: Any, table: ir.MatchTable, actions: dict[int, Any], shared: _Implementations
) -> TableSpec:
    kind, data, needs = shared.kind(table)
    key = [_key(f) for f in t.match_fields]
    if any(f.match in {"Ternary", "Range", "Optional"} for f in key):
        key.append(common.PRIORITY)
    specs = _actions(t, actions) if not needs else None
    most = max((p.id for a in specs or () for p in a.params), default=0)
    direct = list(_direct(program, table, most + 1))
    operations = [operation for _, operation, _ in direct if operation]
    attributes = [attribute for _, _, attribute in direct if attribute] + ["EntryScope"]
    data += tuple(f for fields, _, _ in direct for f in fields)
    notes = _notes(t.preamble.annotations)
    if ("@dynamic_table_key_masks", "1") in notes:
        attributes.append("DynamicKeyMask")
    if t.is_const_table:
        attributes.append("ConstTable")
    if t.idle_timeout_behavior == config.Table.NOTIFY_CONTROL:
        operations.append("UpdateHitState")
        attributes.append("IdleTimeout")
        data += (common.HIT_STATE,) if ("@idletime_precision", "1") in notes else (common.HIT_STATE, common.TTL)
    return TableSpec(
        t.preamble.id,
        t.preamble.name,
        kind,
        t.size,
        tuple(key),
        data,
        specs,
        depends_on=needs,
        operations=tuple(operations),
        attributes=tuple(attributes),
        annotations=notes,
        const_default=bool(t.const_default_action_id),
    )


def _key(field: Any) -> BfrtField:
    kind = config.MatchField.MatchType.Name(field.match_type)
    match = _MATCH.get(kind) or _OTHER.get(field.other_match_type, "Exact")
    notes = _notes(field.annotations)
    if _SLICE.search(field.name):
        notes = (*notes, ("isFieldSlice", "true"))
    name = _INDEX.sub(r"$\1", field.name.replace(".$valid$", ".$valid"))
    return BfrtField(field.id, name, width=field.bitwidth, match=match, annotations=notes)


def _actions(t: Any, actions: dict[int, Any]) -> tuple[ActionSpec, ...]:
    return tuple(
        ActionSpec(
            ref.id,
            actions[ref.id].preamble.name,
            tuple(
                BfrtField(p.id, p.name, width=p.bitwidth, mandatory=True, annotations=_notes(p.annotations))
                for p in actions[ref.id].params
            ),
            _SCOPES[ref.scope],
            _notes(ref.annotations),
        )
        for ref in t.action_refs
    )


def _direct(program: ir.Program, table: ir.MatchTable, first: int) -> Iterator[tuple[tuple[BfrtField, ...], str, str]]:
    """The fields of each direct resource, with the operation and the attribute that it brings."""
    standard = standard_externs(program)
    for name in ("counters", "meters", "registers", "filters"):
        i = table.properties.get(name)
        if not isinstance(i, ir.ExternInstance):
            continue
        if i.extern == "DirectCounter":
            yield common.COUNTS[extern_unit(standard[i], 0)], "SyncCounters", ""
        elif i.extern == "DirectMeter":
            yield common.RATES[extern_unit(standard[i], 0)], "", "MeterByteCountAdjust"
        elif i.extern == "DirectRegister":
            yield register_fields(i, first), "SyncRegisters", ""
        elif i.extern == "DirectLpf":
            yield common.LPF, "", ""
        elif i.extern == "DirectWred":
            yield common.WRED, "", ""


def _notes(texts: Any) -> Annotations:
    matches = (_NOTE.fullmatch(text) for text in texts)
    return tuple((note[1], note[2]) for note in matches if note is not None)
