# SPDX-License-Identifier: Apache-2.0
"""``offramp leo validate`` and ``plan``: the paths, times and capacity of a configuration, before anything runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from offramp_base import Field
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.leo.application import Code, DataFolder
from offramp_cli.result import Plotted

if TYPE_CHECKING:
    from rich.console import Console

    from offramp.leo.config import Resolved
    from offramp.leo.config.topology import Hop
    from offramp.leo.selection.capacity import Capacity


@dataclass(frozen=True)
class ApplicationFiles:
    """The files of an application and a host."""

    files: Annotated[
        tuple[str, ...],
        Field(
            "YAML files, or kvs | dfs | ebs | dml and direct | on-path | off-path, which are built in",
            position=True,
        ),
    ]


@dataclass(frozen=True)
class LeoPlanSettings(ApplicationFiles):
    """The parts of the plan to show."""

    cores: Annotated[int | None, Field("Cores of each host that serve, in place of the file's number", least=1)] = None
    steps: Annotated[bool, Field("Show every link and function on each path")] = False


@dataclass(frozen=True)
class Checked(ApplicationFiles):
    """The configuration that is checked."""

    code: Code = ()
    data_folder: DataFolder = ()


@command(Checked, example="leo validate kvs on-path")
def validate(given: Checked) -> None:
    """Check an application on a host model, its functions and data; the first fault is reported with file and line."""
    from offramp.leo.applications.contents import read_contents
    from offramp.leo.config import load_config
    from offramp.leo.config.check import check_functions
    from offramp.leo.devices.code import load_code

    config = load_config(list(given.files))
    load_code(given.code)
    check_functions(config)
    read_contents(config, 0, given.data_folder)
    requests = ", ".join(config.application.requests)
    typer.echo(
        f"{config.application.name} on {config.hardware.name} ({config.hardware.model}): good; requests {requests}"
    )


@command(LeoPlanSettings, Plotted, example="leo plan kvs on-path --steps --json -")
def plan(settings: LeoPlanSettings, outputs: Plotted) -> None:
    """Show an application on a host: physical links, T and toll of each dataflow, the rate of all paths together."""
    from offramp.leo.config import load_config, resolve
    from offramp.leo.selection.capacity import capacity

    resolved = resolve(load_config(list(settings.files)).with_cores(settings.cores))
    mix = mix_of(resolved)
    limits = capacity(resolved.routes.table, mix)
    console = show.console()
    _show_links(console, resolved)
    _show_flows(console, resolved, limits)
    if settings.steps:
        _show_steps(console, resolved)
    outputs.draw(partial(_draw, resolved))
    outputs.write("offramp.leo.plan/1", _numbers(resolved, limits))


def mix_of(resolved: Resolved) -> list[float]:
    """Shares of the request types; equal ones if the application gives none."""
    application = resolved.config.application
    return [application.mix.get(name, 0.0) if application.mix else 1.0 for name in application.requests]


def _show_links(console: Console, resolved: Resolved) -> None:
    from offramp.leo.config.topology import LOGICAL

    topology = resolved.topology
    hardware = resolved.config.hardware
    headings = ["logical", *(f"physical ({one})" if one else "physical" for one in topology.accelerators or [""])]
    table = show.table(*headings, left=headings, title=f"{hardware.name} ({hardware.model})")
    for logical in LOGICAL[::2]:
        ways = [topology.route(logical, accelerator or None) for accelerator in topology.accelerators or [""]]
        table.add_row(logical, *(_way(hops) for hops in ways))
    console.print(table)
    console.print()


def _way(hops: list[Hop] | None) -> str:
    if not hops:
        return "\N{EN DASH}"
    return hops[0].source + "".join(f" \N{EM DASH}{hop.link.id}\N{EM DASH} {hop.target}" for hop in hops)


def _show_flows(console: Console, resolved: Resolved, limits: Capacity) -> None:
    from offramp.leo.selection.capacity import capacity

    routes, known = resolved.routes, resolved.routes.table
    title = f"{resolved.config.application.name}: dataflows, in order of T"
    words = ("request", "dependency", "dataflow")
    table = show.table(*words, "T, us", "toll, us", "alone, Mrps", "best share", left=words, title=title)
    for i, kind in enumerate(routes.types):
        order = [p for p in known.base[i].argsort() if known.allowed[i, p]]
        for place, p in enumerate(order):
            alone = capacity(known, [float(k == i) for k in range(len(routes.types))], only=int(p)).rate_mrps
            share = limits.shares[i, p] / max(limits.shares[i].sum(), 1e-12)
            table.add_row(
                "" if place else kind,
                "" if place else known.dependency[i].value,
                routes.paths[p],
                f"{known.base[i, p] / 1e3:.3f}",
                f"{known.toll[i, p] / 1e3:.3f}",
                f"{alone:.3f}",
                f"{100 * share:.0f} %" if limits.shares[i].sum() else "\N{EN DASH}",
            )
    console.print(table)
    full = ", ".join(routes.resources[r] for r in limits.bottlenecks) or "nothing"
    console.print(
        f"\nAll paths together sustain {limits.rate_mrps:.3f} million requests per second; then {full} is full."
    )


def _show_steps(console: Console, resolved: Resolved) -> None:
    from rich.tree import Tree

    from offramp.leo.selection.steps import NETWORK

    routes = resolved.routes
    for i, kind in enumerate(routes.types):
        for p, path in enumerate(routes.paths):
            steps = routes.steps[i][p]
            if steps is None:
                continue
            tree = Tree(f"{kind} over {path}")
            for step in steps:
                time = "as long as it takes" if step.resource == NETWORK else f"{step.time_ns:.1f} ns"
                tree.add(f"{step.what or 'delay'}: {time}" + ("" if step.resource != -1 else " (latency)"))
            console.print(tree)


def _draw(resolved: Resolved, path: Path) -> None:
    from offramp_sim.figures import Curves, draw

    routes = resolved.routes
    names: list[str] = []
    parts: dict[str, list[float]] = {}
    for i, kind in enumerate(routes.types):
        for p, flow in enumerate(routes.paths):
            steps = routes.steps[i][p]
            if steps is None:
                continue
            names.append(f"{kind} {flow}")
            for step in steps:
                if step.time_ns and step.resource != -2:
                    what = step.what.split(":")[0] + (" latency" if step.resource == -1 else "")
                    column = parts.setdefault(what, [])
                    column += [0.0] * (len(names) - len(column))
                    column[-1] += step.time_ns / 1e3
    lines = {what: (names, column + [0.0] * (len(names) - len(column))) for what, column in parts.items()}
    draw([Curves("T by link and function", "", "us", lines, stacked=True)], resolved.config.application.name, path)


def _numbers(resolved: Resolved, limits: Capacity) -> dict[str, Any]:
    table = resolved.routes.table
    flows = [
        {
            "request": kind,
            "dataflow": path,
            "T_ns": float(table.base[i, p]),
            "toll_ns": float(table.toll[i, p]),
            "best_share": float(limits.shares[i, p]),
        }
        for i, kind in enumerate(table.types)
        for p, path in enumerate(table.paths)
        if table.allowed[i, p]
    ]
    config = resolved.config
    full = [table.resources[r] for r in limits.bottlenecks]
    return {
        "application": config.application.name,
        "hardware": config.hardware.name,
        "model": config.hardware.model.value,
        "dataflows": flows,
        "sustains_mrps": limits.rate_mrps,
        "bottlenecks": full,
    }
