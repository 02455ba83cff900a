# SPDX-License-Identifier: Apache-2.0
"""A queue plan as state of ``p4/hermod``: table entries, default actions, rates and the flood group."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

from offramp import switch_groups
from offramp_base.errors import OfframpError
from offramp_base.p4rt.state import BURST, BYTES_PER_S, INDEX, RATE, REPLICATE, Key, State, Value, group_key

CLASSES = "HermodIngress.classify.classes"
ENQUEUE = "HermodIngress.classify.enqueue"
MACS = "HermodIngress.forward.macs"
FORWARD = "HermodIngress.forward.forward"
FLOOD = "HermodIngress.forward.flood"
DROP = "HermodIngress.forward.drop"
PROFILES = "HermodEgress.congestion.profiles"
MARK = "HermodEgress.congestion.mark"
MARK_OR_DROP = "HermodEgress.congestion.mark_or_drop"
BY_DSCP = "HermodIngress.by_dscp"
SENT, MARKED, DROPPED = (f"HermodEgress.{name}" for name in ("sent", "marked", "dropped"))

ROLES = "HermodIngress.roles.roles"
ROLE = "HermodIngress.roles.role"

MEMBERS = "HermodIngress.trust.members"
TRUST = "HermodIngress.trust.trust"
BEST_EFFORT = "HermodIngress.trust.best_effort"
BY_SOURCE = "HermodIngress.police.by_source"
UPPER = "HermodIngress.floor.upper"
STRANGERS, POLICED, EXCESS = (f"HermodIngress.{name}" for name in ("strangers", "police.policed", "floor.excess"))

FLOOD_GROUP = switch_groups.FLOOD
"""Multicast group of all ports."""
FLOOD_KEY = group_key(FLOOD_GROUP)
QUEUES = 8
PORTS = 512
_DEEPEST = (1 << 19) - 2
_PIPE = "pipe."


@dataclass(frozen=True, slots=True)
class ThresholdProfile:
    """The treatment of frames that find a queue above a threshold.

    Attributes:
        threshold: packets on bmv2 and the embedded switch, cells on a Tofino; a frame that finds more is marked.
        drops: whether frames that cannot be marked (not ECT) are dropped.
    """

    threshold: int
    drops: bool = False


@dataclass(frozen=True, slots=True)
class GateRole:
    """The effect that frames of a DSCP have on the gates (docs/unitg.md).

    Attributes:
        closes: the gate of the port that they leave by.
        opens: the gate of the port that they came in by.
        held: they are dropped where the gate is closed.
    """

    closes: bool = False
    opens: bool = False
    held: bool = False


@dataclass(frozen=True, slots=True)
class MeterRate:
    """The rate that a meter lets pass.

    Attributes:
        bytes_per_s: on average.
        burst: bytes at once; at least a frame's.
    """

    bytes_per_s: int
    burst: int

    def __post_init__(self) -> None:
        if self.bytes_per_s < 1 or self.burst < 1:
            raise OfframpError(f"rate of {self.bytes_per_s} bytes/s with bursts of {self.burst}: expected 1 up")


@dataclass(frozen=True, slots=True)
class SwitchPlan:
    """The state of one switch that runs ``p4/hermod``, as its controller describes it.

    Attributes:
        queues: by DSCP; the highest goes first.
        other: queue of every DSCP that is not in ``queues``.
        without_dscp: queue of frames that are not IP, such as ARP.
        profiles: by queue.
        hosts: ports of MAC addresses; frames to others are flooded.
        ports: all ports, to flood to; none: forwarding is somebody else's concern.
        roles: by DSCP, where there are gates.
        members: ports whose DSCPs count; what comes in by others is best effort. None: every port's count.
        police: by queue, what one of ``members`` (of ``ports`` without) may send in it; more is best effort.
        upper: rate of each of ``ports`` for all queues but the lowest together; more is dropped.
    """

    queues: Mapping[int, int]
    other: int = 0
    without_dscp: int = QUEUES - 1
    profiles: Mapping[int, ThresholdProfile] = field(default_factory=dict)
    hosts: Mapping[int, int] = field(default_factory=dict)
    ports: Sequence[int] = ()
    roles: Mapping[int, GateRole] = field(default_factory=dict)
    members: Sequence[int] | None = None
    police: Mapping[int, MeterRate] = field(default_factory=dict)
    upper: MeterRate | None = None

    @property
    def policed_ports(self) -> Sequence[int]:
        """Ports that the rates of ``police`` are for."""
        return self.ports if self.members is None else self.members

    def __post_init__(self) -> None:
        for dscp, queue in self.queues.items():
            _check(f"DSCP {dscp}", dscp, 63)
            _check(f"DSCP {dscp}: queue {queue}", queue, QUEUES - 1)
        _check(f"queue {self.other} of other DSCPs", self.other, QUEUES - 1)
        _check(f"queue {self.without_dscp} of frames without DSCP", self.without_dscp, QUEUES - 1)
        for queue, profile in self.profiles.items():
            _check(f"profile of queue {queue}", queue, QUEUES - 1)
            _check(f"queue {queue}: threshold {profile.threshold}", profile.threshold, _DEEPEST)
        for dscp, role in self.roles.items():
            _check(f"role of DSCP {dscp}", dscp, 63)
            if role.held and (role.closes or role.opens):
                raise OfframpError(f"role of DSCP {dscp}: what is held neither opens nor closes a gate")
        for queue in self.police:
            _check(f"rate of queue {queue}", queue, QUEUES - 1)
        for port in self.members or ():
            _check(f"port {port} of the job", port, PORTS - 1)
        if self.police and not self.policed_ports:
            raise OfframpError("rates of queues: for no port; expected the job's, or all of the switch's")
        if self.upper is not None and not self.ports:
            raise OfframpError("rate of all queues but the lowest: for no port; expected the switch's")
        for mac, port in self.hosts.items():
            if port not in self.ports:
                raise OfframpError(f"host {mac:012x}: port {port} is not one of the switch's")


def state_for(plan: SwitchPlan, tables: Container[str]) -> State:
    """The state of a switch with a plan.

    Args:
        plan: the plan.
        tables: names of the program's tables, which depend on its target.
    """
    names = (CLASSES, PROFILES, MACS, ROLES, MEMBERS, BY_SOURCE, UPPER)
    classes, profiles, macs, roles, members, by_source, upper = (full_name(name, tables) for name in names)
    state: State = {
        (classes, ()): _enqueue(plan.other),
        (classes, (("is_ip", 0), ("dscp", 0))): _enqueue(plan.without_dscp),
    }
    for dscp, queue in sorted(plan.queues.items()):
        state[classes, (("is_ip", 1), ("dscp", dscp))] = _enqueue(queue)
    for queue, profile in sorted(plan.profiles.items()):
        action = MARK_OR_DROP if profile.drops else MARK
        state[profiles, (("profile", queue),)] = action, (("threshold", profile.threshold),)
    for dscp, role in sorted(plan.roles.items()):
        params = ("closes", int(role.closes)), ("opens", int(role.opens)), ("held", int(role.held))
        state[roles, (("is_ip", 1), ("dscp", dscp))] = ROLE, params
    state[members, ()] = (TRUST if plan.members is None else BEST_EFFORT), ()
    state |= {(members, (("port", port),)): (TRUST, ()) for port in sorted(plan.members or ())}
    if plan.ports:
        state[macs, ()] = FLOOD, (("group", FLOOD_GROUP),)
        for mac, port in sorted(plan.hosts.items()):
            state[macs, (("dst_addr", mac),)] = FORWARD, (("port", port),)
        state[FLOOD_KEY] = REPLICATE, tuple((f"replica {i}", port) for i, port in enumerate(plan.ports, 1))
    for port in plan.policed_ports:
        for queue, rate in plan.police.items():
            state[by_source, ((INDEX, cell(port, queue)),)] = _rate(rate)
    if plan.upper is not None:
        state |= {(upper, ((INDEX, port),)): _rate(plan.upper) for port in plan.ports}
    return state


def rate_cells(by_source: str, upper: str, ports: Sequence[int]) -> list[Key]:
    """Keys of all cells of two meters that are about some ports."""
    policed = [(by_source, ((INDEX, cell(port, queue)),)) for port in ports for queue in range(QUEUES)]
    return [*policed, *((upper, ((INDEX, port),)) for port in ports)]


def full_name(name: str, tables: Container[str]) -> str:
    """The name of a table or counter in a program with these tables: Tofino's begin with the name of the pipe."""
    return _PIPE + name if _PIPE + CLASSES in tables else name


def cell(port: int, queue: int) -> int:
    """The cell of a port's queue in ``sent``, ``marked`` and ``dropped``."""
    return port << 3 | queue


def _enqueue(queue: int) -> Value:
    return ENQUEUE, (("queue", queue), ("profile", queue))


def _rate(rate: MeterRate) -> Value:
    return RATE, ((BYTES_PER_S, rate.bytes_per_s), (BURST, rate.burst))


def _check(what: str, value: int, most: int) -> None:
    if not 0 <= value <= most:
        raise OfframpError(f"{what}: expected 0 to {most}")
