# SPDX-License-Identifier: Apache-2.0
"""Many insertions at once, from columns of numbers to the bytes of a WriteRequest.

Entries whose numbers have the same lengths in bytes are one message but for the numbers. So the message is made once
for each combination of lengths, by the ordinary way, and the numbers are written into copies of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp_base.errors import OfframpError
from offramp_base.p4rt.entities import EntityFactory
from offramp_base.p4rt.schema import config, v1

Column = npt.NDArray[np.int64]
_WIDEST: Final = 63
_LENGTHS: Final = 8
_MOST: Final = 21
"""Columns whose lengths fit one word."""
_Bytes = npt.NDArray[np.uint8]


class Insertions:
    """Insertions of one table with one action, as protobuf writes the ``updates`` of a WriteRequest, in their order.

    Args:
        make: function that makes the pipeline.
        table, action: control-plane names or aliases.
        keys: ``(n,)`` int64 values of each key, all of them exact.
        params: the same of each parameter.

    Raises:
        OfframpError: keys that are not exact; else as :meth:`EntityFactory.table_entry` for the first wrong entry.
    """

    def __init__(
        self, make: EntityFactory, table: str, keys: Mapping[str, Column], action: str, params: Mapping[str, Column]
    ) -> None:
        order = [param.name for param in make.index.actions[action].params]
        if params.keys() == set(order):
            params = {name: params[name] for name in order}  # as in the message
        self._make, self._names = make, (table, tuple(keys), action, tuple(params))
        self._columns = [np.asarray(column, np.int64) for column in (*keys.values(), *params.values())]
        self._n = len(self._columns[0])
        self._check()
        kind = np.zeros(self._n, np.int64)
        for column in self._columns:
            kind *= _LENGTHS
            for byte in range(1, int(column.max(initial=0)).bit_length() // 8 + 1):
                kind += column >= 1 << 8 * byte
        first, self._kind = np.unique(kind, return_index=True, return_inverse=True)[1:]
        self._templates = [self._template([_length(int(column[at])) for column in self._columns]) for at in first]
        sizes = np.array([len(bytes_) for bytes_, _ in self._templates], np.int64)
        self._ends = np.cumsum(sizes[self._kind])

    def __len__(self) -> int:
        return self._n

    def parts(self, most: int) -> Iterator[bytes]:
        """The updates, at most ``most`` in each part."""
        for start in range(0, self._n, most):
            yield self._part(start, min(start + most, self._n))

    def _part(self, start: int, stop: int) -> bytes:
        first = int(self._ends[start - 1]) if start else 0
        flat = np.empty(int(self._ends[stop - 1]) - first, np.uint8)
        kind = self._kind[start:stop]
        for number, (template, places) in enumerate(self._templates):
            of_kind = np.flatnonzero(kind == number)
            if not len(of_kind):
                continue
            rows = np.broadcast_to(template, (len(of_kind), len(template))).copy()
            for column, place in zip(self._columns, places, strict=True):
                raw = column[start + of_kind].astype(">u8").view(np.uint8).reshape(-1, 8)
                rows[:, place] = raw[:, 8 - len(place) :]
            begins = self._ends[start + of_kind] - len(template) - first
            flat[begins[:, np.newaxis] + np.arange(len(template))] = rows
        return flat.tobytes()

    def _check(self) -> None:
        """Let the regular path refuse the first entry that is wrong; refuse a batch without entries."""
        table, keys, action, params = self._names
        fields = self._make.index.tables[table].match_fields
        exact = len(self._columns) <= _MOST and all(field.match_type == config.MatchField.EXACT for field in fields)
        if not exact or {field.name for field in fields} != set(keys):
            raise OfframpError(f"{table}: columns of entries: expected each key, all of them exact")
        widths = {field.name: field.bitwidth for field in fields}
        of_params = {param.name: param.bitwidth for param in self._make.index.actions[action].params}
        bad = np.zeros(self._n, np.bool_)
        for name, column in zip((*keys, *params), self._columns, strict=True):
            width = min((widths if name in keys else of_params).get(name, 0) or _WIDEST, _WIDEST)
            bad |= (column < 0) | (column >> width != 0)
        if self._n:
            self._entity([int(column[int(bad.argmax())]) for column in self._columns])

    def _entity(self, values: Sequence[int]) -> Any:
        table, keys, action, params = self._names
        of_keys = dict(zip(keys, values, strict=False))
        return self._make.table_entry(table, of_keys, action, dict(zip(params, values[len(keys) :], strict=True)))

    def _template(self, lengths: Sequence[int]) -> tuple[_Bytes, list[npt.NDArray[np.intp]]]:
        """The update for numbers of these lengths, and where each has its bytes."""
        low = [1 << 8 * (length - 1) if length > 1 else 0 for length in lengths]
        places = []
        template = self._update(low)
        for at, length in enumerate(lengths):
            other = self._update([*low[:at], (1 << 8 * length) - 1, *low[at + 1 :]])
            last = int(np.flatnonzero(template != other)[-1])
            places.append(np.arange(last + 1 - length, last + 1))
        return template, places

    def _update(self, values: Sequence[int]) -> _Bytes:
        """An update, serialised; numbers need not fit their widths."""
        entity = self._entity([0] * len(values))
        entry = entity.table_entry
        fields = [*(match.exact for match in entry.match), *entry.action.action.params]
        for field, value in zip(fields, values, strict=True):
            field.value = value.to_bytes(_length(value), "big")
        request = v1.WriteRequest(updates=[v1.Update(type=v1.Update.INSERT, entity=entity)])
        return np.frombuffer(request.SerializeToString(), np.uint8)


def _length(value: int) -> int:
    """Bytes of a number's canonical string."""
    return (value.bit_length() + 7) // 8 or 1
