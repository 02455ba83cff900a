# SPDX-License-Identifier: Apache-2.0
"""``offramp transport bench``: the speed of each transport between a host and the switch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from offramp_base import Field, OfframpError
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable

    from offramp_sim.transports import ExchangeRate, LinkRate

SIZES = (64, 178, 512, 1500)
METHOD = (
    "Links: frames from a host to a switch's port in another process and namespace, over a veth pair (unix: over a "
    "socket), at most 2,048 in flight. "
    "Exchange: SwitchGNN, 4 worker processes, 800 vertices with 64 features, embedded switch. "
    "The best of the rounds, each of which goes through all transports."
)


def _transports() -> list[str]:
    from offramp_base.transport.links import TRANSPORTS

    return list(TRANSPORTS)


@dataclass(frozen=True)
class TransportBench:
    """Settings of the measurement."""

    transport: Annotated[tuple[str, ...], Field("Only these; repeatable", choices=_transports, short="-t")] = ()
    size: Annotated[tuple[int, ...], Field("Frame size in bytes; repeatable", least=22, most=1500)] = SIZES
    seconds: Annotated[float, Field("Seconds of each measurement", least=0)] = 1.0
    rounds: Annotated[int, Field("Measurements of each kind", least=1)] = 3
    exchange: Annotated[bool, Field("Also measure SwitchGNN's exchange")] = True
    seed: Annotated[int, Field("Random seed for frames, graph and features", least=0)] = 0


@command(TransportBench, Result, example="transport bench -t unix --seconds 0.2 --no-exchange --json -")
def bench(settings: TransportBench, result: Result) -> None:
    """Measure frames per second over a link, and SwitchGNN's exchange, for every transport."""
    from rich.progress import track

    from offramp_sim.transports import ExchangeRate, LinkRate

    plan = _plan(
        list(settings.transport or _transports()),
        settings.size,
        settings.seconds,
        settings.rounds,
        settings.exchange,
        settings.seed,
    )
    results: list[LinkRate | ExchangeRate] = []
    skipped: dict[str, str] = {}
    for name, run in track(plan, "measuring", transient=True):
        if name in skipped:
            continue
        try:
            results.append(run())
        except OfframpError as error:
            skipped[name] = str(error)
    links = _best([r for r in results if isinstance(r, LinkRate)])
    exchanges = _fastest([r for r in results if isinstance(r, ExchangeRate)])
    _show(links, exchanges, skipped)
    result.write("offramp.transport.bench/1", _plain(links, exchanges, skipped))


def _plan(
    names: list[str], sizes: list[int] | tuple[int, ...], seconds: float, rounds: int, exchange: bool, seed: int
) -> list[tuple[str, Callable[[], LinkRate | ExchangeRate]]]:
    from functools import partial

    from offramp_sim.transports import measure_exchange, measure_link

    plan: list[tuple[str, Callable[[], LinkRate | ExchangeRate]]] = []
    for _ in range(rounds):
        plan += [(name, partial(measure_link, name, size, seconds, seed)) for size in sizes for name in names]
        if exchange:
            plan += [(name, partial(measure_exchange, name, seconds, seed=seed)) for name in names]
    return plan


def _best(rates: list[LinkRate]) -> list[LinkRate]:
    """The fastest measurement of each transport and size."""
    best: dict[tuple[str, int], LinkRate] = {}
    for rate in sorted(rates, key=lambda r: r.frames_per_s):
        best[rate.transport, rate.size] = rate
    return list(best.values())


def _fastest(rates: list[ExchangeRate]) -> list[ExchangeRate]:
    """The fastest measurement of each transport."""
    return list({r.transport: r for r in sorted(rates, key=lambda r: -r.median_s)}.values())


def _show(links: list[LinkRate], exchanges: list[ExchangeRate], skipped: dict[str, str]) -> None:
    from rich.table import Table

    table = Table(
        title="thousand frames per second, by bytes of a frame, and SwitchGNN's exchange", title_justify="left"
    )
    table.add_column("transport", no_wrap=True)
    sizes = sorted({r.size for r in links})
    for size in sizes:
        table.add_column(f"{size:,} B", justify="right")
    for title in ("exchange", "its ms", "lost"):
        table.add_column(title, justify="right")
    rates = {(r.transport, r.size): r for r in links}
    ways = {r.transport: r for r in exchanges}
    for name in _transports():
        mine = [rates.get((name, size)) for size in sizes]
        way = ways.get(name)
        if way is None and not any(mine):
            continue
        cells = [f"{1e-3 * rate.frames_per_s:,.0f}" if rate else "" for rate in mine]
        cells += [f"{1e-3 * way.frames_per_s:,.0f}", f"{1e3 * way.median_s:,.1f}"] if way else ["", ""]
        lost = sum(rate.lost for rate in mine if rate) + (way.lost if way else 0)
        table.add_row(name, *cells, f"{lost:,}")
    console = show.console(wrap=False)
    console.print(table)
    for name, reason in skipped.items():
        console.print(f"{name}: not measured: {reason}", markup=False)
    console.print(METHOD)


def _plain(links: list[LinkRate], exchanges: list[ExchangeRate], skipped: dict[str, str]) -> dict[str, object]:
    from dataclasses import asdict

    return {
        "method": METHOD,
        "skipped": skipped,
        "links": [{**asdict(r), "frames_per_s": r.frames_per_s, "gbit_per_s": r.gbit_per_s} for r in links],
        "exchanges": [{**asdict(r), "frames_per_s": r.frames_per_s} for r in exchanges],
    }
