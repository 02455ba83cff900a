# SPDX-License-Identifier: Apache-2.0
"""``offramp switch doctor`` and ``offramp nic doctor``: check whether this machine has what they need."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import typer

from offramp_base import Field
from offramp_base.checks import Check
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Result


@command(Result, example="switch doctor")
def switch_doctor(result: Result) -> None:
    """Check rights, interfaces, packages and reference tools; exit code 1 if something needed is missing."""
    from offramp_p4.doctor import checks

    _show(checks(), "offramp.switch.doctor/1", result)


@dataclass(frozen=True)
class Ports:
    """Ports that a smartNIC's agent is to use, and the queues of each."""

    port: Annotated[
        tuple[str, ...],
        Field("Port, as for offramp nic run, to open and check for what it lacks; repeatable", short="-p"),
    ] = ()
    queues: Annotated[int, Field("Queues that each port should have", least=1, most=64)] = 1


@command(Ports, Result, example="nic doctor --port eth1 --queues 4")
def nic_doctor(ports: Ports, result: Result) -> None:
    """Check packages, drivers, rights and ports; exit code 1 if something needed is missing."""
    from offramp.nic import checks
    from offramp.nic.port_doctor import port_checks

    results = [*checks(), *(check for port in ports.port for check in port_checks(port, ports.queues))]
    _show(results, "offramp.nic.doctor/1", result)


def _show(checks: Iterable[Check], schema: str, result: Result) -> None:
    from rich.table import Table
    from rich.text import Text

    results = list(checks)
    table = Table(box=None, pad_edge=False)
    for heading in ("", "what", "found", "what to do"):
        table.add_column(heading, overflow="fold", min_width=22 if heading == "what to do" else None)
    for check in results:
        colour = "green" if check.ok else "red" if check.needed else "yellow"
        state = Text("ok" if check.ok else "missing", style=colour)
        table.add_row(state, check.name, check.found, "" if check.ok else check.advice)
    show.console().print(table)
    result.write(schema, {"checks": [check._asdict() for check in results]})
    if any(check.needed and not check.ok for check in results):
        raise typer.Exit(1)
