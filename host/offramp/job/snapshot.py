# SPDX-License-Identifier: Apache-2.0
"""Everything that a controller can put into a P4 switch, read so that it can be restored and compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from offramp_base.ending.files import written
from offramp_base.errors import OfframpError
from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.session import Session
from offramp_base.p4rt.status import Code, RpcError

_MOST: Final = 1 << 28


@dataclass(frozen=True)
class SwitchSnapshot:
    """State of a switch; counters are not part of it.

    Attributes:
        config: the pipeline, a ``ForwardingPipelineConfig``; empty where the switch runs none.
        entities: what is inserted (entries, groups, sessions), then what is modified (default actions, registers,
            meters), each serialised, in order.
    """

    config: bytes
    entities: tuple[tuple[bool, bytes], ...] = ()

    @classmethod
    def take(cls, session: Session) -> SwitchSnapshot:
        """Read it.

        Raises:
            OfframpError: the switch does not answer, or does not say what it runs.
        """
        request = v1.GetForwardingPipelineConfigRequest(device_id=session.device_id, response_type=0)
        try:
            reply = session._call("GetForwardingPipelineConfig", request)
        except RpcError as error:
            if error.code is Code.FAILED_PRECONDITION:  # P4Runtime 1.5, section 14: no pipeline yet
                return cls(b"")
            raise
        if not reply.HasField("config") or not reply.config.HasField("p4info"):
            return cls(b"")
        if not reply.config.p4_device_config:
            raise OfframpError(
                f"switch {session.name}: does not say which program it runs, which could not be put back"
            )
        rows = [(True, e.SerializeToString(deterministic=True)) for e in _inserted(session, reply.config.p4info)]
        rows += [(False, e.SerializeToString(deterministic=True)) for e in _modified(session, reply.config.p4info)]
        return cls(reply.config.SerializeToString(deterministic=True), tuple(sorted(rows, reverse=True)))

    def restore(self, session: Session) -> None:
        """Make it hold again.

        Raises:
            OfframpError: the switch refuses, or ran no program, which no controller can bring back.
        """
        if not self.config:
            return
        config = v1.ForwardingPipelineConfig.FromString(self.config)
        session.push(config.p4info, config.p4_device_config, cookie=config.cookie.cookie)
        session.insert(v1.Entity.FromString(raw) for inserted, raw in self.entities if inserted)
        session.modify(v1.Entity.FromString(raw) for inserted, raw in self.entities if not inserted)

    def save(self, path: Path) -> None:
        """Write it into a file, whole or not at all."""
        message = v1.WriteRequest(
            updates=[
                v1.Update(type=v1.Update.INSERT if inserted else v1.Update.MODIFY, entity=v1.Entity.FromString(raw))
                for inserted, raw in self.entities
            ]
        )
        with written(path) as file:
            file.write(len(self.config).to_bytes(8, "big") + self.config + message.SerializeToString())

    @classmethod
    def load(cls, path: Path) -> SwitchSnapshot:
        """Read such a file, which this user wrote."""
        raw = path.read_bytes()[:_MOST]
        end = 8 + int.from_bytes(raw[:8], "big")
        message = v1.WriteRequest.FromString(raw[end:])
        rows = [(e.type == v1.Update.INSERT, e.entity.SerializeToString(deterministic=True)) for e in message.updates]
        return cls(raw[8:end], tuple(sorted(rows, reverse=True)))


def _inserted(session: Session, info: Any) -> Iterator[Any]:
    filters = [
        v1.Entity(table_entry=v1.TableEntry(table_id=table.preamble.id))
        for table in info.tables
        if not table.is_const_table
    ]
    filters += [
        v1.Entity(packet_replication_engine_entry=v1.PacketReplicationEngineEntry(**{kind: {}}))
        for kind in ("multicast_group_entry", "clone_session_entry")
    ]
    for each in filters:
        yield from session.read([each])


def _modified(session: Session, info: Any) -> Iterator[Any]:
    for table in info.tables:
        if not table.const_default_action_id and not table.is_const_table:
            entry = v1.TableEntry(table_id=table.preamble.id, is_default_action=True)
            yield from (e for e in session.read([v1.Entity(table_entry=entry)]) if e.table_entry.HasField("action"))
    for register in info.registers:
        entry = v1.RegisterEntry(register_id=register.preamble.id)
        for entity in session.read([v1.Entity(register_entry=entry)]):
            if any(entity.register_entry.data.SerializeToString()[2:].strip(b"\0")):
                yield entity
    for meter in info.meters:
        entry = v1.MeterEntry(meter_id=meter.preamble.id)
        yield from (e for e in session.read([v1.Entity(meter_entry=entry)]) if e.meter_entry.HasField("config"))
