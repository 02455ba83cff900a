# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate leo``: rules of path selection on the queue model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from offramp_base import Field, SettingsError
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.leo.plan import mix_of
from offramp_cli.result import Plotted
from offramp_cli.stages import stages

if TYPE_CHECKING:
    from rich.console import Console

    from offramp_sim.leo import RequestLoad, Study


_RULES = ("lookahead", "outstanding", "min", "paper-literal", "greedy-intra", "greedy-e2e")


def parse_range(text: str) -> tuple[float, float]:
    """Parse a range such as ``3-9``, or one number for both ends.

    Raises:
        ValueError: something else.
    """
    low, _, high = text.partition("-")
    try:
        return float(low), float(high or low)
    except ValueError:
        raise ValueError("expected two numbers such as 3-9") from None


def parse_tenant(text: str) -> tuple[float, float]:
    """Parse ``SHARE:WEIGHT``; the weight is 1 by default.

    Raises:
        ValueError: something else.
    """
    share, _, weight = text.partition(":")
    try:
        return float(share), float(weight or 1)
    except ValueError:
        raise ValueError("expected SHARE:WEIGHT, such as 1:2") from None


@dataclass(frozen=True)
class LeoSimulationSettings:
    """Paths, rules and loads to simulate."""

    files: Annotated[
        tuple[str, ...],
        Field(
            "Files or names as for offramp leo plan; by default, two paths inferred from the knees in the thesis",
            position=True,
        ),
    ] = ()
    policy: Annotated[
        tuple[str, ...],
        Field(
            "A rule, exact:K, only:PATH or all; repeatable. offramp leo plan shows the paths",
            shown_default=", ".join(_RULES),
        ),
    ] = ()
    cores: Annotated[int | None, Field("Serving cores of each host", least=1)] = None
    load: Annotated[
        tuple[float, ...], Field("Open loop: million requests per second; repeatable", group="RequestLoad", above=0)
    ] = ()
    window: Annotated[tuple[int, ...], Field("Closed loop: requests in flight; repeatable", least=1)] = ()
    requests: Annotated[int, Field("Requests in each run", least=1, most=10_000_000)] = 20000
    network: Annotated[
        tuple[float, float],
        Field("Shortest and longest time of a request on the network, in us", parse=parse_range, shown_default="3-9"),
    ] = (3.0, 9.0)
    spread: Annotated[
        float, Field("Share of each service time that is exponentially distributed; 0: as the table says")
    ] = 0.0
    burst: Annotated[int, Field("Open loop: requests that arrive together")] = 1
    keys: Annotated[int, Field("Number of Zipf-distributed keys; 0: each request has its own key")] = 0
    wrong: Annotated[float, Field("Factor by which the selector's table may be wrong")] = 1.0
    tenant: Annotated[
        tuple[tuple[float, float], ...],
        Field("SHARE:WEIGHT of a tenant with a selector of its own; repeatable", item=parse_tenant),
    ] = ()
    sweep: Annotated[
        int, Field("Instead: compare the default rule with others on this many random settings", group="Sweep")
    ] = 0
    kind: Annotated[
        tuple[str, ...],
        Field("Class of a sweep's settings, or all; repeatable. Compares with rules that do not learn"),
    ] = ()
    processes: Annotated[int | None, Field("Processes of a sweep; one per core by default")] = None
    seed: Annotated[int, Field("Random seed", least=0)] = 0


@command(
    LeoSimulationSettings,
    Plotted,
    example="simulate leo kvs on-path --requests 1000 --policy all --load 0.5 --json -",
    systems=("leo",),
)
def leo(settings: LeoSimulationSettings, outputs: Plotted) -> None:
    """Choose paths by several rules, in open and closed loop, and compare throughput and latency."""
    console = show.console()
    seed = settings.seed
    if settings.sweep:
        from offramp_cli.leo.sweep import report

        numbers = report(console, settings.sweep, settings.requests, seed, settings.processes, settings.kind)
        outputs.write("offramp.simulate.leo.sweep/1", numbers)
        return
    from offramp_sim.figures import draw
    from offramp_sim.leo import Study, parse_rule, run_study
    from offramp_sim.leo.study import TenantWeights, misread, panels

    routes, mix = _routes(list(settings.files), settings.cores)
    names = settings.policy or _RULES
    rules = tuple(dict.fromkeys(rule for name in names for rule in parse_rule(name, routes.paths)))
    tenants = settings.tenant or ((1.0, 1.0),)
    loads = _loads(settings, mix, tenants)
    weights = tuple(weight for _, weight in tenants)
    study = Study(routes, misread(routes.table, settings.wrong, seed), rules, loads, TenantWeights(weights), seed)
    with stages(console) as stage:
        stage("simulating")
        rows = run_study(study)
    _show(console, study, rows)
    outputs.draw(partial(draw, panels(study, rows), "LEO: rules of path selection"))
    outputs.write("offramp.simulate.leo/1", {"paths": list(routes.paths), "seed": seed, "runs": rows})


def _routes(files: list[str], cores: int | None) -> tuple[Any, list[float]]:
    from offramp.leo import Table
    from offramp.leo.selection.steps import Routes

    if not files:
        if cores is not None:
            raise SettingsError("cores", "expected files beside it")
        return Routes.of(Table.disjoint([2000, 2500], [200, 300], paths=("acc", "cpu"))), []
    from offramp.leo.config import load_config, resolve

    resolved = resolve(load_config(files).with_cores(cores))
    return resolved.routes, mix_of(resolved)


def _loads(
    settings: LeoSimulationSettings, mix: list[float], tenants: Sequence[tuple[float, float]]
) -> tuple[RequestLoad, ...]:
    from offramp_sim.leo import RequestLoad

    common: dict[str, Any] = {
        "requests": settings.requests,
        "network_us": settings.network,
        "spread": settings.spread,
        "keys": settings.keys,
        "mix": tuple(mix),
        "shares": tuple(share for share, _ in tenants),
    }
    open_loop = [RequestLoad(rate_mrps=rate, burst=settings.burst, **common) for rate in settings.load]
    windows = settings.window or (() if open_loop else (16, 32, 64, 128))
    return tuple(open_loop + [RequestLoad(window=window, **common) for window in windows])


def _show(console: Console, study: Study, rows: list[dict[str, Any]]) -> None:
    tenants = ["tenants"] if len(study.tenants.weights) > 1 else []
    headings = ("load", "rule", "Mrps", "JCT", "median", "99 %", "paths, %", *tenants)
    table = show.table(*headings, left=("load", "rule"))
    for column, width in zip(table.columns, (8, 13, 0, 0, 0, 0, 0, 7), strict=False):
        column.min_width = width or None
    last = ""
    for row in rows:
        cells = [
            "" if row["load"] == last else row["load"],
            row["rule"],
            f"{row['throughput_mrps']:.4g}",
            *(f"{row[name]:.2f}" for name in ("mean_jct_us", "median_us", "p99_us")),
            ", ".join(f"{100 * share:.0f}" for share in row["shares"]),
        ]
        if tenants:
            cells.append(", ".join(f"{rate:.3g}" for rate in row["tenants_mrps"]))
        table.add_row(*cells)
        last = row["load"]
    console.print(table)
    console.print(
        f"\nPaths: {', '.join(study.routes.paths)}. Mrps: million answers per second (for each tenant); JCT: mean time "
        "inside the hosts, us; median and 99 %: from arrival to answer, us."
    )
