# SPDX-License-Identifier: Apache-2.0
"""``offramp leo connect``: requests to an application that ``offramp leo serve`` serves, here or on another machine."""

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
    from offramp.leo.applications.load import LoadResult


@dataclass(frozen=True)
class ConnectSettings:
    """Which application, where it is served, and how much is asked."""

    names: Annotated[
        tuple[str, ...],
        Field("What is served: the same name or YAML files as of leo serve", position=True, metavar="NAME|FILE…"),
    ]
    to: Annotated[str, Field("Address of the responder, HOST:PORT or unix:PATH")] = "127.0.0.1:7878"
    transport: Annotated[str, Field("tcp, shm (over unix:PATH) or ucx; by default as the address has it")] = ""
    paths: Annotated[str, Field("Paths to use, such as cpu,model; all by default")] = ""
    device: Annotated[
        Mapping[str, str],
        Field("NAME=KIND:OPTIONS, the same as of leo serve; those of this side are opened here", item=parse_pair),
    ] = field(default_factory=dict)
    code: Annotated[
        tuple[str, ...],
        Field("File of functions in Python (.py), or of a plug-in in C (a shared library), which is run; repeat"),
    ] = ()
    requests: Annotated[int, Field("How many to send; 0: as many as end in --seconds", least=0)] = 0
    seconds: Annotated[float, Field("How long to send, where no number is given", least=0.05)] = 2.0
    window: Annotated[int, Field("Requests that are kept unfinished; 0: the application's", least=0)] = 0
    wait: Annotated[float, Field("Seconds that a responder that is gone may stay away", least=0)] = 30.0
    policy: Annotated[str, Field("Rule that selects paths, see simulate leo")] = "lookahead"
    workload: Annotated[str, Field("For kvs: B or C, for ebs: 4K or 64K")] = ""
    seed: Annotated[int, Field("Moves the requests that are drawn")] = 1


@command(ConnectSettings, Result, example="leo connect kvs --to 127.0.0.1:7878 --requests 10000 --json -")
def connect(settings: ConnectSettings, result: Result) -> None:
    """Send requests to a served application over all its paths, and check every answer."""
    from offramp.leo.applications.named import open_application
    from offramp.leo.applications.remote import Load, request_from
    from offramp.leo.selection import named
    from offramp_cli.stages import stages

    transport = settings.transport or ("shm" if settings.to.startswith("unix:") else "tcp")
    load = Load(
        settings.requests,
        settings.seconds,
        settings.window,
        settings.wait,
        named(settings.policy),
        settings.seed,
    )
    application = open_application(
        list(settings.names),
        devices=dict(settings.device),
        paths=tuple(filter(None, settings.paths.split(","))),
        transport=transport,
        workload=settings.workload,
        code=settings.code,
    )
    console = show.console(wrap=False)
    with stages(console) as stage:
        stage(f"{application.name} at {settings.to}")
        outcome, paths, away = request_from(
            application,
            settings.to,
            load,
            console.print,
            lambda done, total: stage.advance(application.name, done, total),
        )
    _report(application.name, outcome, paths)
    numbers = outcome.numbers(paths) | {"application": application.name, "transport": transport, "reconnects": away}
    result.write("offramp.leo.connect/1", numbers)
    if outcome.wrong:
        raise OfframpError(f"{outcome.wrong} requests were not answered as they should have been")


def _report(name: str, outcome: LoadResult, paths: tuple[str, ...]) -> None:
    from offramp.report.units import duration

    table = show.table("path", "requests", left=("path",), title=name)
    for path, count in zip(paths, outcome.by_path.tolist(), strict=True):
        table.add_row(path, f"{count:,}")
    show.console().print(table)
    median, late = (duration(outcome.latency_us(percent) / 1e6) for percent in (50, 99))
    show.console().print(
        f"{outcome.sent:,} requests, {outcome.rate:,.0f} a second, {outcome.wrong} wrong; median {median}, 99 % {late}"
    )
