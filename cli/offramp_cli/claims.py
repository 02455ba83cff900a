# SPDX-License-Identifier: Apache-2.0
"""``offramp reproduce --claims``: the documents' claims in one table, judged by the referee."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from offramp_base import OfframpError
from offramp_base.progress import listen
from offramp_cli import show
from offramp_cli.picture import draw_if_possible
from offramp_cli.stages import stages

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rich.console import Console

    from offramp_sim.reproduce import Item
    from offramp_sim.reproduce.claims.claim import Claim, Judgement
    from offramp_sim.reproduce.referee.case import CaseResult, ItemCase
    from offramp_sim.reproduce.referee.run import RefereeSettings
    from offramp_sim.reproduce.referee.search import Nearest

_HEADLINE_SEEDS: Final = 5


def judge_claims(
    console: Console,
    items: Sequence[Item],
    referee: RefereeSettings,
    examined: Callable[[Item, RefereeSettings], list[CaseResult]],
    ran: Callable[[Sequence[ItemCase]], list[CaseResult]],
    seconds: Callable[[Item, RefereeSettings], float],
    out: Path,
) -> dict[str, Any]:
    """Referee the items that claims rest on, print and write the table; returns the result for JSON.

    Args:
        console: where to print.
        items: items whose claims are judged.
        referee: settings of the referee.
        examined: returns the rows of an item under the referee's settings.
        ran: returns the rows of cases, for a search.
        seconds: returns how long ``examined`` takes, a search apart.
        out: folder for the table and the pictures.

    Raises:
        OfframpError: no claim rests on the items, or the file of rows is another's.
    """
    from offramp_sim.reproduce.claims.claim import judge
    from offramp_sim.reproduce.claims.table import claims_of
    from offramp_sim.reproduce.claims.text import as_markdown, panel
    from offramp_sim.reproduce.duration import about

    wanted = {item: claims for item in items if (claims := claims_of(item.name))}
    if not wanted:
        raise OfframpError(f"--claims: no document claims anything about {', '.join(item.name for item in items)}")
    judged: list[Judgement] = []
    nearest: list[Nearest] = []
    for place, (item, claims) in enumerate(wanted.items(), 1):
        chosen = _with_seeds(referee, claims)
        with stages(console) as stage:
            name = f"{item.name} ({place} of {len(wanted)}; about {about(seconds(item, chosen))})"
            stage(name)
            with listen(partial(_advance, stage, name)):
                rows = examined(item, chosen)
                judged += [judge(claim, item, rows) for claim in claims]
                if referee.search:
                    nearest += _searched(item, claims, rows, referee.search, ran)
    _show(console, judged, nearest)
    path = out / "claims.md"
    path.write_text(as_markdown(judged, nearest), encoding="utf-8")
    console.print(f"table: {path}")
    picture, shown = out / "claims.svg", panel(judged)
    if shown is not None and draw_if_possible(console, [shown], "Numbers that documents claim", picture):
        console.print(f"plot: {picture}")
    return {"claims": [asdict(each) for each in judged], "nearest": [asdict(each) for each in nearest]}


def _with_seeds(referee: RefereeSettings, claims: Sequence[Claim]) -> RefereeSettings:
    """Settings with at least five seeds if a paper's summary rests on a number."""
    least = _HEADLINE_SEEDS if any(claim.headline for claim in claims) else 1
    return replace(referee, seeds=max(least, referee.seeds))


def _searched(
    item: Item,
    claims: Sequence[Claim],
    rows: Sequence[CaseResult],
    tries: int,
    ran: Callable[[Sequence[ItemCase]], list[CaseResult]],
) -> list[Nearest]:
    from offramp_sim.reproduce.referee.search import search

    numbers = dict.fromkeys(claim.number for claim in claims if claim.headline)
    searches = (search(item, number, rows, tries, ran) for number in numbers)
    return [each for each in searches if each is not None]


def _show(console: Console, judged: Sequence[Judgement], nearest: Sequence[Nearest]) -> None:
    from offramp_sim.reproduce.claims.text import number, settings_of

    headings = ("claim", "claimed", "from", "median", "to", "kind", "verdict", "where")
    table = show.table(
        *headings, left=("claim", "claimed", "kind", "verdict", "where"), title="Claims of the documents"
    )
    for each in judged:
        spread = [number(value) for value in (each.low, each.middle, each.high)]
        claim = each.claim
        verdict = each.ruling.value
        table.add_row(claim.name, claim.bounds, *spread, each.evidence, verdict, claim.conditions or "everywhere")
    show.print_table(console, table)
    for each in judged:
        if each.turns:
            console.print(f"{each.claim.name}: turns at {'; '.join(each.turns)}", markup=False)
        if each.elsewhere:
            console.print(f"{each.claim.name}: not claimed, and not so, at {settings_of(each)}", markup=False)
    if nearest:
        near = show.table(
            "headline number", "paper", "nearest", "distance", "settings", left=("headline number", "settings")
        )
        for case in nearest:
            what = f"{case.item}: {case.what}"
            near.add_row(what, case.published, case.ours, f"{case.distance:.3g}", case.case.name)
        show.print_table(console, near)


def _advance(stage: Any, name: str, what: str, done: int, total: int) -> None:
    stage.advance(f"{name}: {what}", done, total)
