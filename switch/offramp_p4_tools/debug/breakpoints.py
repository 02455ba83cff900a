# SPDX-License-Identifier: Apache-2.0
"""Breakpoints: on lines and names, with conditions, counts and messages."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from offramp_base.errors import OfframpError
from offramp_p4_tools.debug.expressions import DebugExpressions, WatchExpression

if TYPE_CHECKING:
    from offramp_p4.engine.layout import Memory
    from offramp_p4_tools.debug.code import DebugCode, Location

_COUNT: Final = re.compile(r"\s*(==|>=|<=|>|<|%)?\s*([0-9]{1,18})\s*")
_TESTS: Final[dict[str, Callable[[int, int], bool]]] = {
    "==": operator.eq,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "%": lambda hits, every: every > 0 and hits % every == 0,
}
_HOLES: Final = re.compile(r"\{([^{}]*)\}")


_Watches = tuple[WatchExpression | None, list[str | WatchExpression]]
"""The condition of a breakpoint, and the parts of its message."""


@dataclass(slots=True)
class Breakpoint:
    """A breakpoint that a client asked for: at a line of a file, or at a name.

    Attributes:
        number: the client's number of it.
        line: the line that was asked for; ``actual`` is the line at which it stands (0: none).
        hits: number of times that a packet has reached it with its condition true.
        message: written instead of holding the packet; ``{expression}`` in it is replaced.
        fault: why it cannot be set; empty if it is set.
    """

    number: int
    file: str = ""
    line: int = 0
    name: str = ""
    condition: str = ""
    hit_condition: str = ""
    message: str = ""
    actual: int = 0
    hits: int = 0
    fault: str = ""
    _watches: WeakKeyDictionary[DebugCode, dict[int, _Watches]] = field(default_factory=WeakKeyDictionary)

    def arm(self, codes: Iterable[DebugCode]) -> list[tuple[DebugCode, int]]:
        """The locations that it stands at; sets :attr:`actual` and :attr:`fault`."""
        self.forget()
        locations = self._locations(codes)
        try:
            self._count()
            for code, number in locations:
                location, expressions = code.location(number), code.expressions
                condition = expressions.watch(location, self.condition, boolean=True) if self.condition else None
                self._watches.setdefault(code, {})[number] = condition, self._parts(location, expressions)
        except OfframpError as error:
            self.forget()
            self.fault = str(error)
            return []
        if locations:
            self.actual = locations[0][0].location(locations[0][1]).pos.line
        else:
            self.fault = "nothing of this name" if self.name else "no statement stands here or below"
        return locations

    def holds(self, code: DebugCode, number: int, m: Memory) -> bool:
        """Whether a packet that reaches it is held, or its message written; counts the hit."""
        watch = self._watches.get(code, {}).get(number)
        if watch is None:
            return False
        condition, _ = watch
        if condition is not None and not condition.true(m):
            return False
        self.hits += 1
        return self._count()(self.hits)

    def text(self, code: DebugCode, number: int, m: Memory) -> str:
        """The breakpoint's message, filled in."""
        _, parts = self._watches.get(code, {}).get(number, (None, []))
        return "".join(part if isinstance(part, str) else part.text(m) for part in parts)

    def forget(self) -> None:
        """Detach from the code in which the breakpoint stood."""
        self._watches.clear()
        self.actual, self.fault = 0, ""

    def _locations(self, codes: Iterable[DebugCode]) -> list[tuple[DebugCode, int]]:
        every = [(code, n, each) for code in codes for n, each in enumerate(code.locations) if each is not None]
        if self.name:
            return [(code, n) for code, n, each in every if each.entry and _named(each.frame.name, self.name)]
        places = {
            (code, n): (each.pos.line, each.pos.column)
            for code, n, each in every
            if each.pos.line >= self.line and same_file(each.pos.file, self.file)
        }
        first = min(places.values(), default=None)
        return [location for location, place in places.items() if place == first]

    def _count(self) -> Callable[[int], bool]:
        if not self.hit_condition:
            return lambda _: True
        match = _COUNT.fullmatch(self.hit_condition)
        if match is None:
            raise OfframpError(f"hit condition {self.hit_condition[:40]!r}: expected a count such as 5, >= 5 or % 5")
        test, count = _TESTS[match[1] or "=="], int(match[2])
        return lambda hits: test(hits, count)

    def _parts(self, location: Location, expressions: DebugExpressions) -> list[str | WatchExpression]:
        pieces = _HOLES.split(self.message)
        return [expressions.watch(location, piece) if i % 2 else piece for i, piece in enumerate(pieces)]


def lines_of(codes: Iterable[DebugCode], file: str, first: int, last: int) -> Sequence[int]:
    """The lines of a file at which a packet can be held."""
    locations = (location for code in codes for location in code.locations if location is not None)
    return sorted({s.pos.line for s in locations if first <= s.pos.line <= last and same_file(s.pos.file, file)})


def same_file(known: str, wanted: str) -> bool:
    """Whether a position's file is the one that a client names."""
    return known == wanted or resolved(known) == resolved(wanted)


@lru_cache(maxsize=256)
def resolved(file: str) -> str:
    """The absolute path of a file without symbolic links; ``file`` itself if it cannot be resolved."""
    try:
        return str(Path(file).resolve())
    except (OSError, ValueError, RuntimeError):
        return file


def _named(name: str, wanted: str) -> bool:
    return name == wanted or name.endswith(f".{wanted}")
