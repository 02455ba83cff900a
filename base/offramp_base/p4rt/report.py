# SPDX-License-Identifier: Apache-2.0
"""One line for a batch of updates that a switch refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from offramp_base.p4rt.p4info import P4InfoIndex
from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.status import Code, RpcError, code_of


def describe_failure(index: P4InfoIndex, updates: Sequence[Any], error: RpcError) -> str:
    """``2 of 3 updates; update 0 (insert MyIngress.t): ALREADY_EXISTS: …``."""
    failed = [i for i, e in enumerate(error.errors) if e.canonical_code != Code.OK]
    if not failed or len(error.errors) != len(updates):
        return f"{len(updates)} updates: {error.message}"
    # The updates of a batch that was rolled back are ABORTED but for the one that is to blame.
    first = next((i for i in failed if error.errors[i].canonical_code != Code.ABORTED), failed[0])
    reason = error.errors[first]
    return (
        f"{len(failed)} of {len(updates)} updates; update {first} ({_describe(index, updates[first])}): "
        f"{code_of(reason.canonical_code).name}: {reason.message}"
    )


def _describe(index: P4InfoIndex, update: Any) -> str:
    verb = {v1.Update.INSERT: "insert", v1.Update.MODIFY: "modify", v1.Update.DELETE: "delete"}
    return f"{verb.get(update.type, 'no type')} {entity_name(index, update.entity)}"


def entity_name(index: P4InfoIndex, entity: Any) -> str:
    """The control-plane name of the object that an entity refers to."""
    kind = entity.WhichOneof("entity")
    if kind is None:
        return "empty entity"
    entry = getattr(entity, kind)
    if kind == "packet_replication_engine_entry":
        if entry.WhichOneof("type") == "clone_session_entry":
            return f"clone session {entry.clone_session_entry.session_id}"
        return f"multicast group {entry.multicast_group_entry.multicast_group_id}"
    if kind.startswith("direct_"):
        kind, entry = "table_entry", entry.table_entry
    objects = {
        "table_entry": (index.tables, "table_id"),
        "counter_entry": (index.counters, "counter_id"),
        "register_entry": (index.registers, "register_id"),
        "meter_entry": (index.meters, "meter_id"),
        "value_set_entry": (index.value_sets, "value_set_id"),
        "digest_entry": (index.digests, "digest_id"),
        "action_profile_member": (index.action_profiles, "action_profile_id"),
        "action_profile_group": (index.action_profiles, "action_profile_id"),
    }
    if kind not in objects:
        return str(kind)
    known, field = objects[kind]
    return known.name_of(getattr(entry, field))
