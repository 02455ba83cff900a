# SPDX-License-Identifier: Apache-2.0
"""Options of ``offramp switch run`` for the traffic manager."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from offramp_base.errors import OfframpError
from offramp_base.numerals import whole_number
from offramp_base.settings.units import parse_rate, parse_size

if TYPE_CHECKING:
    from rich.table import Table

    from offramp_p4.serve import Running
    from offramp_p4.tm import TmConfig

BUFFER_BYTES = 4_000_000
"""Shared buffer of a running switch unless said otherwise: memory must not grow with an overload."""


PriorityQueues = Annotated[
    int | None, typer.Option(help="Queues of each port, the highest first (8).", show_default=False, metavar="N")
]
PortRate = Annotated[
    list[str] | None, typer.Option(help="Rate of a port, such as 1=10mbit; 10mbit alone: of all others.")
]
QueueWeight = Annotated[
    list[str] | None, typer.Option(help="QUEUE=WEIGHT: deficit round robin among these, after the others.")
]
Buffer = Annotated[str | None, typer.Option(help="Bytes that all queues share (4MB).", show_default=False)]
QueueBuffer = Annotated[str | None, typer.Option(help="Bytes that a queue holds.", show_default=False)]
QueuePackets = Annotated[int | None, typer.Option(help="Packets that a queue holds.", show_default=False)]
EcnThreshold = Annotated[
    str | None, typer.Option(help="Bytes in a queue above which IP packets get marked.", show_default=False)
]
RecirculationRate = Annotated[str | None, typer.Option(help="Rate of recirculation.", show_default=False)]


def config(
    *,
    priority_queues: int | None = None,
    port_rate: list[str] | None = None,
    queue_weight: list[str] | None = None,
    buffer: str | None = None,
    queue_buffer: str | None = None,
    queue_packets: int | None = None,
    ecn_threshold: str | None = None,
    recirculation_rate: str | None = None,
) -> TmConfig | None:
    """The traffic manager that the options ask for; None when there are none.

    Raises:
        OfframpError: an option that is not of its form, or out of range.
    """
    sizes = (buffer, queue_buffer, ecn_threshold)
    if not (port_rate or queue_weight) and all(
        option is None for option in (priority_queues, queue_packets, recirculation_rate, *sizes)
    ):
        return None
    from offramp_p4.tm import QueueConfig, TmConfig

    rates, others = _rates(port_rate or [])
    return TmConfig.uniform(
        queues=_queues(priority_queues),
        rates=rates,
        rate_bps=others,
        weights=_weights(queue_weight or []),
        queue=QueueConfig(
            limit_bytes=_size(queue_buffer, "--queue-buffer"),
            limit_packets=queue_packets,
            ecn_bytes=_size(ecn_threshold, "--ecn-threshold"),
        ),
        buffer_bytes=BUFFER_BYTES if buffer is None else parse_size(buffer, "--buffer"),
        recirculation_bps=None
        if recirculation_rate is None
        else parse_rate(recirculation_rate, "--recirculation-rate"),
    )


def table(running: Running) -> Table | None:
    """Counts of the queues that were used; None without a traffic manager."""
    from rich.table import Table

    from offramp_p4.paced import PacedSwitch

    pipeline = running.device.pipeline
    if pipeline is None or not isinstance(pipeline.switch, PacedSwitch):
        return None
    tm = pipeline.switch.queued.tm
    made = Table("port", "queue", "enqueued", "sent", "dropped", "marked", "waiting", "peak", "peak bytes")
    for port, number, queue in tm.queues():
        stats = queue.stats
        if stats.enqueued or stats.dropped:
            counts = (stats.enqueued, stats.dequeued, stats.dropped, stats.marked, len(queue))
            name = "recirculation" if port < 0 else str(port)
            made.add_row(name, str(number), *map(str, (*counts, stats.peak_packets, stats.peak_bytes)))
    if tm.misdirected:
        made.caption = f"{tm.misdirected} packets dropped: their priority names no queue"
    return made


def _queues(given: int | None) -> int:
    from offramp_p4.tm.config import QUEUES

    if given is None:
        return QUEUES
    if not 1 <= given <= QUEUES:
        raise OfframpError(f"--priority-queues {given}: expected 1..{QUEUES}, the values of standard_metadata.priority")
    return given


def _rates(texts: list[str]) -> tuple[dict[int, int], int | None]:
    from offramp_p4.serve import check_port_number

    rates: dict[int, int] = {}
    others = None
    for text in texts:
        name, equals, rate = text.rpartition("=")
        if not equals:
            others = parse_rate(rate, "--port-rate")
            continue
        port = whole_number(name)
        if port is None:
            raise OfframpError(f"--port-rate {text}: expected PORT=RATE or RATE")
        check_port_number(port)
        rates[port] = parse_rate(rate, "--port-rate")
    return rates, others


def _weights(texts: list[str]) -> dict[int, int]:
    weights = {}
    for text in texts:
        queue, weight = map(whole_number, text.partition("=")[::2])
        if queue is None or weight is None:
            raise OfframpError(f"--queue-weight {text}: expected QUEUE=WEIGHT, such as 0=3")
        weights[queue] = weight
    return weights


def _size(text: str | None, flag: str) -> int | None:
    return None if text is None else parse_size(text, flag)
