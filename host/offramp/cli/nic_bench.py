"""``offramp nic bench``: SwitchGNN's frames a second, by the agent and in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from offramp.cli.json_file import expect_writable, write_json
from offramp.errors import OfframpError

if TYPE_CHECKING:
    from offramp_sim.nic.bench import NicRate

METHOD = (
    "One worker of SwitchGNN, 178-byte frames both ways, against an end that answers at once; veth: packet sockets, "
    "memif: shared memory of two processes. testpmd: flowgen against macswap, frames of the same length. "
    "The best of the rounds."
)


def bench(
    link: Annotated[
        list[str] | None, typer.Option("--link", "-l", help="veth | memif; again for more.", show_default=False)
    ] = None,
    seconds: Annotated[float, typer.Option(min=0, help="Of each measurement.")] = 2.0,
    rounds: Annotated[int, typer.Option(min=1, help="Measurements of each kind.")] = 3,
    seed: Annotated[int, typer.Option(min=0, help="Of graph and features.")] = 0,
    json_path: Annotated[str | None, typer.Option("--json", help="Write the results to this file.")] = None,
) -> None:
    """Measure the agent beside the transport in Python and DPDK's testpmd, in one run (root: network namespaces)."""
    from rich.progress import track

    from offramp_sim.nic.bench import LINKS, WAYS, measure

    expect_writable("--json", json_path)
    links = list(link or LINKS)
    for name in links:
        if name not in LINKS:
            raise OfframpError(f"--link {name}: expected {' or '.join(LINKS)}")
    best: dict[tuple[str, str], NicRate] = {}
    cases = [(one, way) for one in links for way in WAYS if way != "python" or one == "veth"]
    for one, way in track(cases * rounds, "measuring", transient=True):
        found = measure(one, way, seconds, seed)
        if (one, way) not in best or found.frames_per_s > best[one, way].frames_per_s:
            best[one, way] = found
    _show(list(best.values()))
    numbers = [{**rate._asdict(), "frames_per_s": rate.frames_per_s} for rate in best.values()]
    write_json(json_path, {"method": METHOD, "rates": numbers})


def _show(rates: list[NicRate]) -> None:
    from rich.console import Console
    from rich.table import Table

    python = next((rate.frames_per_s for rate in rates if rate.way == "python"), None)
    limits = {rate.link: rate.frames_per_s for rate in rates if rate.way == "testpmd"}
    table = Table("link", "by", title="thousand frames a second, both ways", title_justify="left")
    for title in ("rate", "times Python", "of testpmd", "fetched again"):
        table.add_column(title, justify="right")
    for rate in rates:
        times = f"{rate.frames_per_s / python:.1f}" if python else ""
        share = f"{rate.frames_per_s / limits[rate.link]:.0%}" if rate.link in limits else ""
        table.add_row(rate.link, rate.way, f"{rate.frames_per_s / 1e3:,.0f}", times, share, f"{rate.lost:,}")
    console = Console(highlight=False, soft_wrap=True)
    console.print(table)
    console.print(METHOD)
