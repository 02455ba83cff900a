# SPDX-License-Identifier: Apache-2.0
"""A queue plan as state of ``p4/hermod``: table entries, default actions and the flood group."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

from offramp_base.errors import OfframpError

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

FLOOD_GROUP = 1
"""Multicast group of all ports."""
QUEUES = 8
PORTS = 512
_DEEPEST = (1 << 19) - 2
_PIPE = "pipe."


@dataclass(frozen=True, slots=True)
class Profile:
    """The treatment of frames that find a queue above a threshold.

    Attributes:
        threshold: packets on bmv2 and the embedded switch, cells on a Tofino; a frame that finds more is marked.
        drops: whether frames that cannot be marked (not ECT) are dropped.
    """

    threshold: int
    drops: bool = False


@dataclass(frozen=True, slots=True)
class Role:
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
class Rate:
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
    """All that one switch is told.

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
    profiles: Mapping[int, Profile] = field(default_factory=dict)
    hosts: Mapping[int, int] = field(default_factory=dict)
    ports: Sequence[int] = ()
    roles: Mapping[int, Role] = field(default_factory=dict)
    members: Sequence[int] | None = None
    police: Mapping[int, Rate] = field(default_factory=dict)
    upper: Rate | None = None

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


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry with exact keys; no keys: the table's default action."""

    table: str
    keys: dict[str, int]
    action: str
    params: dict[str, int]


@dataclass(frozen=True, slots=True)
class Entries:
    """The whole state of a switch: entries, ``(port, instance)`` replicas of groups, rates of meters' cells by name."""

    entries: tuple[Entry, ...]
    groups: dict[int, list[tuple[int, int]]]
    meters: dict[tuple[str, int], Rate]


def entries_for(plan: SwitchPlan, tables: Container[str]) -> Entries:
    """The entries of a plan: a pure function of it and of the program's names of tables, which reveal its target."""
    classes, profiles, macs = (full_name(name, tables) for name in (CLASSES, PROFILES, MACS))
    rows = [
        Entry(classes, {}, ENQUEUE, {"queue": plan.other, "profile": plan.other}),
        Entry(classes, {"is_ip": 0, "dscp": 0}, ENQUEUE, _class(plan.without_dscp)),
    ]
    rows += [
        Entry(classes, {"is_ip": 1, "dscp": dscp}, ENQUEUE, _class(queue))
        for dscp, queue in sorted(plan.queues.items())
    ]
    rows += [
        Entry(
            profiles,
            {"profile": queue},
            MARK_OR_DROP if profile.drops else MARK,
            {"threshold": profile.threshold},
        )
        for queue, profile in sorted(plan.profiles.items())
    ]
    roles = full_name(ROLES, tables)
    rows += [
        Entry(
            roles,
            {"is_ip": 1, "dscp": dscp},
            ROLE,
            {"closes": role.closes, "opens": role.opens, "held": role.held},
        )
        for dscp, role in sorted(plan.roles.items())
    ]
    members = full_name(MEMBERS, tables)
    rows.append(Entry(members, {}, TRUST if plan.members is None else BEST_EFFORT, {}))
    rows += [Entry(members, {"port": port}, TRUST, {}) for port in sorted(plan.members or ())]
    by_source, upper = (full_name(name, tables) for name in (BY_SOURCE, UPPER))
    meters = {
        (by_source, cell(port, queue)): rate for port in plan.policed_ports for queue, rate in plan.police.items()
    }
    if plan.upper is not None:
        meters |= {(upper, port): plan.upper for port in plan.ports}
    if not plan.ports:
        return Entries(tuple(rows), {}, meters)
    rows.append(Entry(macs, {}, FLOOD, {"group": FLOOD_GROUP}))
    rows += [Entry(macs, {"dst_addr": mac}, FORWARD, {"port": port}) for mac, port in sorted(plan.hosts.items())]
    flood = [(port, instance) for instance, port in enumerate(plan.ports, 1)]
    return Entries(tuple(rows), {FLOOD_GROUP: flood}, meters)


def full_name(name: str, tables: Container[str]) -> str:
    """The name of a table or counter in a program with these tables: Tofino's begin with the name of the pipe."""
    return _PIPE + name if _PIPE + CLASSES in tables else name


def cell(port: int, queue: int) -> int:
    """The cell of a port's queue in ``sent``, ``marked`` and ``dropped``."""
    return port << 3 | queue


def _class(queue: int) -> dict[str, int]:
    return {"queue": queue, "profile": queue}


def _check(what: str, value: int, most: int) -> None:
    if not 0 <= value <= most:
        raise OfframpError(f"{what}: expected 0 to {most}")
