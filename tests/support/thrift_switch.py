# SPDX-License-Identifier: Apache-2.0
"""A switch of this process behind bmv2's run-time services, and what their command line answers."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from offramp_p4.serve import build
from offramp_p4.settings import Settings
from offramp_p4_tools.dropin.event_log import EventLog
from offramp_p4_tools.dropin.nanomsg import Publisher
from offramp_p4_tools.dropin.thrift import cli
from offramp_p4_tools.dropin.thrift.client import ThriftClient
from offramp_p4_tools.dropin.thrift.server import ThriftServer


@contextmanager
def serving(
    source: Path,
    *,
    swap: bool = False,
    engine: str = "python",
    notifications: Publisher | None = None,
    events: EventLog | None = None,
    **settings: Any,
) -> Iterator[ThriftServer]:
    """The services of a switch that runs ``source``; ``swap``: it may be replaced."""
    running = build(Settings(program=str(source), address="127.0.0.1:0", engine=engine, **settings), events)
    try:
        with ThriftServer(running, 0, swap=swap, notifications=notifications) as server:
            if events is not None:
                device = running.device
                events.follow(lambda: None if device.pipeline is None else device.pipeline.program)
                events.handle = server.handle
            yield server
    finally:
        for port in running.ports.values():
            port.close()
        running.servers["P4Runtime"].stop()
        running.compiler.close()


def answers(client: ThriftClient, *commands: str) -> list[str]:
    """The output of each command."""
    out = io.StringIO()
    cli.run(client, io.StringIO("\n".join(commands) + "\n"), out)
    return out.getvalue().split(cli.PROMPT)[1:-1]
