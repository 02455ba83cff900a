# SPDX-License-Identifier: Apache-2.0
"""The packet replication engine: multicast groups and clone sessions."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Replica:
    """One copy: to ``port``, with replication id ``instance``."""

    port: int
    instance: int


@dataclass(frozen=True, slots=True)
class CloneSession:
    """The destination of a session's clones; ``packet_length`` above 0 cuts them to this many bytes."""

    replicas: tuple[Replica, ...]
    class_of_service: int = 0
    packet_length: int = 0


@dataclass(slots=True)
class ReplicationEngine:
    """Multicast groups and clone sessions by id."""

    multicast: dict[int, tuple[Replica, ...]] = field(default_factory=dict)
    clones: dict[int, CloneSession] = field(default_factory=dict)

    def reset(self) -> None:
        """No groups, no sessions."""
        self.multicast.clear()
        self.clones.clear()
