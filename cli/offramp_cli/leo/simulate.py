# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate leo``: rules of path selection on the queue model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from offramp_base.errors import OfframpError
from offramp_cli.json_file import expect_writable, write_json
from offramp_cli.leo.plan import mix_of
from offramp_cli.switch.stages import stages

if TYPE_CHECKING:
    from rich.console import Console

    from offramp_sim.leo.load import Load
    from offramp_sim.leo.study import Study


def leo(
    files: Annotated[
        list[str] | None, typer.Argument(help="As of offramp leo plan; without, two paths as the thesis's knees tell.")
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(help="A rule, exact:K, only:PATH or all; several: repeat. offramp leo plan shows the paths."),
    ] = None,
    load: Annotated[list[float] | None, typer.Option(help="Open loop: million requests a second; repeat.")] = None,
    window: Annotated[list[int] | None, typer.Option(help="Closed loop: requests there at a time; repeat.")] = None,
    requests: Annotated[int, typer.Option(help="In each run.")] = 20000,
    cores: Annotated[int | None, typer.Option(help="Cores of each host that serve.")] = None,
    network: Annotated[str, typer.Option(help="Least and most us that a request spends on the network.")] = "3-9",
    spread: Annotated[float, typer.Option(help="0: times as the table says; 1: exponential around them.")] = 0.0,
    burst: Annotated[int, typer.Option(help="Requests that come at once, open loop.")] = 1,
    keys: Annotated[int, typer.Option(help="Zipf-distributed keys; 0: each request has one of its own.")] = 0,
    wrong: Annotated[float, typer.Option(help="The selector's table is wrong by up to this factor.")] = 1.0,
    tenant: Annotated[
        list[str] | None, typer.Option(help="SHARE:WEIGHT of a tenant with a selector of its own; repeat.")
    ] = None,
    sweep: Annotated[
        int, typer.Option(help="Instead: this many random settings, the default rule against others.")
    ] = 0,
    processes: Annotated[int | None, typer.Option(help="Processes of a sweep; all cores by default.")] = None,
    seed: Annotated[int, typer.Option(help="Moves everything random.")] = 0,
    plot: Annotated[str | None, typer.Option(help="Draw throughput and latency into this .png.")] = None,
    json_path: Annotated[str | None, typer.Option("--json", help="Write the numbers to this file.")] = None,
) -> None:
    """Choose paths by one rule and another, in open and closed loop, and compare throughput and latency."""
    from rich.console import Console

    console = Console(highlight=False)
    expect_writable("--plot", plot)
    expect_writable("--json", json_path)
    if sweep:
        from offramp_cli.leo.sweep import report

        write_json(json_path, report(console, sweep, requests, seed, processes))
        return
    from offramp_sim.leo.study import Study, Tenants, misread, parse_rule, run_study

    routes, mix = _routes(files, cores)
    names = policy or ["lookahead", "outstanding", "min", "paper-literal", "greedy-intra", "greedy-e2e"]
    rules = tuple(dict.fromkeys(rule for name in names for rule in parse_rule(name, routes.paths)))
    loads = _loads(load, window, requests, _range(network), spread, burst, keys, mix, _tenants(tenant))
    weights = tuple(weight for _, weight in _tenants(tenant))
    study = Study(routes, misread(routes.table, wrong, seed), rules, loads, Tenants(weights), seed)
    with stages(console) as stage:
        stage("simulating")
        rows = run_study(study)
    _show(console, study, rows)
    if plot is not None:
        _draw(study, rows, Path(plot))
        console.print(f"plot: {plot}")
    write_json(json_path, {"paths": list(routes.paths), "seed": seed, "runs": rows})


def _routes(files: list[str] | None, cores: int | None) -> tuple[Any, list[float]]:
    from offramp.leo.selection.steps import Routes
    from offramp.leo.selection.table import Table

    if not files:
        if cores is not None:
            raise OfframpError("--cores: expected files beside it")
        return Routes.of(Table.disjoint([2000, 2500], [200, 300], paths=("acc", "cpu"))), []
    from offramp.leo.config import load_config, resolve
    from offramp.leo.config.overrides import with_cores

    resolved = resolve(with_cores(load_config(files), cores))
    return resolved.routes, mix_of(resolved)


def _range(text: str) -> tuple[float, float]:
    low, _, high = text.partition("-")
    try:
        return float(low), float(high or low)
    except ValueError:
        raise OfframpError(f"--network {text}: expected two numbers such as 3-9") from None


def _tenants(given: list[str] | None) -> list[tuple[float, float]]:
    tenants = []
    for text in given or ["1:1"]:
        share, _, weight = text.partition(":")
        try:
            tenants.append((float(share), float(weight or 1)))
        except ValueError:
            raise OfframpError(f"--tenant {text}: expected SHARE:WEIGHT, such as 1:2") from None
    return tenants


def _loads(
    rates: list[float] | None,
    windows: list[int] | None,
    requests: int,
    network_us: tuple[float, float],
    spread: float,
    burst: int,
    keys: int,
    mix: list[float],
    tenants: list[tuple[float, float]],
) -> tuple[Load, ...]:
    from offramp_sim.leo.load import Load

    common: dict[str, Any] = {
        "requests": requests,
        "network_us": network_us,
        "spread": spread,
        "keys": keys,
        "mix": tuple(mix),
        "shares": tuple(share for share, _ in tenants),
    }
    open_loop = [Load(rate_mrps=rate, burst=burst, **common) for rate in rates or []]
    if not open_loop and not windows:
        windows = [16, 32, 64, 128]
    return tuple(open_loop + [Load(window=window, **common) for window in windows or []])


def _show(console: Console, study: Study, rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("load", min_width=8)
    table.add_column("rule", min_width=13)
    for name in ("Mrps", "JCT", "median", "99 %", "paths, %"):
        table.add_column(name, justify="right")
    if len(study.tenants.weights) > 1:
        table.add_column("tenants", justify="right", min_width=7)
    last = ""
    for row in rows:
        cells = [
            "" if row["load"] == last else row["load"],
            row["rule"],
            f"{row['throughput_mrps']:.4g}",
            *(f"{row[name]:.2f}" for name in ("mean_jct_us", "median_us", "p99_us")),
            ", ".join(f"{100 * share:.0f}" for share in row["shares"]),
        ]
        if len(study.tenants.weights) > 1:
            cells.append(", ".join(f"{rate:.3g}" for rate in row["tenants_mrps"]))
        table.add_row(*cells)
        last = row["load"]
    console.print(table)
    console.print(
        f"\nPaths: {', '.join(study.routes.paths)}. Mrps: million answers a second (for each tenant); JCT: mean time "
        "inside the hosts, us; median and 99 %: from arrival to answer, us."
    )


def _draw(study: Study, rows: list[dict[str, Any]], path: Path) -> None:
    from offramp_sim.figures.plot import draw
    from offramp_sim.leo.study import panels

    draw(panels(study, rows), "LEO: rules of path selection", path)
