# SPDX-License-Identifier: Apache-2.0
"""Requests that only insert entries of one table with one action: read in machine code, entered as one batch.

Whatever else a request holds, or where an entry is refused, nothing is done here: the ordinary way is taken, which
says what is wrong with which update.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from offramp_base.errors import OfframpError
from offramp_base.native.arrays import RecordArrays
from offramp_p4.runtime.entities.base import INSERT
from offramp_p4.state.batch import EntryBatch

if TYPE_CHECKING:
    from offramp_p4.runtime.entities.table import P4RuntimeTable
    from offramp_p4.runtime.pipeline import Pipeline

FEWEST: Final = 64
"""Updates below which the ordinary way is as fast."""
_WORD: Final = 64
_MOST_WORDS: Final = 4
_IDS: Final = 32


def insert_all(pipeline: Pipeline, request: Any, check: Callable[[Any], None]) -> bool:
    """Do all updates of a request, if it is of this kind and none of them fails; whether they are done."""
    if len(request.updates) < FEWEST:
        return False
    first = request.updates[0]
    entry = first.entity.table_entry
    if first.type != INSERT or first.entity.WhichOneof("entity") != "table_entry":
        return False
    table = next((t for t in pipeline.tables.values() if t.id == entry.table_id), None)
    if table is None or not table.takes_batches or entry.action.WhichOneof("type") != "action":
        return False
    try:
        check(first.entity)
        name = table.actions.decode(entry.action.action, default=False).action
        batch = _read(table, request, entry.action.action.action_id, name)
        if batch is not None:
            table.state.insert_all(batch)
    except OfframpError:
        return False
    return batch is not None


def _read(table: P4RuntimeTable, request: Any, action: int, name: str) -> EntryBatch | None:
    """The entries of a request; None if it is none of insertions alone."""
    keys, args = table.keys.plain_fields, table.codec.plain_params(action)
    if keys is None or args is None or len(keys) > _IDS or len(args) > _IDS:
        return None
    widths = [width for _, _, width in keys]
    words = max(1, *((w + _WORD - 1) // _WORD for w in (*widths, *(width for _, width in args))))
    if words > _MOST_WORDS:
        return None
    from offramp_p4.runtime.inserts import LPM, Inserts

    count = len(request.updates)
    state = RecordArrays(Inserts)
    fields = state.fields
    fields.table, fields.action, fields.number_words = table.id, action, words
    fields.key_count, fields.arg_count = len(keys), len(args)
    state.give(Inserts.key_ids, np.array([number for number, _, _ in keys], np.int64))
    state.give(Inserts.kinds, np.array([LPM if kind == "lpm" else 0 for _, kind, _ in keys], np.int64))
    state.give(Inserts.widths, np.array(widths, np.int64))
    state.give(Inserts.arg_ids, np.array([number for number, _ in args] or [0], np.int64))
    values = state.give(Inserts.keys, np.zeros((count, len(keys), words), np.int64))
    lengths = state.give(Inserts.lengths, np.zeros(count, np.int64))
    data = state.give(Inserts.args, np.zeros((count, max(1, len(args)), words), np.int64))
    raw = np.frombuffer(request.SerializeToString(), np.uint8)
    if _reader()(raw.ctypes.data, len(raw), state.address, count) != count:
        return None
    return EntryBatch(
        tuple(_column(values[:, i], width) for i, (_, _, width) in enumerate(keys)),
        name,
        tuple(_column(data[:, i], width) for i, (_, width) in enumerate(args)),
        lengths if any(kind == "lpm" for _, kind, _ in keys) else None,
    )


def _column(values: np.ndarray[Any, Any], width: int) -> np.ndarray[Any, Any]:
    """A number's words as a column of a batch; too many of them for its width are left, to be refused."""
    used = (width + _WORD - 1) // _WORD
    if values[:, used:].any():
        raise OfframpError(f"a number does not fit {width} bits")
    words = np.ascontiguousarray(values[:, :used]).view(np.uint64)
    return words[:, 0] if used == 1 else words


@cache
def _reader() -> Callable[..., int]:
    from offramp_base.native.library import compiled_all
    from offramp_p4.runtime.inserts import read_inserts

    return compiled_all((read_inserts,))["read_inserts"]
