# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate g3``: pipelines of full-graph training on workers with devices, links and network cards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from offramp_base.errors import OfframpError
from offramp_cli.json_file import expect_writable, write_json
from offramp_cli.switch.stages import stages

if TYPE_CHECKING:
    from offramp_sim.figures.panels import Gantt
    from offramp_sim.g3.pipeline import Pipelined

_SHOWN = 4
"""Workers in a picture."""


def g3(
    graph: Annotated[
        str, typer.Option(help="A graph as of offramp train: a generator (ba:n=2000,m=5), karate, FILE.npz, …")
    ] = "ba:n=2000,m=5",
    workers: Annotated[int, typer.Option(help="Machines with one device each.")] = 8,
    partition: Annotated[str, typer.Option(help="As of offramp train: g3, metis, chunk, random, …")] = "g3",
    layers: Annotated[int, typer.Option(help="Of the model.")] = 3,
    hidden: Annotated[int, typer.Option(help="Width of the hidden layers.")] = 16,
    link: Annotated[str, typer.Option(help="Rate of each network card: 10G, 100M.")] = "10G",
    device_link: Annotated[str, typer.Option(help="Rate between host and device.")] = "100G",
    targets: Annotated[int | None, typer.Option(help="Vertices of a bin; default: a sixteenth of a worker's.")] = None,
    mode: Annotated[
        list[str] | None, typer.Option(help="sequential | inter | intra | g3; several: repeat; default: all.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of graph and partition.")] = 0,
    plot: Annotated[str | None, typer.Option(help="Write what every engine does over time to this .png.")] = None,
    json_path: Annotated[str | None, typer.Option("--json", help="Write the numbers to this file.")] = None,
) -> None:
    """Simulate a forward pass of G3's pipelines and their baselines: bins that load, compute, unload and travel."""
    from rich.console import Console
    from rich.table import Table

    from offramp.graph.load import load
    from offramp.graph.partition import partition as cut
    from offramp_cli.switch.traffic import parse_rate
    from offramp_sim.g3.pipeline import MODES, Costs, simulate

    expect_writable("--plot", plot)
    expect_writable("--json", json_path)
    chosen = list(dict.fromkeys(mode or MODES))
    for name in chosen:
        if name not in MODES:
            raise OfframpError(f"--mode {name}: expected one of {', '.join(MODES)}")
    for flag, number in (("layers", layers), ("hidden", hidden), ("workers", workers)):
        if number < 1:
            raise OfframpError(f"--{flag} {number}: expected at least 1")
    if targets is not None and targets < 1:
        raise OfframpError(f"--targets {targets}: expected at least 1")
    rate = parse_rate(device_link, "--device-link") / 8
    costs = Costs(load_bps=rate, unload_bps=rate, send_bps=parse_rate(link, "--link") / 8)
    console = Console(highlight=False)
    found: dict[str, Pipelined] = {}
    with stages(console) as stage:
        stage("partition")
        made = load(graph, seed, None)
        owner = cut(made, workers, partition, seed)
        each = targets or max(1, -(-made.vertices // (16 * workers)))
        widths = [made.width or hidden, *[hidden] * (layers - 1), max(made.classes, 1)]
        for name in chosen:
            stage(name)
            found[name] = simulate(made, owner, widths, name, costs, targets=each)
    table = Table(
        box=None, pad_edge=False, title=f"{made.name}, {workers} workers, layers {widths}", title_justify="left"
    )
    for title in ("pipeline", "ms", "against the slowest", "device computes", "card sends", "MB sent"):
        table.add_column(title, justify="left" if title == "pipeline" else "right")
    slowest = max(outcome.seconds for outcome in found.values())
    for name, outcome in found.items():
        table.add_row(
            name,
            f"{outcome.seconds * 1e3:.3f}",
            f"{100 * (outcome.seconds / slowest - 1):+.1f} %",
            f"{100 * outcome.busy('compute'):.0f} %",
            f"{100 * outcome.busy('send'):.0f} %",
            f"{outcome.bytes_sent / 1e6:.2f}",
        )
    console.print(table)
    bound = max(outcome.bound_s for outcome in found.values())
    console.print(f"no pipeline of these bins takes less than {bound * 1e3:.3f} ms: the busiest engine of any worker")
    if plot is not None:
        from pathlib import Path

        from offramp_sim.figures.plot import draw

        draw([_gantt(name, outcome) for name, outcome in found.items()], f"G3: {made.name}", Path(plot))
        console.print(f"plot: {plot}", soft_wrap=True)
    numbers = {
        name: {
            "seconds": o.seconds,
            "bound_s": o.bound_s,
            "bytes_sent": o.bytes_sent,
            "busy": {engine: o.busy(engine) for engine in ("load", "compute", "unload", "send")},
        }
        for name, o in found.items()
    }
    settings = {
        "graph": graph,
        "workers": workers,
        "partition": partition,
        "widths": widths,
        "targets": each,
        "seed": seed,
    }
    write_json(json_path, {"settings": settings, "pipelines": numbers})


def _gantt(name: str, outcome: Pipelined) -> Gantt:
    """What the first workers' engines do, by layer."""
    from offramp_sim.figures.panels import Gantt
    from offramp_sim.g3.pipeline import ENGINES

    workers = sorted({span.worker for span in outcome.spans})[:_SHOWN]
    rows = tuple(f"{worker} {engine}" for worker in workers for engine in ENGINES)
    spans: dict[str, list[tuple[int, float, float]]] = {}
    for span in outcome.spans:
        if span.worker in workers and span.length_s > 0:
            row = workers.index(span.worker) * len(ENGINES) + span.engine
            spans.setdefault(f"layer {span.layer}", []).append((row, span.start_s * 1e3, span.length_s * 1e3))
    return Gantt(f"{name}: {outcome.seconds * 1e3:.2f} ms", "ms", rows, spans)
