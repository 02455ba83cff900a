# SPDX-License-Identifier: Apache-2.0
"""``offramp leo run``: an application over its paths, each alone and all together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from offramp_base.errors import OfframpError
from offramp_cli.json_file import expect_writable, write_json

if TYPE_CHECKING:
    from offramp.leo.applications.compare import Comparison


def run(
    names: Annotated[
        list[str],
        typer.Argument(
            help="kvs, dfs, ebs, allreduce, or YAML files of an application and a host.", metavar="NAME|FILE…"
        ),
    ],
    paths: Annotated[str, typer.Option(help="Paths to use, such as cpu,model; all by default.")] = "",
    device: Annotated[
        list[str], typer.Option(help="NAME=KIND:OPTIONS, such as model=model:service_us=50 or nic=nic:SOCKET.")
    ] = [],  # noqa: B006
    seconds: Annotated[float, typer.Option(help="Length of each measurement.", min=0.05)] = 0.5,
    load: Annotated[float, typer.Option(help="Part of the rate for the latency.", min=0.01, max=1.0)] = 0.6,
    rounds: Annotated[int, typer.Option(help="How often all measurements are made.", min=1)] = 5,
    policy: Annotated[str, typer.Option(help="Rule that selects paths, see simulate leo.")] = "lookahead",
    transport: Annotated[str, typer.Option(help="shm, tcp or ucx.")] = "shm",
    workload: Annotated[str, typer.Option(help="Of kvs: B or C, of ebs: 4K or 64K.")] = "",
    window: Annotated[
        int, typer.Option(help="Requests that the closed loop keeps unfinished; 0: the application's.", min=0)
    ] = 0,
    json_path: Annotated[str | None, typer.Option("--json", help="Write the numbers to this file.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of keys, arrivals and devices.")] = 1,
) -> None:
    """Run an application between two processes: every path alone, then all, with a path for each request."""
    from rich.console import Console

    from offramp.leo.applications.compare import compare
    from offramp.leo.applications.named import open_application
    from offramp.leo.selection import Policy
    from offramp_cli.switch.stages import stages

    expect_writable("--json", json_path)
    rule = Policy.named(policy)
    application = open_application(
        names,
        devices=_devices(device),
        paths=tuple(filter(None, paths.split(","))),
        transport=transport,
        workload=workload,
        seed=seed,
        window=window,
    )
    console = Console()
    with stages(console) as stage:
        stage(f"{application.name}: starting")
        found = compare(
            application, seconds=seconds, load=load, rounds=rounds, policy=rule, seed=seed, show=stage.advance
        )
    _report(console, found, application.request_bytes)
    write_json(json_path, found.numbers())
    wrong = sum(row.wrong for row in found.rows)
    if wrong:
        raise OfframpError(f"{wrong} requests were not answered as they should have been")


def _devices(given: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given:
        name, equals, spec = text.partition("=")
        if not equals or not name or not spec:
            raise OfframpError(f"--device {text}: expected NAME=KIND:OPTIONS")
        if name in found:
            raise OfframpError(f"--device {text}: two devices named {name}")
        found[name] = spec
    return found


def _report(console: object, found: Comparison, request_bytes: int) -> None:
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    from offramp.report.units import duration

    assert isinstance(console, Console)
    table = Table(box=None, pad_edge=False, title=found.name, title_justify="left")
    for heading in ("paths", "requests/s", "MB/s", "median", "99 %", "wrong", "taken"):
        table.add_column(heading, justify="left" if heading in ("paths", "taken") else "right")
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
