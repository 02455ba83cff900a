# SPDX-License-Identifier: Apache-2.0
"""The tables of a device, by name: those in a program's ``bf-rt.json``, and those of the chip's fixed parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from offramp_base.documents import parse_json
from offramp_base.errors import OfframpError

_WIDTHS = {"uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64, "bool": 1}


@dataclass(frozen=True)
class BfrtFieldInfo:
    """A field of a key or of data; ``width`` is in bits, None for text."""

    name: str
    id: int
    kind: str
    width: int | None
    repeated: bool = False

    def encode(self, value: int) -> bytes:
        """A number as BF-RT sends it: big-endian, in the field's whole bytes.

        Raises:
            OfframpError: the number does not fit.
        """
        width = self.width or 0
        if not 0 <= value < 1 << width:
            raise OfframpError(f"{self.name} = {value}: expected 0 to {(1 << width) - 1}, it has {width} bits")
        return value.to_bytes(-(-width // 8), "big")


@dataclass(frozen=True)
class BfrtTableInfo:
    """A table: match table, counter, register, or a fixed part of the chip.

    Attributes:
        size: entries.
        key: fields by name.
        data: fields by name that go with every action, or without one.
        actions: ids by name.
        params: fields of each action by name.
    """

    name: str
    id: int
    size: int
    key: Mapping[str, BfrtFieldInfo]
    data: Mapping[str, BfrtFieldInfo]
    actions: Mapping[str, int]
    params: Mapping[str, Mapping[str, BfrtFieldInfo]]

    def fields_of(self, action: str | None) -> Mapping[str, BfrtFieldInfo]:
        """The data fields of an entry with this action.

        Raises:
            OfframpError: the table has no such action, or the entry needs one.
        """
        if action is None:
            return self.data
        if action not in self.actions:
            raise _unknown(f"table {self.name}: action", action, self.actions)
        return {**self.data, **self.params[action]}


class BfrtInfo:
    """The tables of one device by name."""

    def __init__(self, tables: Iterable[BfrtTableInfo]) -> None:
        self._tables = {table.name: table for table in tables}

    @classmethod
    def parse(cls, *texts: str | bytes) -> BfrtInfo:
        """Read one or more ``bf-rt.json``; empty ones are left out.

        Raises:
            OfframpError: not JSON of that kind.
        """
        tables: list[BfrtTableInfo] = []
        for text in texts:
            try:
                tables += [_table(entry) for entry in parse_json(text)["tables"]] if text else []
            except OfframpError as error:
                raise OfframpError(f"bf-rt.json: {error}") from None
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise OfframpError(f"bf-rt.json: expected BF-RT's description of tables: {error!r}") from None
        return cls(tables)

    def __getitem__(self, name: str) -> BfrtTableInfo:
        if name not in self._tables:
            raise _unknown("BF-RT table", name, self._tables)
        return self._tables[name]

    @property
    def names(self) -> list[str]:
        """Names of all tables, counters and registers among them."""
        return list(self._tables)

    def __contains__(self, name: object) -> bool:
        return name in self._tables

    def by_id(self, identifier: int) -> BfrtTableInfo | None:
        """The table with an id."""
        return next((t for t in self._tables.values() if t.id == identifier), None)


def _table(entry: Mapping[str, Any]) -> BfrtTableInfo:
    actions = entry.get("action_specs", [])
    if not isinstance(entry["name"], str) or type(entry["id"]) is not int:
        raise TypeError("a table's name is text, its id a number")
    return BfrtTableInfo(
        entry["name"],
        entry["id"],
        entry["size"],
        _fields(entry["key"]),
        _fields(d["singleton"] for d in entry.get("data", ()) if "singleton" in d),
        {a["name"]: a["id"] for a in actions},
        {a["name"]: _fields(d.get("singleton", d) for d in a["data"]) for a in actions},
    )


def _fields(entries: Iterable[Mapping[str, Any]]) -> dict[str, BfrtFieldInfo]:
    return {e["name"]: _field(e) for e in entries}


def _field(entry: Mapping[str, Any]) -> BfrtFieldInfo:
    kind = entry["type"]["type"]
    width = entry["type"].get("width") if kind == "bytes" else _WIDTHS.get(kind)
    return BfrtFieldInfo(entry["name"], entry["id"], kind, width, entry.get("repeated", False))


def _unknown(what: str, name: str, known: Iterable[str]) -> OfframpError:
    close = get_close_matches(name, list(known), 1)
    return OfframpError(f"{what} {name}: the device has none" + (f"; did you mean {close[0]}?" if close else ""))
