# SPDX-License-Identifier: Apache-2.0
"""Table entries as arrays, which the control plane computes before it contacts any switch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from offramp.graph.csr import IntArray
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class ActionRows:
    """Entries of one table that share an action.

    Attributes:
        table: control-plane name.
        action: control-plane name.
        keys: ``(n,)`` values of each exact key, by name, in the table's order.
        params: ``(n,)`` values of each action parameter, by name, in the action's order.
    """

    table: str
    action: str
    keys: dict[str, IntArray]
    params: dict[str, IntArray]

    def with_params(self, params: dict[str, IntArray]) -> ActionRows:
        """The entries with other values of some parameters."""
        return replace(self, params=self.params | params)

    def __len__(self) -> int:
        return len(next(iter(self.keys.values())))

    def select(self, which: npt.NDArray[np.bool_]) -> ActionRows:
        """The entries that a mask selects."""
        keys, params = ({k: v[which] for k, v in columns.items()} for columns in (self.keys, self.params))
        return ActionRows(self.table, self.action, keys, params)

    def entries(self) -> Iterator[tuple[dict[str, int], dict[str, int]]]:
        """Each entry's keys and parameters."""
        keys, params = ([column.tolist() for column in columns.values()] for columns in (self.keys, self.params))
        for at in range(len(self)):
            yield _row(self.keys, keys, at), _row(self.params, params, at)


def _row(names: Iterable[str], columns: Sequence[list[int]], at: int) -> dict[str, int]:
    return {name: column[at] for name, column in zip(names, columns, strict=True)}


class PlanTooLargeError(OfframpError):
    """A plan for which the switch program has no room."""


def require_room(what: str, needed: int, offered: int) -> None:
    """Refuse a plan for which the switch program has no room.

    Raises:
        PlanTooLargeError: ``needed`` exceeds ``offered``.
    """
    if needed > offered:
        raise PlanTooLargeError(f"{what}: the plan needs {needed}, the switch program has {offered}")
