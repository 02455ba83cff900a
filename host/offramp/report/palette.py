# SPDX-License-Identifier: Apache-2.0
"""Colours of alternatives: one for each name on the whole page, whatever chart shows it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from offramp.report.outcome import Alternative, Outcome

NAMED: Final = ("local", "p2p", "strawman", "switch")
"""Alternatives that have a class of their own name in the style sheet, the same in every report."""
_STYLED: Final = 8
"""Further colours of the style sheet, ``alt1`` and so on; more are computed."""
_TURN: Final = 137.508
"""Degrees between the hues of computed colours: the golden angle, so that none is close to those before it."""


def key(colours: Iterable[tuple[str, str]]) -> str:
    """Legend of classes of the style sheet and the names of those that have their colours."""
    items = "".join(f'<li class="{style}"><i></i><span>{escape(name)}</span></li>' for style, name in colours)
    return f'<ul class="legend">{items}</ul>'


@dataclass(frozen=True)
class Palette:
    """The colours of a page.

    Attributes:
        names: those that have a colour, in order.
    """

    names: tuple[str, ...]

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> Self:
        """The palette of a page: a colour for every alternative that something is drawn of."""
        names = [each.name for outcome in outcomes for each in outcome.alternatives if _is_drawn(outcome, each)]
        return cls(tuple(dict.fromkeys(names)))

    def style(self, name: str) -> str:
        """The class of an alternative; empty for one without a colour."""
        if name in NAMED:
            return name
        others = [each for each in self.names if each not in NAMED]
        return f"alt{others.index(name) + 1}" if name in others else ""

    def key(self, names: Sequence[str]) -> str:
        """Legend of those of these names that have colours."""
        return key([(self.style(name), name) for name in names if self.style(name)])

    def chip(self, name: str) -> str:
        """A name behind its colour."""
        style = self.style(name)
        return f'<span class="chip {style}"><i></i><span>{escape(name)}</span></span>' if style else escape(name)

    @property
    def css(self) -> str:
        """Rules for colours beyond those of the style sheet."""
        count = sum(name not in NAMED for name in self.names)
        return "".join(
            f".alt{k} {{ color: light-dark(hsl({hue:.0f} 55% 38%), hsl({hue:.0f} 60% 70%)); }}\n"
            for k in range(_STYLED + 1, count + 1)
            for hue in [k * _TURN % 360]
        )


def _is_drawn(outcome: Outcome, each: Alternative) -> bool:
    counted = outcome.fabric is not None and any(each.name in link.bytes_by for link in outcome.fabric.links)
    times = each.predicted_s is not None or each.modelled_s is not None or each.measured_s
    return bool(times or each.parts_s or each.curve or counted)
