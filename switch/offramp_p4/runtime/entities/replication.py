# SPDX-License-Identifier: Apache-2.0
"""PacketReplicationEngineEntry: multicast groups and clone sessions (section 9.5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from offramp_base.errors import OfframpError
from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.status import Code, RpcError
from offramp_base.p4rt.values import decode
from offramp_p4.runtime.entities.base import DELETE, INSERT, copied, invalid
from offramp_p4.runtime.environment import PortLinks
from offramp_p4.state import CloneSession, Replica, ReplicationEngine

# v1model: mcast_grp and egress_rid have 16 bits, clone sessions of bmv2 15 (the rest is in use inside it).
MAX_GROUP = 0xFFFF
MAX_INSTANCE = 0xFFFF
MAX_SESSION = 0x7FFF
PORT_BITS = 32

Choice = tuple[Replica, ...]
"""A replica and its backups, the most preferred first."""


class ReplicationHandler:
    """Both kinds of replication entry.

    Of each replica the first choice whose link is up is used; without any, none.
    """

    def __init__(self, engine: ReplicationEngine, links: PortLinks) -> None:
        self._engine, self._links = engine, links
        self._groups: dict[int, tuple[Any, list[Choice]]] = {}
        self._sessions: dict[int, tuple[Any, list[Choice]]] = {}

    def write(self, kind: int, entry: Any) -> None:
        """Apply one update."""
        match entry.WhichOneof("type"):
            case "multicast_group_entry":
                self._write_group(kind, entry.multicast_group_entry)
            case "clone_session_entry":
                self._write_session(kind, entry.clone_session_entry)
            case _:
                raise invalid("packet replication entry: expected a multicast group or a clone session")

    def links_changed(self) -> None:
        """Choose anew where there are backups."""
        for number, (_, choices) in self._groups.items():
            if _has_backups(choices):
                self._realise_group(number)
        for number, (_, choices) in self._sessions.items():
            if _has_backups(choices):
                self._realise_session(number)

    def _write_group(self, kind: int, entry: Any) -> None:
        number = entry.multicast_group_id
        what = f"multicast group {number}"
        _check_id(what, number, MAX_GROUP)
        _check_exists(what, kind, number in self._groups)
        if kind == DELETE:
            del self._engine.multicast[number], self._groups[number]
            return
        self._groups[number] = copied(entry), _choices(what, entry.replicas)
        self._realise_group(number)

    def _write_session(self, kind: int, entry: Any) -> None:
        number = entry.session_id
        what = f"clone session {number}"
        _check_id(what, number, MAX_SESSION)
        _check_exists(what, kind, number in self._sessions)
        if kind == DELETE:
            del self._engine.clones[number], self._sessions[number]
            return
        if entry.packet_length_bytes < 0:
            raise invalid(f"{what}: packet length {entry.packet_length_bytes} is negative")
        self._sessions[number] = copied(entry), _choices(what, entry.replicas)
        self._realise_session(number)

    def _realise_group(self, number: int) -> None:
        self._engine.multicast[number] = self._live(self._groups[number][1])

    def _realise_session(self, number: int) -> None:
        entry, choices = self._sessions[number]
        self._engine.clones[number] = CloneSession(
            self._live(choices), entry.class_of_service, entry.packet_length_bytes
        )

    def _live(self, choices: Iterable[Choice]) -> tuple[Replica, ...]:
        chosen = (_first_up(choice, self._links) for choice in choices)
        return tuple(replica for replica in chosen if replica is not None)

    def read(self, wanted: Any) -> Iterator[Any]:
        """One group or session, or all of the kind for id 0; both kinds when none is named."""
        kind = wanted.WhichOneof("type")
        if kind != "clone_session_entry":
            number = wanted.multicast_group_entry.multicast_group_id
            for group, (entry, _) in sorted(self._groups.items()):
                if number in {0, group}:
                    yield _entity(multicast_group_entry=entry)
        if kind != "multicast_group_entry":
            number = wanted.clone_session_entry.session_id
            for session, (entry, _) in sorted(self._sessions.items()):
                if number in {0, session}:
                    yield _entity(clone_session_entry=entry)


def _has_backups(choices: list[Choice]) -> bool:
    return any(len(choice) > 1 for choice in choices)


def _first_up(choice: Choice, links: PortLinks) -> Replica | None:
    # Without backups a replica is sent whatever its link: it is lost there, as a unicast packet is.
    return choice[0] if len(choice) == 1 else next((r for r in choice if links.up(r.port)), None)


def _check_id(what: str, number: int, highest: int) -> None:
    if not 0 < number <= highest:
        raise invalid(f"{what}: the id must lie in 1..{highest}")


def _check_exists(what: str, kind: int, exists: bool) -> None:
    if kind == INSERT and exists:
        raise RpcError(Code.ALREADY_EXISTS, f"{what} exists")
    if kind != INSERT and not exists:
        raise RpcError(Code.NOT_FOUND, f"{what} does not exist")


def _choices(what: str, messages: Any) -> list[Choice]:
    out = []
    for message in messages:
        if message.WhichOneof("port_kind") == "egress_port":
            first = _replica(what, message.egress_port, message.instance)
        else:
            first = _replica(what, _port(what, message.port), message.instance)
        backups = [_replica(what, _port(what, b.port), b.instance) for b in message.backup_replicas]
        if any(backup.port == first.port for backup in backups):
            raise invalid(f"{what}: a backup replica has the port {first.port} of its replica")
        out.append((first, *backups))
    every = [replica for choice in out for replica in choice]
    if len(set(every)) != len(every):
        raise invalid(f"{what}: two replicas have the same port and instance")
    return out


def _port(what: str, data: bytes) -> int:
    try:
        return decode(data, PORT_BITS, f"{what}: port")
    except OfframpError as error:
        raise invalid(str(error)) from None


def _replica(what: str, port: int, instance: int) -> Replica:
    if instance > MAX_INSTANCE:
        raise invalid(f"{what}: instance {instance} is above {MAX_INSTANCE}")
    return Replica(port, instance)


def _entity(**entry: Any) -> Any:
    return v1.Entity(packet_replication_engine_entry=v1.PacketReplicationEngineEntry(**entry))
