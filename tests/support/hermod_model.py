# SPDX-License-Identifier: Apache-2.0
"""``p4/hermod`` in plain Python, and frames to try it with."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

from offramp.hermod.switch.entries import GateRole, MeterRate, SwitchPlan, ThresholdProfile
from offramp_base.wire.ethernet import ipv4_checksum

PORTS = (1, 2, 3, 4)
LEASE = 15625
"""Ticks of 64 microseconds, as in p4/hermod/sizes.p4."""
HOSTS = {0x0200_0000_0001: 1, 0x0200_0000_0002: 2, 0x0200_0000_0003: 3}
QUIET = SwitchPlan({d: d // 8 for d in range(0, 60, 3)}, 2, 6, {}, HOSTS, PORTS)
CONGESTED = SwitchPlan(
    QUIET.queues,
    2,
    6,
    {
        0: ThresholdProfile(0),
        2: ThresholdProfile(3, drops=True),
        4: ThresholdProfile(5),
        6: ThresholdProfile(1, drops=True),
    },
    HOSTS,
    PORTS,
)


@dataclass
class Model:
    """A switch with a plan; counters by port and queue, or by DSCP."""

    plan: SwitchPlan
    sent: Counter[tuple[int, int]] = field(default_factory=Counter)
    sent_bytes: Counter[tuple[int, int]] = field(default_factory=Counter)
    marked: Counter[tuple[int, int]] = field(default_factory=Counter)
    dropped: Counter[tuple[int, int]] = field(default_factory=Counter)
    by_dscp: Counter[int] = field(default_factory=Counter)
    strangers: Counter[int] = field(default_factory=Counter)
    policed: Counter[tuple[int, int]] = field(default_factory=Counter)
    excess: Counter[int] = field(default_factory=Counter)
    now_us: int = 0
    buckets: dict[tuple[int, ...], tuple[float, int]] = field(default_factory=dict)
    tick: int = 0
    closed: Counter[int] = field(default_factory=Counter)
    opened: Counter[int] = field(default_factory=Counter)

    def ingress(self, came_from: int, frame: bytes) -> tuple[list[int], int, bytes, GateRole]:
        """Ports, queue and role of a frame, and the frame as it goes on; no ports: dropped."""
        if len(frame) < 14 or too_short(frame):
            return [], 0, frame, GateRole()
        dscp = dscp_of(frame)
        if dscp is None:
            queue = self.plan.without_dscp
        else:
            self.by_dscp[dscp] += 1
            queue = self.plan.queues.get(dscp, self.plan.other)
        role = self.plan.roles.get(-1 if dscp is None else dscp, GateRole())
        demoted = self.plan.members is not None and came_from not in self.plan.members
        if demoted:
            self.strangers[came_from] += 1
        elif came_from in self.plan.policed_ports and self.exceeds(
            (came_from, queue), self.plan.police.get(queue), len(frame)
        ):
            demoted = True
            self.policed[came_from, queue] += 1
        if demoted:
            queue, role, frame = 0, GateRole(), best_effort(frame)
        port = self.plan.hosts.get(int.from_bytes(frame[:6], "big"))
        if port is not None and queue and self.exceeds((port,), self.plan.upper, len(frame)):
            self.excess[port] += 1
            return [], queue, frame, role
        return list(self.plan.ports) if port is None else [port], queue, frame, role

    def exceeds(self, cell: tuple[int, ...], rate: MeterRate | None, size: int) -> bool:
        """Whether a token bucket has not enough for a frame; it begins full."""
        if rate is None:
            return False
        level, last_us = self.buckets.get(cell, (float(rate.burst), 0))
        level = min(float(rate.burst), level + rate.bytes_per_s * ((self.now_us - last_us) / 1e6))
        self.buckets[cell] = (level if level < size else level - size), self.now_us
        return level < size

    def egress(
        self, came_from: int, port: int, queue: int, frame: bytes, depth: int = 0, role: GateRole | None = None
    ) -> bytes | None:
        """The frame that leaves, or None."""
        if port == came_from:
            return None
        held = self.held(role or GateRole(), came_from, port)
        profile = self.plan.profiles.get(queue)
        if profile is not None and depth > profile.threshold:
            field_ = ecn_of(frame)
            if field_ in {1, 2}:
                frame = with_mark(frame)
                self.marked[port, queue] += not held
            elif field_ != 3 and profile.drops:
                self.dropped[port, queue] += 1
                return None
        if held:
            self.dropped[port, queue] += 1
            return None
        self.sent[port, queue] += 1
        self.sent_bytes[port, queue] += len(frame)
        return frame

    def held(self, role: GateRole, came_from: int, port: int) -> bool:
        """Turns the gates, and says whether a frame finds one closed."""
        if role.closes:
            self.closed[port] = self.tick
        if role.opens:
            self.opened[came_from] = self.tick
        closed = self.closed[port]
        return role.held and closed > self.opened[port] and self.tick - closed < LEASE

    def pass_(self, port: int, frame: bytes, depth: int = 0) -> list[tuple[int, bytes]]:
        """Copies that leave when each finds ``depth`` packets in its queue."""
        ports, queue, frame, role = self.ingress(port, frame)
        copies = [(out, self.egress(port, out, queue, frame, depth, role)) for out in ports]
        return [(out, copy) for out, copy in copies if copy is not None]


def version(frame: bytes) -> int:
    """4, 6 or 0."""
    wanted = {b"\x08\x00": 4, b"\x86\xdd": 6}.get(frame[12:14], 0)
    return wanted if wanted and len(frame) > 14 and frame[14] >> 4 == wanted else 0


def too_short(frame: bytes) -> bool:
    says_ip = frame[12:14] in {b"\x08\x00", b"\x86\xdd"}
    return len(frame) < 14 + {4: 20, 6: 40}.get(version(frame), 1 if says_ip else 0)


def traffic_class(frame: bytes) -> int:
    return frame[15] if version(frame) == 4 else int.from_bytes(frame[14:16], "big") >> 4 & 0xFF


def dscp_of(frame: bytes) -> int | None:
    return traffic_class(frame) >> 2 if version(frame) else None


def ecn_of(frame: bytes) -> int:
    return traffic_class(frame) & 3 if version(frame) else 0


def with_mark(frame: bytes) -> bytes:
    """Congestion Experienced; RFC 1624, equation 3 for IPv4's checksum."""
    marked = bytearray(frame)
    if version(frame) == 6:
        marked[15] |= 0x30
        return bytes(marked)
    marked[15] |= 3
    return with_checksum(frame, marked)


def best_effort(frame: bytes) -> bytes:
    """DSCP 0."""
    marked = bytearray(frame)
    if version(frame) == 6:
        marked[14] &= 0xF0
        marked[15] &= 0x3F
    elif version(frame) == 4 and dscp_of(frame):
        marked[15] &= 3
        return with_checksum(frame, marked)
    return bytes(marked)


def with_checksum(frame: bytes, changed: bytearray) -> bytes:
    """``changed``, whose first word of IPv4 is not that of ``frame``, with the checksum changed by as much."""
    total = (0xFFFF ^ int.from_bytes(frame[24:26], "big")) + (0xFFFF ^ int.from_bytes(frame[14:16], "big"))
    total += int.from_bytes(changed[14:16], "big")
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    changed[24:26] = (total ^ 0xFFFF).to_bytes(2, "big")
    return bytes(changed)


def ipv4(rng: random.Random, tos: int, words: int = 5, checksum: int | None = None) -> bytes:
    """A header of random fields with a right checksum; ``checksum`` says which one, made so by the identification."""
    header = bytearray(rng.randbytes(4 * words))
    header[0], header[1] = 0x40 | words, tos
    header[10:12] = b"\0\0" if checksum is None else checksum.to_bytes(2, "big")
    at = 10 if checksum is None else 4
    header[at : at + 2] = b"\0\0"
    header[at : at + 2] = ipv4_checksum(bytes(header)).to_bytes(2, "big")
    return bytes(header)


def random_frame(rng: random.Random) -> bytes:
    """IPv4 with and without options, IPv6, others; some of a wrong version, some cut off."""
    known = [*HOSTS, 0xFFFF_FFFF_FFFF, 0x0200_0000_0009]
    addresses = rng.choice(known).to_bytes(6, "big") + rng.choice(list(HOSTS)).to_bytes(6, "big")
    tos = rng.choice([rng.randrange(256), rng.randrange(0, 60, 3) << 2 | rng.randrange(4)])
    kind = rng.randrange(8)
    if kind < 4:
        body = b"\x08\x00" + ipv4(rng, tos, rng.choice([5, 5, 6, 15]))
    elif kind < 6:
        body = b"\x86\xdd" + (0x6 << 28 | tos << 20 | rng.getrandbits(20)).to_bytes(4, "big") + rng.randbytes(36)
    elif kind == 6:
        body = rng.choice([b"\x08\x06", b"\x88\xcc", b"\x81\x00"]) + rng.randbytes(28)
    else:
        body = rng.choice([b"\x08\x00\x65", b"\x08\x00\x00", b"\x86\xdd\x45"]) + rng.randbytes(40)
    frame = addresses + body + rng.randbytes(rng.randrange(60))
    return frame[: rng.randrange(len(frame))] if rng.random() < 0.1 else frame
