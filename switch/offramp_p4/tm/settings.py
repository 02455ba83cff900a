# SPDX-License-Identifier: Apache-2.0
"""Settings of a traffic manager whose ports differ in nothing but their rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final

from offramp_base.numerals import whole_number
from offramp_base.settings.check import check
from offramp_base.settings.field import Field
from offramp_base.settings.units import BITS_PER_SECOND, BYTES
from offramp_p4.tm.config import MAX_PORT, QUEUES, QueueConfig, TmConfig

BUFFER_BYTES: Final = 4_000_000
"""Shared buffer of a running switch unless said otherwise: memory must not grow with an overload."""


def _rate(text: str) -> tuple[int | None, int]:
    name, equals, rate = text.rpartition("=")
    port = whole_number(name)
    if equals and (port is None or port > MAX_PORT):
        raise ValueError(f"expected PORT=RATE or RATE, ports 0 to {MAX_PORT}")
    return port, BITS_PER_SECOND.parse(rate)


def _share(text: str) -> tuple[int, int]:
    queue, percent = map(whole_number, text.removesuffix("%").partition("=")[::2])
    if queue is None or percent is None:
        raise ValueError("expected QUEUE=PERCENT, such as 0=5")
    return queue, percent


def _weight(text: str) -> tuple[int, int]:
    queue, weight = map(whole_number, text.partition("=")[::2])
    if queue is None or weight is None:
        raise ValueError("expected QUEUE=WEIGHT, such as 0=3")
    return queue, weight


@dataclass(frozen=True)
class TrafficSettings:
    """A traffic manager; there is none where nothing is set.

    Attributes:
        port_rate: rate by port; None stands for all others.
    """

    priority_queues: Annotated[
        int | None,
        Field(
            "Queues of each port, the highest first: the values of standard_metadata.priority",
            least=1,
            most=QUEUES,
            shown_default=str(QUEUES),
            metavar="N",
            group="Traffic manager",
        ),
    ] = None
    port_rate: Annotated[
        Mapping[int | None, int],
        Field("Rate of a port, such as 1=10mbit; 10mbit alone: rate of all others", item=_rate),
    ] = field(default_factory=dict)
    queue_weight: Annotated[
        Mapping[int, int],
        Field("QUEUE=WEIGHT: deficit round robin among these, after the others; repeatable", item=_weight, rare=True),
    ] = field(default_factory=dict)
    queue_share: Annotated[
        Mapping[int, int],
        Field(
            "QUEUE=PERCENT of the line that the queue is guaranteed, whatever waits in others; repeatable",
            item=_share,
            rare=True,
        ),
    ] = field(default_factory=dict)
    buffer: Annotated[
        int | None,
        Field("Bytes that all queues share", unit=BYTES, least=1, shown_default=BYTES.shown(BUFFER_BYTES), rare=True),
    ] = None
    queue_buffer: Annotated[int | None, Field("Bytes that a queue holds", unit=BYTES, least=1, rare=True)] = None
    queue_packets: Annotated[int | None, Field("Packets that a queue holds", least=1, rare=True)] = None
    ecn_threshold: Annotated[
        int | None, Field("Bytes in a queue above which IP packets get marked", unit=BYTES, least=0, rare=True)
    ] = None
    recirculation_rate: Annotated[int | None, Field("Rate of recirculation", unit=BITS_PER_SECOND, rare=True)] = None

    def __post_init__(self) -> None:
        check(self)

    def config(self) -> TmConfig | None:
        """The traffic manager; None where nothing is set.

        Raises:
            OfframpError: a weight or share below 1, or of a queue that there is not.
        """
        if self == TrafficSettings():
            return None
        rates = {port: rate for port, rate in self.port_rate.items() if port is not None}
        return TmConfig.uniform(
            queues=self.priority_queues or QUEUES,
            rates=rates,
            rate_bps=self.port_rate.get(None),
            weights=self.queue_weight,
            shares=self.queue_share,
            queue=QueueConfig(self.queue_buffer, self.queue_packets, self.ecn_threshold),
            buffer_bytes=self.buffer or BUFFER_BYTES,
            recirculation_bps=self.recirculation_rate,
        )
