# SPDX-License-Identifier: Apache-2.0
"""The queueing discipline of an interface, and the lines for ``tc -batch`` that make it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from offramp.hermod.deploy.limits import LineLimits
from offramp.hermod.deploy.linux.prefixes import blocks, tos_match
from offramp.hermod.queues import QueuePlan
from offramp_base.errors import OfframpError

HANDLE = "4845:"
"""Handle of our own queueing disciplines; no others are touched."""
_ROOT = 1
_FIRST = 0x10
_GUARANTEED = 8000
_BURST_S = 250e-6
_LEAST_BURST = 2 * 1514
PROTOCOLS = {"ip": "ip dsfield", "ipv6": "ip6 priority"}
"""Protocol to the name of its byte in u32."""


@dataclass(frozen=True)
class TcState:
    """Strict classes, and the assignment of DSCPs to their queues.

    Attributes:
        kind: ``prio``, or ``htb``: one class for each queue that borrows all of the rate in the order of its priority.
        queues: number of queues.
        other: queue of everything that no filter matches.
        urgent: queue of ARP.
        dscps: queue by (protocol, DSCP).
        rate_bps: rate of the line (htb only), in three digits, as tc shows it.
        lowest_bps: rate guaranteed to the lowest queue (htb only), in three digits; others have next to nothing.
        most_bps: most that a queue may take, where that is less than the line (htb only), in three digits.
    """

    kind: str
    queues: int
    other: int
    urgent: int
    dscps: Mapping[tuple[str, int], int]
    rate_bps: int | None = None
    lowest_bps: int = _GUARANTEED
    most_bps: Mapping[int, int] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """Whether :meth:`commands` would recreate the state: nobody has changed what was deployed."""
        used = (self.other, self.urgent, *self.dscps.values())
        return all(0 <= queue < self.queues for queue in used) and (
            self.kind == "prio"
            or (self.rate_bps is not None and self.lowest_bps > 0 and all(bps > 0 for bps in self.most_bps.values()))
        )

    def commands(self, interface: str) -> list[str]:
        """Lines of a batch for an interface that has its default discipline."""
        lines = self._htb(interface) if self.kind == "htb" else self._prio(interface)
        at = f"filter add dev {interface} parent {HANDLE}"
        for priority, (protocol, byte) in enumerate(PROTOCOLS.items(), 1):
            for queue in range(self.queues):
                own = [dscp for (name, dscp), at_ in self.dscps.items() if (name, at_) == (protocol, queue)]
                for value, mask in (tos_match(*block) for block in blocks(own)):
                    match = f"match {byte} {value:#04x} {mask:#04x}"
                    lines.append(f"{at} protocol {protocol} prio {priority} u32 {match} flowid {self.class_of(queue)}")
        everything = f"u32 match u32 0 0 flowid {self.class_of(self.urgent)}"
        lines.append(f"{at} protocol arp prio {len(PROTOCOLS) + 1} {everything}")
        return lines

    def class_of(self, queue: int) -> str:
        """The class of a queue: htb's are numbered from ours on, prio's from 1 for the first to go."""
        return f"{HANDLE}{_FIRST + queue:x}" if self.kind == "htb" else f"{HANDLE}{self.queues - queue:x}"

    def queue_of(self, minor: int) -> int:
        """The queue of a class's minor number."""
        return minor - _FIRST if self.kind == "htb" else self.queues - minor

    def _htb(self, interface: str) -> list[str]:
        assert self.rate_bps is not None
        rate, burst = self.rate_bps, _burst(self.rate_bps)
        top = f"class add dev {interface} parent {HANDLE} classid {HANDLE}{_ROOT}"
        lines = [
            f"qdisc add dev {interface} root handle {HANDLE} htb default {_FIRST + self.other:#x}",
            f"{top} htb rate {rate}bit ceil {rate}bit burst {burst} cburst {burst} quantum 1514",
        ]
        for queue in range(self.queues):
            leaf = f"class add dev {interface} parent {HANDLE}{_ROOT} classid {self.class_of(queue)}"
            most = self.most_bps.get(queue, rate)
            guaranteed = min(self.lowest_bps if queue == 0 else _GUARANTEED, most)
            shares = f"htb rate {guaranteed}bit ceil {most}bit cburst {_burst(most)} quantum 1514"
            lines.append(f"{leaf} {shares} prio {self.queues - 1 - queue}")
        return lines

    def _prio(self, interface: str) -> list[str]:
        default = " ".join([str(self.queues - 1 - self.other)] * 16)
        return [f"qdisc add dev {interface} root handle {HANDLE} prio bands {self.queues} priomap {default}"]


def state_for(plan: QueuePlan, kind: str, limits: LineLimits | None) -> TcState:
    """The plan on an interface; ``limits`` are of htb, which has the rate of the line from them.

    Raises:
        OfframpError: htb without a rate, or a rate for a queue that the plan has not.
    """
    dscps = {(protocol, dscp): queue for protocol in PROTOCOLS for dscp, queue in plan.queues.items()}
    if kind == "prio":
        return TcState(kind, max(plan.count, 2), plan.other, plan.urgent, dscps)  # prio has no fewer
    if limits is None:
        raise OfframpError("htb needs the rate of the line")
    rate = _three_digits(limits.line_bps)
    given = {queue: max(_three_digits(bps), _GUARANTEED) for queue, bps in limits.of_queues(plan).items()}
    most = {queue: bps for queue, bps in given.items() if bps < rate}
    lowest = max(_three_digits(int(rate * limits.lowest)), _GUARANTEED)
    return TcState(kind, plan.count, plan.other, plan.urgent, dscps, rate, min(lowest, most.get(0, lowest)), most)


def _burst(bps: int) -> int:
    return max(int(bps / 8 * _BURST_S), _LEAST_BURST)


def _three_digits(bps: int) -> int:
    digits: int = 10 ** max(len(str(bps)) - 3, 0)
    return bps // digits * digits
