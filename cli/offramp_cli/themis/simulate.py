# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate themis``: collectives and training on networks of several dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from offramp_base.errors import OfframpError
from offramp_cli.json_file import expect_writable, write_json
from offramp_cli.size import parse_size

if TYPE_CHECKING:
    from offramp.themis.network import Network


def themis(
    network: Annotated[
        str, typer.Option(help="A network of the paper's table 2, a .toml file or one of ASTRA-sim's .yml files.")
    ] = "3D-SW_SW_SW_homo",
    size: Annotated[str, typer.Option(help="Size of the collective.")] = "1GB",
    collective: Annotated[
        str, typer.Option(help="all-reduce | reduce-scatter | all-gather | all-to-all.")
    ] = "all-reduce",
    scheduler: Annotated[
        list[str] | None,
        typer.Option(help="baseline | themis+fifo | themis+scf | themis+scf-size | balanced; several: repeat; all."),
    ] = None,
    chunks: Annotated[int, typer.Option(help="Chunks of a collective.")] = 64,
    threshold: Annotated[float, typer.Option(help="Themis: part of a chunk that loads may differ by.")] = 1 / 16,
    change: Annotated[
        list[str] | None,
        typer.Option(help="AT_US=F1,F2,…: from then on each dimension runs at this factor of its bandwidth."),
    ] = None,
    workload: Annotated[
        str | None, typer.Option(help="Train instead: resnet-152 | gnmt | dlrm | transformer-1t, or a file.")
    ] = None,
    iterations: Annotated[int, typer.Option(help="Training iterations.")] = 3,
    compute: Annotated[float, typer.Option(help="Factor on the workload's computation times.")] = 1.0,
    execute: Annotated[
        bool, typer.Option(help="Also run it: processes on this machine, dimensions limited to their bandwidth.")
    ] = False,
    namespaces: Annotated[
        bool,
        typer.Option(help="With --execute: veth interfaces behind HTB in namespaces, not token buckets (root)."),
    ] = False,
    seed: Annotated[int, typer.Option(help="Values that --execute sums.")] = 0,
    plot: Annotated[str | None, typer.Option(help="Write utilisation and operations over time to this .png.")] = None,
    json_path: Annotated[str | None, typer.Option("--json", help="Write the numbers to this file.")] = None,
) -> None:
    """Schedule a collective, or train a model, on a network of several dimensions: the baseline, Themis and better."""
    from rich.console import Console

    from offramp.themis.network import Collective
    from offramp.themis.network_file import load_network
    from offramp.themis.plan import Scheduler
    from offramp.themis.themis import Options
    from offramp_cli.themis import collective as collectives
    from offramp_cli.themis import execute as executed
    from offramp_cli.themis import training

    console = Console(highlight=False)
    made = load_network(network)
    if scheduler and "all" in scheduler:
        chosen = tuple(Scheduler)
    else:
        names = scheduler or ["baseline", "themis+fifo", "themis+scf", "balanced"]
        chosen = tuple(dict.fromkeys(Scheduler.named(name) for name in names))
    expect_writable("--plot", plot)
    expect_writable("--json", json_path)
    if namespaces and not execute:
        raise OfframpError("--namespaces: expected --execute beside it")
    settings = {"network": describe(made), "schedulers": [s.value for s in chosen], "chunks": chunks}
    numbers: dict[str, Any]
    if workload is not None:
        if change or execute or plot:
            raise OfframpError("--workload: --change, --execute and --plot are for single collectives")
        numbers = training.report(console, made, workload, chosen, iterations, chunks, compute)
    else:
        what = Collective.named(collective)
        size_bytes = parse_size(size, "--size")
        settings |= {"collective": what.value, "bytes": size_bytes, "threshold": threshold}
        case = collectives.Case(made, what, size_bytes, chunks, Options(threshold))
        numbers = collectives.report(console, case, chosen, change or [], plot)
        if execute:
            numbers["executed"] = executed.report(console, case, chosen, seed, namespaces=namespaces)
    write_json(json_path, {"settings": settings, **numbers})


def describe(network: Network) -> dict[str, Any]:
    """A network, ready for JSON."""
    return {
        "name": network.name,
        "npus": network.npus,
        "dimensions": [
            {"type": d.kind.value, "size": d.size, "bandwidth_bps": d.bandwidth_bps, "latency_ns": d.latency_ns}
            for d in network.dimensions
        ],
    }
