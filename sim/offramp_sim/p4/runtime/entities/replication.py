"""PacketReplicationEngineEntry: multicast groups and clone sessions (section 9.5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from offramp.errors import OfframpError
from offramp.switch.p4rt.schema import v1
from offramp.switch.p4rt.status import Code, RpcError
from offramp.switch.p4rt.values import decode, encode
from offramp_sim.p4.runtime.entities.base import DELETE, INSERT, invalid
from offramp_sim.p4.state import CloneSession, Replica, ReplicationEngine

# v1model: mcast_grp and egress_rid have 16 bits, clone sessions of bmv2 15 (the rest is in use inside it).
MAX_GROUP = 0xFFFF
MAX_INSTANCE = 0xFFFF
MAX_SESSION = 0x7FFF
PORT_BITS = 32


class ReplicationHandler:
    """Both kinds of replication entry."""

    def __init__(self, engine: ReplicationEngine) -> None:
        self._engine = engine
        self._metadata: dict[int, bytes] = {}

    def write(self, kind: int, entry: Any) -> None:
        """Apply one update."""
        match entry.WhichOneof("type"):
            case "multicast_group_entry":
                self._write_group(kind, entry.multicast_group_entry)
            case "clone_session_entry":
                self._write_session(kind, entry.clone_session_entry)
            case _:
                raise invalid("packet replication entry: expected a multicast group or a clone session")

    def _write_group(self, kind: int, entry: Any) -> None:
        number = entry.multicast_group_id
        what = f"multicast group {number}"
        _check_id(what, number, MAX_GROUP)
        _check_exists(what, kind, number in self._engine.multicast)
        if kind == DELETE:
            del self._engine.multicast[number]
            self._metadata.pop(number, None)
            return
        self._engine.multicast[number] = _replicas(what, entry.replicas)
        self._metadata[number] = entry.metadata

    def _write_session(self, kind: int, entry: Any) -> None:
        number = entry.session_id
        what = f"clone session {number}"
        _check_id(what, number, MAX_SESSION)
        _check_exists(what, kind, number in self._engine.clones)
        if kind == DELETE:
            del self._engine.clones[number]
            return
        if entry.packet_length_bytes < 0:
            raise invalid(f"{what}: packet length {entry.packet_length_bytes} is negative")
        self._engine.clones[number] = CloneSession(
            _replicas(what, entry.replicas), entry.class_of_service, entry.packet_length_bytes
        )

    def read(self, wanted: Any) -> Iterator[Any]:
        """One group or session, or all of the kind for id 0; both kinds when none is named."""
        kind = wanted.WhichOneof("type")
        if kind != "clone_session_entry":
            number = wanted.multicast_group_entry.multicast_group_id
            for group, replicas in sorted(self._engine.multicast.items()):
                if number in {0, group}:
                    entry = v1.MulticastGroupEntry(
                        multicast_group_id=group,
                        replicas=_messages(replicas),
                        metadata=self._metadata.get(group, b""),
                    )
                    yield _entity(multicast_group_entry=entry)
        if kind != "multicast_group_entry":
            number = wanted.clone_session_entry.session_id
            for session, clone in sorted(self._engine.clones.items()):
                if number in {0, session}:
                    entry = v1.CloneSessionEntry(
                        session_id=session,
                        replicas=_messages(clone.replicas),
                        class_of_service=clone.class_of_service,
                        packet_length_bytes=clone.packet_length,
                    )
                    yield _entity(clone_session_entry=entry)


def _check_id(what: str, number: int, highest: int) -> None:
    if not 0 < number <= highest:
        raise invalid(f"{what}: the id must lie in 1..{highest}")


def _check_exists(what: str, kind: int, exists: bool) -> None:
    if kind == INSERT and exists:
        raise RpcError(Code.ALREADY_EXISTS, f"{what} exists")
    if kind != INSERT and not exists:
        raise RpcError(Code.NOT_FOUND, f"{what} does not exist")


def _replicas(what: str, messages: Any) -> tuple[Replica, ...]:
    out: list[Replica] = []
    for message in messages:
        if message.backup_replicas:
            raise RpcError(Code.UNIMPLEMENTED, f"{what}: backup replicas are not supported")
        if message.WhichOneof("port_kind") == "port":
            try:
                port = decode(message.port, PORT_BITS, f"{what}: port")
            except OfframpError as error:
                raise invalid(str(error)) from None
        else:
            port = message.egress_port
        if message.instance > MAX_INSTANCE:
            raise invalid(f"{what}: instance {message.instance} is above {MAX_INSTANCE}")
        out.append(Replica(port, message.instance))
    if len(set(out)) != len(out):
        raise invalid(f"{what}: two replicas have the same port and instance")
    return tuple(out)


def _messages(replicas: tuple[Replica, ...]) -> list[Any]:
    return [v1.Replica(port=encode(r.port), instance=r.instance) for r in replicas]


def _entity(**entry: Any) -> Any:
    return v1.Entity(packet_replication_engine_entry=v1.PacketReplicationEngineEntry(**entry))
