# SPDX-License-Identifier: Apache-2.0
"""``offramp nic bench``: SwitchGNN's frames a second, by the agent and in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from offramp_base.errors import OfframpError
from offramp_cli.json_file import expect_writable, write_json

if TYPE_CHECKING:
    from offramp_sim.nic.bench import NicRate

METHOD = (
    "One worker of SwitchGNN, frames of 178 bytes both ways, against an end that answers at once; features to sums. "
    "Python: NumPy and packet sockets, as in training, without compiled code of its own. testpmd: flowgen against "
    "macswap, frames of the same length. veth: packet sockets, through the kernel; memif: shared memory of two "
    "processes; loop: rings in one process, the other end on the same core. The best of the rounds. CPU: of a frame, "
    "worker's process and agent."
)


def bench(
    link: Annotated[
        list[str] | None,
        typer.Option("--link", "-l", help="veth | memif | loop; again for more.", show_default=False),
    ] = None,
    seconds: Annotated[float, typer.Option(min=0, help="Of each measurement.")] = 2.0,
    rounds: Annotated[int, typer.Option(min=1, help="Measurements of each kind, in turn.")] = 3,
    vertices: Annotated[int, typer.Option(min=10, help="Of the graph, all in one block.")] = 4000,
    seed: Annotated[int, typer.Option(min=0, help="Of graph and features.")] = 0,
    json_path: Annotated[str | None, typer.Option("--json", help="Write the results to this file.")] = None,
) -> None:
    """Measure the agent beside the transport in Python and DPDK's testpmd, in one run (root: network namespaces)."""
    from rich.progress import track

    from offramp_sim.nic.bench import WAYS, measure
    from offramp_sim.nic.links import LINKS

    expect_writable("--json", json_path)
    links = list(link or LINKS)
    for name in links:
        if name not in LINKS:
            raise OfframpError(f"--link {name}: expected {', '.join(LINKS)}")
    best: dict[tuple[str, str], NicRate] = {}
    cases = [("veth", "python")] + [(one, way) for one in links for way in WAYS if way != "python"]
    for one, way in track(cases * rounds, "measuring", transient=True):
        found = measure(one, way, seconds, seed, vertices)
        if (one, way) not in best or found.frames_per_s > best[one, way].frames_per_s:
            best[one, way] = found
    _show(list(best.values()))
    numbers = [
        {**rate._asdict(), "frames_per_s": rate.frames_per_s, "cpu_ns_per_frame": rate.cpu_ns_per_frame}
        for rate in best.values()
    ]
    write_json(json_path, {"method": METHOD, "rates": numbers})


def _show(rates: list[NicRate]) -> None:
    from rich.console import Console
    from rich.table import Table

    python = rates[0]
    limits = {rate.link: rate.frames_per_s for rate in rates if rate.way == "testpmd"}
    table = Table("link", "by", title="thousand frames a second, both ways", title_justify="left")
    for title in ("rate", "times Python", "of testpmd", "CPU, ns", "host", "times less"):
        table.add_column(title, justify="right")
    for rate in rates:
        table.add_row(
            rate.link,
            rate.way,
            f"{rate.frames_per_s / 1e3:,.0f}",
            f"{rate.frames_per_s / python.frames_per_s:.1f}",
            f"{rate.frames_per_s / limits[rate.link]:.0%}" if rate.link in limits else "",
            f"{rate.cpu_ns_per_frame:,.0f}",
            f"{rate.host_ns / rate.frames:,.0f}",
            f"{python.cpu_ns_per_frame / rate.cpu_ns_per_frame:.1f}",
        )
    console = Console(highlight=False, soft_wrap=True)
    console.print(table)
    console.print(METHOD)
