# SPDX-License-Identifier: Apache-2.0
"""``offramp transport list``: the transports, and which of them this process may use."""

from __future__ import annotations

from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Result


@command(Result, example="transport list --json -")
def list_transports(result: Result) -> None:
    """Show how links of each transport are named, what they need, and whether that is available here."""
    from rich.table import Table

    from offramp_base.transport.links import TRANSPORTS
    from offramp_base.transport.rights import obstacle

    table = Table("transport", "link", "a slow reader", "here")
    rows = []
    for transport in TRANSPORTS.values():
        link = f"{transport.name}:{transport.where}"
        reason = obstacle(transport)
        table.add_row(link.partition(":")[0], link, transport.when_slow, reason or "can be used")
        rows.append({"transport": transport.name, "link": link, "lossless": transport.lossless, "obstacle": reason})
    show.console().print(table)
    result.write("offramp.transport.list/1", {"transports": rows})
