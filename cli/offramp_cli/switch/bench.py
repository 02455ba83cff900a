# SPDX-License-Identifier: Apache-2.0
"""``offramp switch bench``: how fast the engines run a program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offramp_base.errors import OfframpError
from offramp_cli.switch.program import Define, Include, macro, write_json

if TYPE_CHECKING:
    from offramp_p4.bench.rates import Rate
    from offramp_p4.bench.workload import Workload

ENGINES = ("native", "python")
METHOD = (
    "memory: frames in memory, whole batches, the fastest quarter; bmv2 reads them from a capture file, not logging; "
    "its time is that between frames out. veth: through veth pairs, the best of several windows or paces without loss."
)


def bench(
    program: Annotated[
        Path | None,
        typer.Argument(help="P4-16 source for v1model; without it, SwitchGNN and a router.", show_default=False),
    ] = None,
    size: Annotated[int, typer.Option(min=14, max=9000, help="Bytes of a packet (with PROGRAM).")] = 64,
    seconds: Annotated[float, typer.Option(min=0, help="Time to run packets in each measurement.")] = 2.0,
    bmv2: Annotated[bool, typer.Option(help="Also measure simple_switch, if it is on PATH.")] = True,
    veth: Annotated[bool, typer.Option("--veth", help="Also over veth pairs (needs root).")] = False,
    include: Include = None,
    define: Define = None,
    seed: Annotated[int, typer.Option(min=0, help="Of packets and table entries.")] = 0,
    json_path: Annotated[Path | None, typer.Option("--json", help="Write the results to this file.")] = None,
) -> None:
    """Measure packets and passes a second of both engines, and of bmv2 in the same run."""
    from rich.progress import track

    from offramp_p4.reference import missing

    rates: list[Rate] = []
    skipped: dict[str, str] = {}
    absent = missing()
    if bmv2 and absent:
        skipped["bmv2"] = f"not on PATH: {', '.join(absent)}"
    plan = _plan(_workloads(program, include, define, size, seed), seconds, bmv2 and not absent, veth)
    for name, run in track(plan, "measuring", transient=True):
        try:
            rates.append(run())
        except OfframpError as error:
            skipped[name] = str(error)
    _show(rates, skipped)
    if json_path is not None:
        write_json("--json", json_path, {"method": METHOD, "skipped": skipped, "rates": [r.to_json() for r in rates]})


def _workloads(
    program: Path | None, include: list[Path] | None, define: list[str] | None, size: int, seed: int
) -> list[Workload]:
    if program is None:
        from offramp_sim.switchgnn.workloads import standard_workloads

        return standard_workloads(seed=seed)
    from offramp_p4.bench.random_entries import program_workload

    defines = dict(macro(text) for text in define or ())
    return [program_workload(program, include or (), defines, size=size, seed=seed)]


def _plan(workloads: list[Workload], seconds: float, bmv2: bool, veth: bool) -> list[tuple[str, Callable[[], Rate]]]:
    from functools import partial

    from offramp_p4.bench.bmv2 import measure_bmv2
    from offramp_p4.bench.rates import measure
    from offramp_p4.bench.veth import measure_veth

    plan: list[tuple[str, Callable[[], Rate]]] = []
    for workload in workloads:
        plan += [(f"{workload.name}, {engine}", partial(measure, workload, engine, seconds)) for engine in ENGINES]
        if bmv2:
            plan.append((f"{workload.name}, bmv2", partial(measure_bmv2, workload, seconds)))
        if veth:
            switches = [*ENGINES, *(["bmv2"] if bmv2 else [])]
            plan += [(f"{workload.name}, {s}, veth", partial(measure_veth, workload, s, seconds)) for s in switches]
    return plan


def _show(rates: list[Rate], skipped: dict[str, str]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("workload", "links", "switch", "packets/s", "passes/s", "ns/pass", "x bmv2", "load s")
    for column in table.columns[3:]:
        column.justify = "right"
    slowest = {(r.workload, r.links): r.passes_per_s for r in rates if r.switch == "bmv2"}
    for r in rates:
        yardstick = slowest.get((r.workload, r.links))
        ratio = "" if yardstick is None else f"{r.passes_per_s / yardstick:,.1f}"
        load = "" if r.load_s is None else f"{r.load_s:.2f}"
        numbers = f"{r.packets_per_s:,.0f}", f"{r.passes_per_s:,.0f}", f"{r.ns_per_pass:,.0f}"
        table.add_row(r.workload, r.links, r.switch, *numbers, ratio, load)
    console = Console(highlight=False, soft_wrap=True)
    console.print(table)
    for name, reason in skipped.items():
        console.print(f"{name}: not measured: {reason}", markup=False)
    console.print(METHOD)
