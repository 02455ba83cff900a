"""``offramp switch bench``: how fast the engines run a program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offramp.cli.p4_program import Define, Include, macro, write_json
from offramp.errors import OfframpError

if TYPE_CHECKING:
    from offramp_sim.p4.bench import Result

METHOD = (
    "Frames in memory, whole batches; each run starts afresh and the fastest counts. bmv2 reads them from a capture "
    "file without logging; its time is that between its first and its last frame out."
)


def bench(
    program: Annotated[
        Path | None, typer.Argument(help="P4-16 source for v1model; without it, SwitchGNN.", show_default=False)
    ] = None,
    size: Annotated[int, typer.Option(min=14, max=9000, help="Bytes of a packet (with PROGRAM).")] = 64,
    seconds: Annotated[float, typer.Option(min=0, help="Time to measure for each engine.")] = 2.0,
    bmv2: Annotated[bool, typer.Option(help="Also measure simple_switch, if it is on PATH.")] = True,
    include: Include = None,
    define: Define = None,
    seed: Annotated[int, typer.Option(min=0, help="Of packets and table entries.")] = 0,
    json_path: Annotated[Path | None, typer.Option("--json", help="Write the results to this file.")] = None,
) -> None:
    """Measure packets and passes a second of the engines on one program, and of bmv2 in the same run."""
    from offramp_sim.p4.bench import measure, measure_bmv2, program_workload, switchgnn_workload
    from offramp_sim.p4.bench.engines import ENGINES
    from offramp_sim.p4.reference import available

    if program is None:
        workload = switchgnn_workload(seed)
    else:
        defines = dict(macro(text) for text in define or ())
        workload = program_workload(program, include or (), defines, size=size, seed=seed)
    results, skipped = [], {}
    for engine in ENGINES:
        try:
            results.append(measure(workload, engine, seconds))
        except OfframpError as error:
            skipped[engine] = str(error)
    if bmv2 and not available():
        skipped["bmv2"] = "p4c-bm2-ss, simple_switch or simple_switch_CLI is not on PATH"
    elif bmv2:
        try:
            results.append(measure_bmv2(workload))
        except OfframpError as error:
            skipped["bmv2"] = str(error)
    _show(workload.name, results, skipped)
    if json_path is not None:
        found = {"workload": workload.name, "method": METHOD, "skipped": skipped}
        write_json("--json", json_path, {**found, "results": [result.to_json() for result in results]})


def _show(name: str, results: list[Result], skipped: dict[str, str]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("engine", "packets/s", "passes/s", "ns/pass", "load s", title=name, title_justify="left")
    for r in results:
        load = f"{r.load_s:.2f}" if r.load_s else ""
        table.add_row(r.engine, f"{r.packets_per_s:,.0f}", f"{r.passes_per_s:,.0f}", f"{r.ns_per_pass:,.0f}", load)
    console = Console(highlight=False, soft_wrap=True)
    console.print(table)
    for engine, reason in skipped.items():
        console.print(f"{engine}: not measured: {reason}", markup=False)
    console.print(METHOD)
