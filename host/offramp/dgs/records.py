# SPDX-License-Identifier: Apache-2.0
"""Records of :mod:`offramp.dgs.wire`: encoding and decoding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp.dgs.wire import COUNT, DGS, ID, MAGIC, MASKS, NEIGHBOURS, PULL, ROWS, SAMPLE, VALUE
from offramp.graph.csr import IntArray
from offramp_base.errors import OfframpError

_NAMES: Final = {SAMPLE: "SAMPLE", NEIGHBOURS: "NEIGHBOURS", PULL: "PULL", ROWS: "ROWS", MASKS: "MASKS"}


@dataclass(frozen=True)
class SamplingRecord:
    """A record; which fields mean something depends on its kind.

    Attributes:
        kind: one of :mod:`offramp.dgs.wire`.
        source: worker that sends.
        layer, batch: layer and batch of a draw.
        version: version of the puller's masks.
        ids: ``(rows,)`` or ``(items,)`` vertices.
        counts: ``(rows,)`` neighbours drawn of each.
        values: ``(rows, columns)`` features, or ``(rows,)`` node mask.
        columns: ``(chosen,)`` of MASKS.
        width: columns of the whole feature matrix, of MASKS.
    """

    kind: int
    source: int
    layer: int = 0
    batch: int = 0
    version: int = 0
    ids: IntArray | None = None
    counts: IntArray | None = None
    values: npt.NDArray[np.float32] | None = None
    columns: IntArray | None = None
    width: int = 0

    def encode(self) -> bytes:
        """The bytes of header and body."""
        rows, columns, items, body = self._body()
        head = {"magic": MAGIC, "kind": self.kind, "layer": self.layer, "source": self.source, "batch": self.batch}
        head |= {"version": self.version, "rows": rows, "columns": columns, "items": items}
        return DGS.encode(head) + b"".join(part.tobytes() for part in body)

    def _body(self) -> tuple[int, int, int, list[npt.NDArray[Any]]]:
        if self.kind in {SAMPLE, PULL}:
            assert self.ids is not None
            return len(self.ids), 0, 0, [self.ids.astype(ID)]
        if self.kind == NEIGHBOURS:
            assert self.ids is not None
            assert self.counts is not None
            return len(self.counts), 0, len(self.ids), [self.counts.astype(COUNT), self.ids.astype(ID)]
        assert self.values is not None
        if self.kind == ROWS:
            return *self.values.shape, 0, [np.ascontiguousarray(self.values, VALUE)]
        assert self.columns is not None
        chosen = np.zeros(self.width, np.uint8)
        chosen[self.columns] = 1
        return len(self.values), self.width, 0, [np.packbits(chosen), self.values.astype(VALUE)]


def decode(message: bytes) -> list[SamplingRecord]:
    """The records of a message, in order.

    Raises:
        OfframpError: something else, or a record that is cut off.
    """
    records, at = [], 0
    while at < len(message):
        if len(message) - at < DGS.size:
            raise OfframpError(f"message of DGS: cut off in the header at byte {at} of {len(message)}")
        head = DGS.decode(message[at : at + DGS.size])
        if head["magic"] != MAGIC or head["kind"] not in _NAMES:
            raise OfframpError(f"message of DGS: no record at byte {at}")
        body = _MessageBody(message, at + DGS.size, _NAMES[head["kind"]])
        common: dict[str, Any] = {name: head[name] for name in ("kind", "source", "layer", "batch", "version")}
        records.append(SamplingRecord(**common, **_contents(head, body)))
        at = body.at
    return records


def _contents(head: dict[str, int], body: _MessageBody) -> dict[str, Any]:
    rows, columns = head["rows"], head["columns"]
    match head["kind"]:
        case kind if kind in {SAMPLE, PULL}:
            return {"ids": body.take(ID, rows)}
        case kind if kind == NEIGHBOURS:
            counts = body.take(COUNT, rows).astype(np.int64)
            if counts.sum() != head["items"]:
                raise OfframpError(f"message of DGS: {counts.sum()} neighbours counted, {head['items']} announced")
            return {"counts": counts, "ids": body.take(ID, head["items"])}
        case kind if kind == ROWS:
            return {"values": body.take(VALUE, rows * columns).reshape(rows, columns)}
        case _:
            bits = np.unpackbits(body.take(np.dtype(np.uint8), -(-columns // 8)), count=columns)
            return {"columns": np.flatnonzero(bits), "width": columns, "values": body.take(VALUE, rows)}


class _MessageBody:
    """The rest of a message, taken array by array."""

    def __init__(self, message: bytes, at: int, name: str) -> None:
        self.at = at
        self._message, self._name = message, name

    def take(self, kind: np.dtype[Any], count: int) -> npt.NDArray[Any]:
        """``count`` numbers, in the machine's byte order.

        Raises:
            OfframpError: there are fewer.
        """
        end = self.at + count * kind.itemsize
        if end > len(self._message):
            raise OfframpError(f"message of DGS: {self._name} cut off: {len(self._message)} bytes, expected {end}")
        values = np.frombuffer(self._message, kind, count, self.at)
        self.at = end
        return values.astype(kind.newbyteorder("="), copy=False)
