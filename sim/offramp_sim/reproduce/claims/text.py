# SPDX-License-Identifier: Apache-2.0
"""Judgements as Markdown and as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from offramp_sim.figures.panels import Intervals
from offramp_sim.reproduce.claims.claim import Claim, Judgement
from offramp_sim.reproduce.item import range_in
from offramp_sim.reproduce.referee.search import Nearest

_SHOWN: Final = 1
_HEAD: Final = """\
# Claims and their verdicts

A claim is a sentence of a document that rests on a number of a reproduction
([what a number is](reproductions.md#what-a-number-is)). It holds if the number lies within the claimed bounds in every
setting of the referee: all sizes, seeds and options. "Not in" counts settings for which nothing is claimed, and in
which the number lies outside the bounds. `offramp reproduce all --claims` writes this page.
"""


def as_markdown(judged: Sequence[Judgement], nearest: Sequence[Nearest]) -> str:
    """The tables of ``docs/claims.md``, one for each document that claims something."""
    lines = [_HEAD]
    for document in dict.fromkeys(each.claim.document for each in judged):
        lines += [f"## {document}", ""]
        lines += [*_row("Number", "Paper", "Claimed", "From, median, to", "Settings", "Verdict"), "|---" * 6 + "|"]
        lines += [row for each in judged if each.claim.document == document for row in _judged_row(each)]
        lines.append("")
    if nearest:
        lines += ["## Nearest to the papers' headline numbers", ""]
        lines.append(
            "A search moves one option of the item after the other to the value that brings our number nearest to the "
            "paper's. The distance is our number over the paper's or, for changes in percent, the difference in points."
        )
        lines += ["", *_row("Number", "Paper", "Nearest", "Distance", "Settings"), "|---" * 5 + "|"]
        for near in nearest:
            away = f"{near.distance:.3g}"
            lines += _row(f"{near.item}: {near.what}", near.published, near.ours, away, near.case.name)
    return "\n".join(lines).rstrip() + "\n"


def _judged_row(each: Judgement) -> list[str]:
    spread = ", ".join(map(number, (each.low, each.middle, each.high)))
    verdict = each.ruling.value
    if each.turns:
        verdict += f" at {_first(each.turns)}"
    if each.elsewhere:
        verdict += f"; not in {len(each.elsewhere)} others"
    settings = f"{each.settings}, {each.failed} failed" if each.failed else str(each.settings)
    return _row(each.claim.name, each.published, claimed(each.claim), spread, settings, verdict)


def claimed(claim: Claim) -> str:
    """The bounds of a claimed number, and where they hold."""
    return f"{claim.bounds}; {claim.conditions}" if claim.conditions else claim.bounds


def settings_of(each: Judgement) -> str:
    """Settings outside the claim in which it would not hold."""
    return _first(each.elsewhere)


def number(value: float | None) -> str:
    """A number as people read it."""
    return "" if value is None else f"{value:.4g}"


def panel(judged: Sequence[Judgement]) -> Intervals | None:
    """A panel of ours over the published number, where both are on one side of 0; None if there are none."""
    spans: dict[str, tuple[float, float, float]] = {}
    for each in judged:
        published = range_in(each.published)
        if published is None or published[0] == 0 or each.low is None or each.middle is None or each.high is None:
            continue
        low, middle, high = sorted(value / published[0] for value in (each.low, each.middle, each.high))
        if low > 0:
            spans[each.claim.name] = low, middle, high
    if not spans:
        return None
    return Intervals("least, median and most of all settings", "ours over the published number", spans)


def _first(names: Sequence[str]) -> str:
    more = f"; {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return "; ".join(names[:_SHOWN]) + more


def _row(*cells: str | None) -> list[str]:
    return [f"| {' | '.join((cell or '').replace('|', '/') for cell in cells)} |"]
