# SPDX-License-Identifier: Apache-2.0
"""The schemes of ``offramp plan`` side by side: bytes, passes and time, predicted and measured."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from offramp_cli import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from offramp.switchgnn import Planner, Scheme
    from offramp.switchgnn.planner import Option

MAX_CUT_EDGES = 200_000
"""Most cut edges for which all schemes are compared by default, which takes seconds."""


def compare(console: Console, planner: Planner, schemes: Sequence[Scheme], width: int) -> list[Option]:
    """Plan every scheme that fits, with a progress bar.

    Raises:
        OfframpError: none fits.
    """
    from rich.progress import Progress

    # A single slice is as without.
    schemes = [s for s in schemes if not s.chunk_major or s.slices(width, planner.lanes) > 1]
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("comparing schemes", total=len(schemes))
        return planner.options(schemes, width, lambda _: progress.advance(task))


def measure(console: Console, options: Sequence[Option], seed: int) -> list[dict[str, float]]:
    """Run one exchange of each through an embedded switch and check exact sums; returns bytes and seconds of each.

    Raises:
        OfframpError: sums differ from those of the cut edges.
    """
    from rich.progress import track

    from offramp_sim.switchgnn import check_exchange, make_switch_for

    rows = []
    for option in track(options, "measuring", console=console, transient=True, disable=not console.is_terminal):
        switch = make_switch_for(option.scheme_plan)
        measured = check_exchange(option.scheme_plan, switch.process, seed)
        rows.append(
            {
                "wire_up": measured.traffic.wire_up,
                "wire_down": measured.traffic.wire_down,
                "seconds": measured.seconds,
                "switch_seconds": measured.switch_seconds,
            }
        )
    return rows


def as_numbers(options: Sequence[Option], measured: Sequence[dict[str, float]]) -> list[dict[str, Any]]:
    """The options and measurements as JSON."""
    rows = []
    for i, option in enumerate(options):
        plan = option.scheme_plan
        row: dict[str, Any] = {
            "scheme": str(plan.scheme),
            "bits": plan.scheme.bits,
            "exact": plan.scheme.bits == 32,
            "rounds": plan.rounds,
            "aggregators_peak": plan.plan.aggregators_peak,
            "packets_up": plan.packets_up,
            "packets_down": plan.packets_down,
            "passes": plan.passes,
            "recirculations": plan.recirculations,
            "wire_up": plan.wire_up,
            "wire_down": plan.wire_down,
            "by_hosts": plan.by_hosts.wire_bytes,
            "imbalance": plan.imbalance,
            "predicted": asdict(option.prediction),
        }
        if measured:
            row["measured"] = measured[i]
        rows.append(row)
    return rows


def print_schemes(console: Console, rows: Sequence[dict[str, Any]], chosen: str) -> None:
    """Print ``rows``, the fastest first, with the chosen one marked."""
    from offramp.report.units import duration, number, si

    headings = ["", "scheme", "wire up", "wire down", "by hosts", "passes", "rounds", "busiest/mean", "predicted"]
    if rows and "measured" in rows[0]:
        headings.append("measured")
    table = show.table(*headings, left=("", "scheme"), title="one exchange under each scheme, all workers", whole=True)
    alike: dict[tuple[Any, ...], list[str]] = {}
    for row in sorted(rows, key=lambda row: (-row["bits"], row["predicted"]["seconds"])):
        cells = [si(row["wire_up"], "B"), si(row["wire_down"], "B"), si(row["by_hosts"], "B")]
        cells += [number(row["passes"]), number(row["rounds"]), f"{row['imbalance']:.2f}"]
        cells.append(duration(row["predicted"]["seconds"]))
        if "measured" in row:
            cells.append(duration(row["measured"]["seconds"]))
        alike.setdefault((row["bits"], *cells), []).append(row["scheme"])
    for (bits, *cells), names in alike.items():
        mark = "*" if chosen in names else ""
        style = "bold" if mark else "dim" if bits < 32 else None
        shown = sorted(names, key=lambda name: name != chosen)  # the chosen one first
        table.add_row(mark, "\n".join(shown), *map(str, cells), style=style)
    show.print_table(console, table)
    console.print(
        "\n* chosen. q16 and q8 round features to 16 and 8 bits, stochastically: they change what is computed, and "
        "are chosen only where --scheme names them. Schemes that stand together cost the same."
    )
