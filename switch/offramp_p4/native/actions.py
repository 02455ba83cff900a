# SPDX-License-Identifier: Apache-2.0
"""Rows: how an action and its data lie in memory, for the control plane to write and machine code to read."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from offramp_p4 import ir
from offramp_p4.native.shape import aligned, container, is_scalar
from offramp_p4.source import Unsupported
from offramp_p4.state import ActionData
from offramp_p4.state.match import key_width

HEAD: Final = 8  # the action's number and, for a member or group of a profile, where that is; 4 bytes each
NOTHING: Final = 0xFFFFFFFF  # in place of an action's number: a member that does not exist
MEMBER: Final = 0xFFFFFFFE
GROUP: Final = 0xFFFFFFFD
_CODES: Final = {1: "B", 2: "H", 4: "I", 8: "Q"}


@dataclass(frozen=True)
class ActionRow:
    """The row of one action.

    Attributes:
        number: number of the action, within the program.
        places: offset and bits of each datum.
        size: bytes, a multiple of 8.
    """

    number: int
    cells: tuple[tuple[int, int], ...]
    size: int

    @cached_property
    def _format(self) -> struct.Struct:
        text, end = "<I4x", HEAD
        for at, width in self.cells:
            size = container(width)
            text += f"{at - end}x{_CODES.get(size, f'{size}s')}"
            end = at + size
        return struct.Struct(f"{text}{self.size - end}x")

    def encode(self, data: Sequence[int]) -> bytes:
        """The row for these data."""
        cells = [
            value if container(width) in _CODES else value.to_bytes(container(width), "little")
            for value, (_, width) in zip(data, self.cells, strict=True)
        ]
        return self._format.pack(self.number, *cells)

    def decode(self, row: bytes) -> tuple[int, ...]:
        """The data of a row."""
        data = self._format.unpack(row[: self.size])[1:]
        return tuple(int.from_bytes(d, "little") if isinstance(d, bytes) else d for d in data)


def indirect(kind: int, index: int) -> bytes:
    """The row of an entry whose action is that of a member or group of a profile."""
    return struct.pack("<II", kind, index)


class Actions:
    """The rows of all actions that tables of a program run, by name."""

    def __init__(self, tables: Iterable[ir.MatchTable]) -> None:
        self._rows: dict[str, ActionRow] = {}
        for table in tables:
            for choice in choices(table).values():
                self._add(choice)

    def __getitem__(self, name: str) -> ActionRow:
        return self._rows[name]

    def encode(self, action: ActionData) -> bytes:
        """The row of an action with its data."""
        return self._rows[action.action].encode(action.args)

    def decode(self, row: bytes) -> ActionData:
        """The action of a row, with its data."""
        name, action = list(self._rows.items())[int.from_bytes(row[:4], "little")]
        return ActionData(name, action.decode(row))

    def _add(self, choice: ir.TableAction) -> None:
        action = choice.action
        if action.name in self._rows:
            return
        at, cells = HEAD, []
        for param in choice.data_params:
            if not is_scalar(param.type):
                raise Unsupported(action.pos, f"action {action.name}: action data that is not a scalar")
            width = key_width(param.type)
            at = aligned(at, min(container(width), 8))
            cells.append((at, width))
            at += container(width)
        self._rows[action.name] = ActionRow(len(self._rows), tuple(cells), aligned(at, 8))


def choices(table: ir.MatchTable) -> dict[str, ir.TableAction]:
    """The choices of a table by the names of their actions, the default action's included."""
    return {choice.action.name: choice for choice in [table.default.action, *table.actions]}
