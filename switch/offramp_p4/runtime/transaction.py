# SPDX-License-Identifier: Apache-2.0
"""A batch of updates under each kind of atomicity (P4Runtime specification, section 12.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from offramp_base.errors import OfframpError
from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.runtime.entities.base import DELETE, INSERT, MODIFY, copied, invalid

if TYPE_CHECKING:
    from offramp_p4.runtime.pipeline import Pipeline

Check = Callable[[Any], None]
"""Raises if the controller may not write an entity."""


def apply_each(pipeline: Pipeline, updates: Sequence[Any], check: Check) -> list[OfframpError | None]:
    """Do every update whatever becomes of the others; what went wrong with each, or None."""
    errors: list[OfframpError | None] = []
    for update in updates:
        try:
            _apply(pipeline, update, check)
            errors.append(None)
        except OfframpError as error:
            errors.append(error)
    return errors


def apply_all(pipeline: Pipeline, updates: Sequence[Any], check: Check) -> list[OfframpError | None]:
    """Do all updates or, if one fails, none; the others then are ABORTED.

    Undoing is doing the opposite: what an update is about to change is read first. Meters that are restored have
    full buckets, an entry that is restored counts as hit just now, and counts of colours that were cleared stay so.
    """
    undo: list[tuple[int, Any]] = []
    for position, update in enumerate(updates):
        try:
            opposite = _opposite(pipeline, update)
            _apply(pipeline, update, check)
        except OfframpError as error:
            for kind, entity in reversed(undo):
                _write(pipeline, kind, entity)
            aborted = RpcError(Code.ABORTED, f"undone because update {position} failed")
            return [error if at == position else aborted for at in range(len(updates))]
        undo += reversed(opposite)
    return [None] * len(updates)


def _apply(pipeline: Pipeline, update: Any, check: Check) -> None:
    if update.type not in {INSERT, MODIFY, DELETE}:
        raise invalid("the update has no type")
    pipeline.handler(update.entity.WhichOneof("entity"))
    check(update.entity)
    _write(pipeline, update.type, update.entity)


def _write(pipeline: Pipeline, kind: int, entity: Any) -> None:
    name = entity.WhichOneof("entity")
    pipeline.handler(name).write(kind, getattr(entity, name))


def _opposite(pipeline: Pipeline, update: Any) -> list[tuple[int, Any]]:
    """The writes that undo an update, to be done in this order."""
    if update.type == INSERT:
        return [(DELETE, copied(update.entity))]
    kind = INSERT if update.type == DELETE else MODIFY
    name = update.entity.WhichOneof("entity")
    return [(kind, _writable(entity)) for entity in pipeline.handler(name).read(_everything(update.entity, name))]


def _writable(entity: Any) -> Any:
    # Of a const entry only the direct resources can have changed.
    if entity.WhichOneof("entity") == "table_entry" and entity.table_entry.is_const:
        entity.table_entry.ClearField("is_const")
        entity.table_entry.ClearField("action")
    return entity


_NOT_ASKED: Final = (
    *("action", "metadata", "controller_metadata", "idle_timeout_ns", "time_since_last_hit", "data"),
    *("counter_data", "meter_counter_data"),
)
"""Fields of an update that do not choose what it changes, or that cannot be written back."""


def _everything(entity: Any, name: str) -> Any:
    """A filter that reads what an update of ``entity`` may change."""
    message = getattr(entity, name)
    wanted = type(message)()
    wanted.CopyFrom(message)
    for field in _NOT_ASKED:
        if field in wanted.DESCRIPTOR.fields_by_name:
            wanted.ClearField(field)
    if name == "table_entry":
        wanted.counter_data.SetInParent()
        wanted.meter_config.SetInParent()
    return wanted
