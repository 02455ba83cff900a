# SPDX-License-Identifier: Apache-2.0
"""Rights of roles: configurations of the type ``stratum.P4RoleConfig`` (P4Runtime specification, section 5.2).

The specification leaves the form of a configuration to an agreement; this one is Stratum's, which other clients also
know. A role without configuration may do everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError

from offramp_base.p4rt.schema import stratum
from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.runtime.entities.base import invalid

_ID_FIELDS = (
    "table_id",
    "action_profile_id",
    "meter_id",
    "counter_id",
    "register_id",
    "value_set_id",
    "digest_id",
    "extern_id",
)


@dataclass(frozen=True)
class Role:
    """The rights of one role.

    Attributes:
        exclusive: objects that only this configured role may write.
        ids: all objects that it may write and read; None: every one.
        packet_in: None: none; else the metadata that a packet must carry, ``(id, value)``, or () for every packet.
        pipeline: whether it may set the pipeline.
        message: the configuration as it was given.
    """

    exclusive: frozenset[int] = frozenset()
    ids: frozenset[int] | None = None
    packet_in: tuple[int, bytes] | tuple[()] | None = ()
    pipeline: bool = True
    message: Any = None

    def check_write(self, entity: Any) -> None:
        """Check that the role may write an entity.

        Raises:
            RpcError: PERMISSION_DENIED.
        """
        if self.ids is not None and object_id(entity) not in self.ids:
            raise RpcError(Code.PERMISSION_DENIED, "the role may not write this object")

    def readable(self, entities: Iterable[Any]) -> Iterator[Any]:
        """Those of the ``entities`` that the role may read."""
        return (e for e in entities if self.ids is None or object_id(e) in self.ids)

    def hears_of(self, identifier: int) -> bool:
        """Whether notifications about an object go to this role."""
        return self.ids is None or identifier in self.ids

    def takes_packet(self, metadata: Iterable[Any]) -> bool:
        """Whether packets with this metadata go to this role."""
        if self.packet_in is None:
            return False
        return not self.packet_in or any((m.metadata_id, m.value) == self.packet_in for m in metadata)


FULL = Role()


def parse(config: Any) -> Role:
    """The role that the ``config`` of a MasterArbitrationUpdate describes.

    Raises:
        RpcError: INVALID_ARGUMENT, it is of another type or no message.
    """
    name = config.type_url.rpartition("/")[2]
    if name != "stratum.P4RoleConfig":
        raise invalid(f"role configuration of type {name!r}: expected stratum.P4RoleConfig")
    try:
        message = stratum.P4RoleConfig.FromString(config.value)
    except DecodeError:
        raise invalid("the role configuration is not a stratum.P4RoleConfig message") from None
    wanted: tuple[int, bytes] | tuple[()] | None = None
    if message.receives_packet_ins:
        rule = message.packet_in_filter
        # The shortest bytestring, as metadata of packets has it.
        value = rule.value.lstrip(b"\0") or rule.value[-1:]
        wanted = (rule.metadata_id, value) if message.HasField("packet_in_filter") else ()
    exclusive = frozenset(message.exclusive_p4_ids)
    ids = exclusive | frozenset(message.shared_p4_ids)
    return Role(exclusive, ids, wanted, message.can_push_pipeline, config)


def object_id(entity: Any) -> int:
    """The id in P4Info of what an entity is about; 0: it is about none."""
    kind = entity.WhichOneof("entity")
    entry = getattr(entity, kind)
    if kind.startswith("direct_"):
        entry = entry.table_entry
    for name in _ID_FIELDS:
        if name in entry.DESCRIPTOR.fields_by_name:
            return int(getattr(entry, name))
    return 0
