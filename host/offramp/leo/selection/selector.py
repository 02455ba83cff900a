# SPDX-License-Identifier: Apache-2.0
"""The selector of the runtime; its interface is stable.

A request has a number in ``range(rows)``, such as its row of the request state table, from :meth:`Selector.choose` to
:meth:`Selector.finished`; the selector keeps its path, type, key and what it expected under that number::

    selector = Selector(table, Policy.LOOKAHEAD, rows=4096)
    path = selector.choose(row, type_index, key, now_ns)      # under way from here on, or HOLD
    for row, path in selector.finished(row, jct_ns, e2e_ns, now_ns):
        ...                                                   # requests that were held: send them now

``choose`` returns HOLD if a request of the same key is under way on a path that this type may not take, if others wait
for that key, or if all paths of the type are down. The selector keeps those in order, and the call that makes room
returns them with their paths. When a path fails, call ``set_down({path}, now)``, then ``reroute(row, now)`` for each of
its requests in the order of their arrival. A selector belongs to one thread.

In compiled code call :func:`offramp.leo.selection.kernel.choose` and its neighbours on :attr:`Selector.memory`, which
holds offsets only and may lie in shared memory.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from offramp.leo.selection import layout as at
from offramp.leo.selection.policies import AnyPolicy, Policy
from offramp.leo.selection.table import Table
from offramp_base.errors import OfframpError
from offramp_base.native.arrays import section

if TYPE_CHECKING:
    from collections.abc import Callable

HOLD: Final = at.HOLD
"""Not now: the selector starts the request later."""
ROWS: Final = 4096


@cache
def _functions() -> dict[str, Callable[..., int]]:
    from offramp.leo.selection import kernel
    from offramp_base.native.library import compiled_all

    marked = (kernel.choose, kernel.choose_many, kernel.finished, kernel.reroute, kernel.set_down)
    return compiled_all(marked)


class Selector:
    """Chooses a path for each request.

    Args:
        table: types and paths; their indices are the numbers below.
        policy: the rule that chooses.
        rows: most requests at a time.
        seed: seed of the rules that draw random numbers.
        tolerance: tolerances for clocks and the network.

    Raises:
        OfframpError: no rows, or llvmlite is missing.
    """

    def __init__(
        self,
        table: Table,
        policy: AnyPolicy = Policy.LOOKAHEAD,
        *,
        rows: int = ROWS,
        seed: int = 0,
        tolerance: at.Tolerance | None = None,
    ) -> None:
        if rows < 1:
            raise OfframpError(f"selector: {rows} rows, expected at least 1")
        self.table, self.policy = table, policy
        self.memory = at.make_memory(table, policy, rows, seed, tolerance or at.Tolerance())
        """The complete state (:mod:`offramp.leo.selection.layout`)."""
        self._address = self.memory.ctypes.data
        functions = _functions()
        self._choose, self._finished = functions["choose"], functions["finished"]
        self._many, self._reroute, self._down = functions["choose_many"], functions["reroute"], functions["set_down"]
        self._rows = rows
        self._keyed = [d.code for d in table.dependency]

    def choose(self, row: int, kind: int, key: int | None, now_ns: int) -> int:
        """The path of a request that is under way from now on, or HOLD.

        Raises:
            OfframpError: no such type or row, a row in use, a type with a dependency without a key.
        """
        if key is None:
            if 0 <= kind < len(self._keyed) and self._keyed[kind]:
                raise OfframpError(
                    f"type {self.table.types[kind]}: expected a key, as requests with the same key are ordered"
                )
            key = 0
        path = self._choose(self._address, row, kind, key, now_ns * at.PS)
        if path == at.MISUSE:
            raise self._misuse(row, kind)
        return path

    def choose_many(self, rows: npt.ArrayLike, kinds: npt.ArrayLike, keys: npt.ArrayLike, now_ns: int) -> at.Memory:
        """Paths of requests that arrive at one time, in order; keys of types without a dependency are ignored.

        Raises:
            OfframpError: as :meth:`choose`; those before the faulty one are under way.
        """
        words = [np.ascontiguousarray(a, np.int64) for a in (rows, kinds, keys)]
        count = len(words[0])
        if any(w.shape != (count,) for w in words):
            raise OfframpError("choose_many: expected as many types and keys as rows")
        paths = np.empty(count, np.int64)
        done = self._many(self._address, *(w.ctypes.data for w in words), paths.ctypes.data, count, now_ns * at.PS)
        if done < count:
            raise self._misuse(int(words[0][done]), int(words[1][done]))
        return paths

    def finished(self, row: int, jct_ns: int, e2e_ns: int, now_ns: int) -> Sequence[tuple[int, int]]:
        """End a request with these times, or give it up (``jct_ns`` below 0).

        Returns:
            Row and path of the requests that were held and are under way now.

        Raises:
            OfframpError: no request is under way in that row.
        """
        started = self._finished(self._address, row, jct_ns * at.PS, e2e_ns * at.PS, now_ns * at.PS)
        return self._started(row, started)

    def reroute(self, row: int, now_ns: int) -> int:
        """Another path for a request under way whose path has failed, or HOLD.

        Raises:
            OfframpError: no request is under way in that row.
        """
        path = self._reroute(self._address, row, now_ns * at.PS)
        if path == at.MISUSE:
            raise self._misuse(row)
        return path

    def set_down(self, paths: Collection[int], now_ns: int) -> Sequence[tuple[int, int]]:
        """Close these paths and open all others; returns the same as :meth:`finished`.

        Raises:
            OfframpError: no such path.
        """
        for path in paths:
            if not 0 <= path < len(self.table.paths):
                raise OfframpError(f"path {path}: expected 0 to {len(self.table.paths) - 1}")
        down = sum(1 << path for path in set(paths))
        return self._started(0, self._down(self._address, down, now_ns * at.PS))

    def path_of(self, row: int) -> int | None:
        """Path of a request under way; HOLD if it waits, None if the row is free."""
        path = int(self._row_paths()[row])
        return None if path == at.IDLE else path

    @property
    def outstanding(self) -> at.Memory:
        """Number of requests under way on each path."""
        return self._section(at.SelectorState.count, len(self.table.paths)).copy()

    @property
    def completed(self) -> at.Memory:
        """Number of requests that have ended on each path."""
        return self._section(at.SelectorState.done, len(self.table.paths)).copy()

    @property
    def khat(self) -> at.Memory:
        """The counter of each path as the thesis maintains it."""
        return self._section(at.SelectorState.khat, len(self.table.paths)).copy()

    @property
    def backlog_ns(self) -> npt.NDArray[np.float64]:
        """Estimated work left at each resource, in ns."""
        return self._section(at.SelectorState.backlog, len(self.table.resources)) / at.PS

    @property
    def scale(self) -> npt.NDArray[np.float64]:
        """Learned time of each resource's unit of work, relative to the table's."""
        return self._section(at.SelectorState.scale, len(self.table.resources)) / at.UNIT

    def _row_paths(self) -> at.Memory:
        return self._section(at.SelectorState.rows, self._rows * at.RequestRecord.WORDS)[
            at.RequestRecord.path :: at.RequestRecord.WORDS
        ]

    def _section(self, which: object, length: int) -> at.Memory:
        return section(self.memory, which, length)

    def _started(self, row: int, count: int) -> Sequence[tuple[int, int]]:
        if count == 0:
            return ()
        if count == at.MISUSE:
            raise self._misuse(row)
        rows = self._section(at.SelectorState.started_rows, count)
        return list(zip(rows.tolist(), self._row_paths()[rows].tolist(), strict=True))

    def _misuse(self, row: int, kind: int | None = None) -> OfframpError:
        if not 0 <= row < self._rows:
            return OfframpError(f"request {row}: expected a number below {self._rows}")
        if kind is None:
            return OfframpError(f"request {row}: it is not under way")
        if not 0 <= kind < len(self.table.types):
            return OfframpError(f"type {kind}: expected 0 to {len(self.table.types) - 1}")
        return OfframpError(f"request {row}: it is under way already")

    def __getstate__(self) -> dict[str, Any]:
        raise OfframpError("a selector belongs to one process; its memory may be shared")
