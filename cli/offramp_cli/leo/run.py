# SPDX-License-Identifier: Apache-2.0
"""``offramp leo run``: an application over its paths, each alone and all together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from offramp_base.errors import OfframpError
from offramp_base.settings.field import Field
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.leo.plan import parse_pair
from offramp_cli.result import Result

if TYPE_CHECKING:
    from rich.console import Console

    from offramp.leo.applications.compare import Comparison


@dataclass(frozen=True)
class RunSettings:
    """What is run, over which paths, and how it is measured."""

    names: Annotated[
        tuple[str, ...],
        Field(
            "kvs, dfs, ebs, allreduce, or YAML files of an application and a host",
            position=True,
            metavar="NAME|FILE…",
        ),
    ]
    paths: Annotated[str, Field("Paths to use, such as cpu,model; all by default")] = ""
    device: Annotated[
        Mapping[str, str],
        Field("NAME=KIND:OPTIONS, such as model=model:service_us=50 or nic=nic:SOCKET; repeat", item=parse_pair),
    ] = field(default_factory=dict)
    code: Annotated[
        tuple[str, ...],
        Field("File of functions in Python (.py), or of a plug-in in C (a shared library), which is run; repeat"),
    ] = ()
    seconds: Annotated[float, Field("Length of each measurement", least=0.05)] = 0.5
    load: Annotated[float, Field("Part of the rate for the latency", least=0.01, most=1)] = 0.6
    rounds: Annotated[int, Field("How often all measurements are made", least=1)] = 5
    policy: Annotated[str, Field("Rule that selects paths, see simulate leo")] = "lookahead"
    transport: Annotated[str, Field("shm, tcp or ucx")] = "shm"
    workload: Annotated[str, Field("For kvs: B or C, for ebs: 4K or 64K")] = ""
    keys: Annotated[int, Field("For kvs: of the store, as many as a small device holds; 0: 100,000", least=0)] = 0
    window: Annotated[int, Field("Requests that the closed loop keeps unfinished; 0: the application's", least=0)] = 0
    seed: Annotated[int, Field("Moves everything random: keys, arrivals and devices")] = 1


@command(RunSettings, Result, example="leo run kvs --paths cpu,model --rounds 2 --json -")
def run(settings: RunSettings, result: Result) -> None:
    """Run an application between two processes: every path alone, then all, with a path for each request."""
    from offramp.leo.applications.compare import compare
    from offramp.leo.applications.named import open_application
    from offramp.leo.selection import named
    from offramp_cli.stages import stages

    rule = named(settings.policy)
    application = open_application(
        list(settings.names),
        devices=dict(settings.device),
        paths=tuple(filter(None, settings.paths.split(","))),
        transport=settings.transport,
        workload=settings.workload,
        seed=settings.seed,
        window=settings.window,
        code=settings.code,
        keys=settings.keys,
    )
    console = show.console()
    with stages(console) as stage:
        stage(f"{application.name}: starting")
        found = compare(
            application,
            seconds=settings.seconds,
            load=settings.load,
            rounds=settings.rounds,
            policy=rule,
            seed=settings.seed,
            show=stage.advance,
        )
    _report(console, found, application.request_bytes)
    result.write("offramp.leo.run/1", found.numbers())
    wrong = sum(row.wrong for row in found.rows)
    if wrong:
        raise OfframpError(f"{wrong} requests were not answered as they should have been")


def _report(console: Console, found: Comparison, request_bytes: int) -> None:
    import numpy as np

    from offramp.report.units import duration

    headings = ("paths", "requests/s", "MB/s", "median", "99 %", "wrong", "taken")
    table = show.table(*headings, left=("paths", "taken"), title=found.name)
    for row in found.rows:
        counts = np.sum([o.by_path for o in row.most], axis=0)
        total = max(int(np.sum(counts)), 1)
        shares = ", ".join(f"{p} {c / total:.0%}" for p, c in zip(found.paths, counts, strict=True) if c)
        table.add_row(
            row.paths[0] if len(row.paths) == 1 else f"all, {row.policy.value}",
            f"{row.rate:,.0f}",
            f"{row.rate * request_bytes / 1e6:,.1f}" if request_bytes else "",
            *(duration(us / 1e6) if us == us else "none ended" for us in (row.median_us, row.part[-1].latency_us(99))),
            str(row.wrong),
            shares,
        )
    console.print(table)
    console.print(f"latency at {found.load:.0%} of each row's own rate, from when a request was to be sent")
    if found.restarts:
        times = "once" if found.restarts == 1 else f"{found.restarts} times"
        console.print(f"{found.fate}; it was started again {times}", soft_wrap=True)
    if len(found.rows) > 1:
        console.print(
            f"all paths: {found.share_of_sum:.0%} of {' + '.join(found.summed)}; "
            f"median {found.against_better:.2f} times the better path's"
        )
