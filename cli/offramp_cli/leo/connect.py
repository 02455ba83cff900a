# SPDX-License-Identifier: Apache-2.0
"""``offramp leo connect``: requests to an application that ``offramp leo serve`` serves, here or on another machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from offramp_base import Field, OfframpError
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.leo.application import ApplicationPathSettings
from offramp_cli.result import Result

if TYPE_CHECKING:
    from offramp.leo.applications.load import LoadResult


@dataclass(frozen=True, kw_only=True)
class ConnectSettings(ApplicationPathSettings):
    """An application, the address that serves it, and the number of requests."""

    to: Annotated[str, Field("Address of the responder, HOST:PORT or unix:PATH")] = "127.0.0.1:7878"
    transport: Annotated[str, Field("Transport: tcp, shm (over unix:PATH) or ucx; the address decides by default")] = ""
    requests: Annotated[int, Field("Requests to send; 0: as many as complete in --seconds", least=0)] = 0
    seconds: Annotated[float, Field("Seconds to send for, if --requests is 0", least=0.05)] = 2.0
    seed: Annotated[int, Field("Random seed for the requests", least=0)] = 1
    wait: Annotated[float, Field("Seconds to wait for a responder that has gone away", least=0)] = 30.0


@command(ConnectSettings, Result, example="leo connect kvs --to 127.0.0.1:7878 --requests 10000 --json -")
def connect(settings: ConnectSettings, result: Result) -> None:
    """Send requests to a served application over all its paths, and check every answer."""
    from offramp.leo.applications.remote import RequesterLoad, request_from
    from offramp.leo.selection import named
    from offramp_cli.stages import stages

    transport = settings.transport or ("shm" if settings.to.startswith("unix:") else "tcp")
    load = RequesterLoad(
        settings.requests,
        settings.seconds,
        settings.window,
        settings.wait,
        named(settings.policy),
        settings.seed,
    )
    application = settings.open(transport)
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
        raise OfframpError(f"{outcome.wrong} requests got wrong answers")


def _report(name: str, outcome: LoadResult, paths: tuple[str, ...]) -> None:
    from offramp.report.units import duration

    table = show.table("path", "requests", left=("path",), title=name)
    for path, count in zip(paths, outcome.by_path.tolist(), strict=True):
        table.add_row(path, f"{count:,}")
    show.console().print(table)
    median, late = (duration(outcome.latency_us(percent) / 1e6) for percent in (50, 99))
    show.console().print(
        f"{outcome.sent:,} requests, {outcome.rate:,.0f} per second, {outcome.wrong} wrong; "
        f"median {median}, 99 % {late}"
    )
