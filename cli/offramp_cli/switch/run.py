# SPDX-License-Identifier: Apache-2.0
"""``offramp switch run``: the P4 software switch on network interfaces and sockets."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from offramp_base import Field, SettingsError
from offramp_cli import show
from offramp_cli.command import command

if TYPE_CHECKING:
    from rich.table import Table

    from offramp_p4 import Settings
    from offramp_p4.serve import RunningSwitch
    from offramp_p4.tm.settings import TrafficSettings

_LOG_LEVELS: Final = {
    "trace": logging.DEBUG,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
    "off": logging.CRITICAL + 1,
}
_FAULTS: Final = ("dropped", "malformed", "missed", "strangers")
"""Counters of a port that the summary shows where one is not 0."""


@dataclass(frozen=True)
class StartSettings:
    """Settings of the command alone."""

    no_p4: Annotated[bool, Field("StartSettings without a program; a controller pushes it", group="Program")] = False
    translation: Annotated[
        Path | None,
        Field(
            "JSON file that maps, for each type with @p4runtime_translation, the controller's values to the program's",
            rare=True,
        ),
    ] = None
    log_console: Annotated[bool, Field("Show the trace of each packet", group="Logs")] = False
    log_level: Annotated[str, Field("Level of the switch's own messages", short="-L", choices=tuple(_LOG_LEVELS))] = (
        "info"
    )


@command(
    "offramp_p4.settings:Settings",
    StartSettings,
    "offramp_p4.tm.settings:TrafficSettings",
    example="switch run program.p4 -i 0@veth0 -i 1@veth1",
)
def run(settings: Settings, start: StartSettings, traffic: TrafficSettings) -> None:
    """Run a P4 program as a switch that serves P4Runtime, and BF-RT and gNMI if asked.

    Options that bmv2's simple_switch_grpc has too have the same names, and may follow -- as there.

    Any option under "Traffic manager" puts a traffic manager between ingress and egress.

    Traces (--log-console, --log-file, --trace) need the Python engine.
    """
    from offramp_p4.runtime.translation import read_tables
    from offramp_p4.serve import run as serve

    if (settings.program is None) != start.no_p4:
        raise SettingsError("program", "expected either a P4 program or {no_p4}", settings.program)
    if start.log_console and settings.log is not None:
        raise SettingsError("log_console", "expected without {log}")
    level = _LOG_LEVELS[start.log_level]
    logging.basicConfig(level=level, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    translation = {} if start.translation is None else read_tables(start.translation)
    log = "-" if start.log_console else settings.log
    _summary(serve(replace(settings, log=log, translation=translation, tm=traffic.config()), _announce))


def _like_bmv2(args: list[str]) -> list[str]:
    """The words without the ``--`` after which simple_switch_grpc expects the options of its target.

    As there, a ``--pcap`` without a folder means the current one.
    """
    words = [word for word in args if word != "--"]
    for at, word in reversed(list(enumerate(words))):
        if word == "--pcap" and (at + 1 == len(words) or words[at + 1].startswith("-")):
            words.insert(at + 1, ".")
    return words


run.rewrite = _like_bmv2


def _announce(running: RunningSwitch) -> None:
    out = show.console(wrap=False)
    pipeline = running.device.pipeline
    out.print(f"program    {pipeline.program.file if pipeline else 'none yet; push one over P4Runtime'}")
    if pipeline:
        out.print(f"engine     {pipeline.switch.engine} ({pipeline.switch.engine_reason})")
    out.print(f"P4Runtime  {running.address}  device {running.device.id}")
    for protocol in ("BF-RT", "gNMI"):
        if protocol in running.servers:
            out.print(f"{protocol:<10} {running.servers[protocol].address}")
    if running.debugging is not None:
        out.print(f"debugger   {running.debugging.address}")
    for number, port in sorted(running.ports.items()):
        out.print(f"port {number:<5} {port.name}")
    if running.device.cpu_port is not None:
        out.print(f"port {running.device.cpu_port:<5} CPU: packet-in and packet-out")


def _summary(running: RunningSwitch) -> None:
    ports = sorted(running.ports.items())
    faults = [name for name in _FAULTS if any(getattr(port.stats, name) for _, port in ports)]
    table = show.table("port", "link", "received", "sent", *faults, left=("port", "link"))
    for number, port in ports:
        counts = [getattr(port.stats, name) for name in ("received", "sent", *faults)]
        table.add_row(str(number), port.name, *map(str, counts))
    out = show.console()
    show.print_table(out, table)
    pipeline = running.device.pipeline
    if pipeline is not None and pipeline.switch.stats.exhausted:
        out.print(f"packets that used up their steps: {pipeline.switch.stats.exhausted}")
    for server in dict.fromkeys(running.servers.values()):
        for reason, count in server.refusals.counts.items():
            out.print(f"{server.protocol} refused {reason}: {count}")
    queues = _queues(running)
    if queues is not None:
        show.print_table(out, queues)


def _queues(running: RunningSwitch) -> Table | None:
    """Counts of the queues that have been used; None without a traffic manager."""
    from offramp_p4.paced import PacedSwitch

    pipeline = running.device.pipeline
    if pipeline is None or not isinstance(pipeline.switch, PacedSwitch):
        return None
    tm = pipeline.switch.queued.tm
    headings = ("port", "queue", "enqueued", "sent", "dropped", "marked", "waiting", "peak", "peak bytes")
    table = show.table(*headings)
    for port, number, queue in tm.queues():
        stats = queue.stats
        if stats.enqueued or stats.dropped:
            counts = (stats.enqueued, stats.dequeued, stats.dropped, stats.marked, len(queue))
            name = "recirculation" if port < 0 else str(port)
            table.add_row(name, str(number), *map(str, (*counts, stats.peak_packets, stats.peak_bytes)))
    if tm.misdirected:
        table.caption = f"{tm.misdirected} packets dropped: their priority names no queue"
    return table
