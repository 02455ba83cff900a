# SPDX-License-Identifier: Apache-2.0
"""The fabric drawn with every link, and the same as a table: rate, and bytes by each alternative."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import hypot
from typing import TYPE_CHECKING, Final

from offramp.report.layout import FabricLayout, layout_of
from offramp.report.sections import card
from offramp.report.units import si, tick

if TYPE_CHECKING:
    from offramp.report.outcome import DrawnFabric, FabricLink, FabricMachine, Outcome
    from offramp.report.palette import Palette

_BETWEEN, _HIGH = 16, 34
_THINNEST, _THICKEST = 1.5, 9.0
_LETTERS: Final = 12
_MOST_RATES: Final = 24
"""Most links whose rate is written beside them; the table has all."""
_UNCOUNTED: Final = "not counted"


def fabric(outcome: Outcome, palette: Palette) -> str:
    """Racks, links and bytes of an outcome; empty if it has no network."""
    if outcome.fabric is None or not outcome.fabric.nodes:
        return ""
    ran = _alternatives(outcome)
    caption = (
        "A link is as wide as its bytes in both directions, compared with the busiest one's; dashed: nobody counted. "
        "Each link tells its rate and bytes when the pointer rests on it, and the table has all of them."
    )
    drawing = f'<div class="scroll">{_drawing(outcome.fabric, ran, palette)}</div>'
    return (
        f"<h3>Bytes on every link</h3>{palette.key(ran)}{card(drawing, caption)}"
        f"{card(_table(outcome.fabric.links, ran, palette))}"
    )


def _alternatives(outcome: Outcome) -> list[str]:
    """Alternatives that ran, or whose bytes are known."""
    assert outcome.fabric is not None
    counted = {name for link in outcome.fabric.links for name in link.bytes_by}
    known = [each.name for each in outcome.alternatives if each.measured_s or each.name in counted]
    return known + sorted(counted.difference(known))


def _drawing(fabric: DrawnFabric, ran: Sequence[str], palette: Palette) -> str:
    plan = layout_of(fabric)
    busiest = max((sum(moved) for link in fabric.links for moved in link.bytes_by.values()), default=0)
    drawn = [_rack(name, members, plan) for name, members in plan.racks.items()]
    drawn += [_link(each, busiest, plan, ran, palette) for each in fabric.links]
    if len(fabric.links) <= _MOST_RATES:
        drawn += [_rate(each, plan) for each in fabric.links]
    drawn += [_node(each, plan) for each in fabric.nodes]
    size = f'viewBox="0 0 {plan.width:.0f} {plan.height:.0f}" width="{plan.width:.0f}" height="{plan.height:.0f}"'
    label = f"{len(fabric.nodes)} nodes and {len(fabric.links)} links"
    return f'<svg class="fabric" {size} role="img" aria-label="{label}">{"".join(drawn)}</svg>'


def _rack(name: str, members: Sequence[str], plan: FabricLayout) -> str:
    xs, ys = zip(*(plan.places[each] for each in members), strict=True)
    x, y = min(xs) - plan.column / 2 + 2, min(ys) - 28
    width, height = max(xs) - min(xs) + plan.column - 4, max(ys) - min(ys) + 56
    box = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect class="rack" {box} rx="9"><title>{escape(f"rack {name}")}</title></rect>'


def _node(node: FabricMachine, plan: FabricLayout) -> str:
    (x, y), width, height = plan.places[node.name], plan.column - _BETWEEN, _HIGH
    name = node.name if len(node.name) <= _LETTERS else f"{node.name[: _LETTERS - 1]}\N{HORIZONTAL ELLIPSIS}"
    rounded = 3 if node.role == "switch" else 9
    return (
        f'<g class="node is-{node.role}"><title>{escape(f"{node.name}: {node.role}")}</title>'
        f'<rect x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width}" height="{height}" rx="{rounded}"/>'
        f'<text class="middle" x="{x:.1f}" y="{y + 4.5:.1f}">{escape(name)}</text></g>'
    )


def _link(link: FabricLink, busiest: int, plan: FabricLayout, ran: Sequence[str], palette: Palette) -> str:
    """The strands of a link, one for each alternative whose bytes are known, and its words."""
    shares = [(name, sum(link.bytes_by[name]) / busiest if busiest else 0.0) for name in ran if name in link.bytes_by]
    strands = [(palette.style(name), _THINNEST + (_THICKEST - _THINNEST) * share) for name, share in shares]
    if not strands:
        strands = [("uncounted", _THINNEST)]
    offset = -(sum(width for _, width in strands) + len(strands) - 1) / 2
    drawn = []
    for style, width in strands:
        drawn.append(
            f'<path class="line {style}" stroke-width="{width:.2f}" d="{_path(link, plan, offset + width / 2)}"/>'
        )
        offset += width + 1
    hit = f'<path class="hit" d="{_path(link, plan, 0.0)}"/>'
    words = "; ".join([f"{link.ends[0]} - {link.ends[1]}: {rate(link)}", *(_words(link, name) for name in ran)])
    return f'<g class="link"><title>{escape(words)}</title>{"".join(drawn)}{hit}</g>'


def _path(link: FabricLink, plan: FabricLayout, offset: float) -> str:
    (x0, y0), (x1, y1) = (plan.places[name] for name in link.ends)
    length = hypot(x1 - x0, y1 - y0) or 1.0
    dx, dy = -(y1 - y0) / length * offset, (x1 - x0) / length * offset
    start, end = f"{x0 + dx:.1f} {y0 + dy:.1f}", f"{x1 + dx:.1f} {y1 + dy:.1f}"
    if y0 == y1 and abs(x1 - x0) > plan.column * 1.5:  # around the nodes between its ends
        return f"M{start} Q{(x0 + x1) / 2:.1f} {y0 + 62 + dy:.1f} {end}"
    return f"M{start} L{end}"


def _rate(link: FabricLink, plan: FabricLayout) -> str:
    (x0, y0), (x1, y1) = (plan.places[name] for name in link.ends)
    if y0 == y1:
        return ""
    if y0 < y1:
        (x0, y0), (x1, y1) = (x1, y1), (x0, y0)
    x, y = x0 + (x1 - x0) * 0.08, y0 + (y1 - y0) * 0.25  # at the lower end, where links lie apart
    return f'<text class="rate middle" x="{x:.1f}" y="{y + 4:.1f}">{escape(rate(link))}</text>'


def rate(link: FabricLink) -> str:
    """The rate of a link in words."""
    return "no limit" if link.rate_bps is None else tick(link.rate_bps, "bit/s")


def _words(link: FabricLink, name: str) -> str:
    if name not in link.bytes_by:
        return f"{name}: {_UNCOUNTED}"
    first, second = link.bytes_by[name]
    return f"{name}: {si(first, 'B')} from {link.ends[0]}, {si(second, 'B')} from {link.ends[1]}"


def _table(links: Sequence[FabricLink], ran: Sequence[str], palette: Palette) -> str:
    head = "".join(f"<th>{text}</th>" for text in ("link", "rate", *(f"{palette.chip(name)}" for name in ran)))
    rows = []
    for link in links:
        a, b = link.ends
        cells = [f"<td>{escape(a)} \N{EN DASH} {escape(b)}</td>", f'<td data-label="rate">{escape(rate(link))}</td>']
        for name in ran:
            moved = link.bytes_by.get(name)
            if moved is None:
                cells.append(f'<td class="absent" data-label="{escape(name)}">{_UNCOUNTED}</td>')
            else:
                text = f"{si(moved[0], 'B')} \N{RIGHTWARDS ARROW}<br>\N{LEFTWARDS ARROW} {si(moved[1], 'B')}"
                cells.append(f'<td data-label="{escape(name)}">{text}</td>')
        rows.append(f"<tr>{''.join(cells)}</tr>")
    note = '<p class="note">\N{RIGHTWARDS ARROW}: from the first end; \N{LEFTWARDS ARROW}: from the second.</p>'
    body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'<div class="long"><table class="blocks links">{body}</table></div>{note}'
