# SPDX-License-Identifier: Apache-2.0
"""Configuration of a traffic manager: queues, rates, limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from offramp_base.errors import OfframpError

QUEUES = 8
"""Queues of a port unless said otherwise: what v1model's three bits of priority can name."""
ALL_PERCENT = 100
MAX_PORT = 510
"""Port 511 of v1model drops."""


def check(what: str, value: float | None, *, least: int = 1) -> None:
    """Check that a number is None or at least ``least``.

    Raises:
        OfframpError: it is not; names ``what``.
    """
    if value is not None and value < least:
        raise OfframpError(f"{what} is {value}: expected {least} up")


@dataclass(frozen=True, slots=True)
class QueueConfig:
    """One queue; None means without limit, without marks, strict priority, nothing guaranteed.

    Attributes:
        limit_bytes, limit_packets: capacity of the queue; a frame that does not fit is dropped.
        ecn_bytes: a frame that finds more bytes than these before it is marked.
        weight: share in deficit round robin among the weighted queues of the port.
        least_percent: percent of the line's bytes that a strict queue is guaranteed while it holds something.

    Raises:
        OfframpError: a number is below its least value, or a share is guaranteed to a weighted queue or is all.
    """

    limit_bytes: int | None = None
    limit_packets: int | None = None
    ecn_bytes: int | None = None
    weight: int | None = None
    least_percent: int | None = None

    def __post_init__(self) -> None:
        check("queue limit_bytes", self.limit_bytes)
        check("queue limit_packets", self.limit_packets)
        check("queue ecn_bytes", self.ecn_bytes, least=0)
        check("queue weight", self.weight)
        check("queue least_percent", self.least_percent)
        if self.least_percent is not None and self.weight is not None:
            raise OfframpError("queue with a weight and a guaranteed share: expected one of them")


@dataclass(frozen=True, slots=True)
class PortConfig:
    """One port.

    The queue of the highest number goes first. Weighted queues share what the strict ones leave.

    Attributes:
        rate_bps: bits per second of the line, preamble and gap included; None: as fast as asked.
        queues: queues by the number that ``standard_metadata.priority`` gives.

    Raises:
        OfframpError: no queues, or a rate below 1.
    """

    rate_bps: int | None = None
    queues: tuple[QueueConfig, ...] = (QueueConfig(),) * QUEUES

    def __post_init__(self) -> None:
        check("port rate_bps", self.rate_bps)
        if not self.queues:
            raise OfframpError("port without queues: expected 1 up")
        guaranteed = sum(queue.least_percent or 0 for queue in self.queues)
        if guaranteed >= ALL_PERCENT:
            raise OfframpError(f"queues are guaranteed {guaranteed} % of a port: expected less than {ALL_PERCENT}")


@dataclass(frozen=True, slots=True)
class TmConfig:
    """A traffic manager.

    Attributes:
        default: every port that ``ports`` does not name.
        ports: ports by port number.
        buffer_bytes: frames of all queues together; None: memory without end.
        recirculation: the way of recirculated packets back to the parser, with queue and rate of its own.

    Raises:
        OfframpError: a buffer below 1 byte.
    """

    default: PortConfig = field(default_factory=PortConfig)
    ports: Mapping[int, PortConfig] = field(default_factory=dict)
    buffer_bytes: int | None = None
    recirculation: PortConfig = field(default_factory=lambda: PortConfig(queues=(QueueConfig(),)))

    def __post_init__(self) -> None:
        check("buffer_bytes", self.buffer_bytes)

    @classmethod
    def uniform(
        cls,
        *,
        queues: int = QUEUES,
        rate_bps: int | None = None,
        rates: Mapping[int, int] | None = None,
        weights: Mapping[int, int] | None = None,
        shares: Mapping[int, int] | None = None,
        queue: QueueConfig | None = None,
        buffer_bytes: int | None = None,
        recirculation_bps: int | None = None,
    ) -> TmConfig:
        """Ports that differ in nothing but their rate.

        Args:
            queues: queues of each port.
            rate_bps: rate of every port that ``rates`` does not name.
            rates: rates by port.
            weights: weights by queue.
            shares: guaranteed share of the line by queue, percent.
            queue: limits and marks of every queue.
            buffer_bytes: shared by all.
            recirculation_bps: rate of recirculation.

        Raises:
            OfframpError: a number out of range, or a weight or share for a queue that there is not.
        """
        check("queues", queues)
        base = queue or QueueConfig()
        weights, shares = weights or {}, shares or {}
        for what, numbers in (("weight", weights), ("share", shares)):
            for number in numbers:
                if not 0 <= number < queues:
                    raise OfframpError(f"{what} of queue {number}: expected a queue of 0..{queues - 1}")
        config = tuple(
            replace(base, weight=weights.get(n, base.weight), least_percent=shares.get(n, base.least_percent))
            for n in range(queues)
        )
        return cls(
            default=PortConfig(rate_bps, config),
            ports={port: PortConfig(rate, config) for port, rate in (rates or {}).items()},
            buffer_bytes=buffer_bytes,
            recirculation=PortConfig(recirculation_bps, (QueueConfig(base.limit_bytes, base.limit_packets),)),
        )

    @classmethod
    def from_plain(cls, raw: Mapping[str, Any]) -> TmConfig:
        """The configuration that :func:`dataclasses.asdict` and JSON have made plain."""
        return cls(
            default=_port(raw["default"]),
            ports={int(number): _port(port) for number, port in raw["ports"].items()},
            buffer_bytes=raw["buffer_bytes"],
            recirculation=_port(raw["recirculation"]),
        )


def _port(raw: Mapping[str, Any]) -> PortConfig:
    return PortConfig(raw["rate_bps"], tuple(QueueConfig(**queue) for queue in raw["queues"]))
