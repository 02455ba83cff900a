# SPDX-License-Identifier: Apache-2.0
"""A controller's session with one P4Runtime switch."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from offramp_base.errors import OfframpError
from offramp_base.p4rt import p4info
from offramp_base.p4rt.connection import Connection, GrpcConnection
from offramp_base.p4rt.entities import EntityFactory, MatchValue, register_value
from offramp_base.p4rt.p4info import P4InfoIndex
from offramp_base.p4rt.report import describe_failure
from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.status import Code, RpcError
from offramp_base.p4rt.stream import StreamClient
from offramp_base.p4rt.tls import Tls
from offramp_base.progress import report

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

BATCH = 2000
"""Updates in one WriteRequest: well below gRPC's default limit of 4 MB per message."""
MANY = 16_000
"""Updates in one WriteRequest for entries with exact keys, which are short."""
_CONTINUE = "CONTINUE_ON_ERROR"


class Session:
    """Primary controller of a switch, by names instead of ids; a context manager.

    Args:
        target: ``host:port``, ``unix:PATH``, or a connection of another kind.
        device_id: P4Runtime device.
        election_id: the highest one is primary.
        timeout_s: seconds that any call may take.
        role: role name; empty is full access.
        role_config: rights of the role, a ``stratum.P4RoleConfig``; None: all.
        tls: certificates, where ``target`` is an address.

    Every method raises :class:`OfframpError` when the switch does not answer, refuses, or a name is unknown.
    """

    def __init__(
        self,
        target: str | Connection,
        *,
        device_id: int = 0,
        election_id: int = 1,
        timeout_s: float = 5.0,
        role: str = "",
        role_config: Any | None = None,
        tls: Tls | None = None,
    ) -> None:
        self._connection = GrpcConnection(target, tls) if isinstance(target, str) else target
        self.name = self._connection.name
        self.device_id = device_id
        self.election_id = election_id
        self.timeout_s = timeout_s
        self.role = role
        self.role_config = role_config
        self._stream: StreamClient | None = None
        self._factory: EntityFactory | None = None

    # --- life ----------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        try:
            self.capabilities()
            self._stream = StreamClient(self._connection)
            answer = self._stream.arbitrate(
                self.device_id, self.election_id, self.role, self.timeout_s, self.role_config
            )
            self._require_primary(answer)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave the switch; everything that was written stays."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        self._connection.close()

    @property
    def stream(self) -> StreamClient:
        """The stream channel; open while the session is entered."""
        if self._stream is None:
            raise OfframpError(f"switch {self.name}: the session is not open")
        return self._stream

    def capabilities(self) -> str:
        """The P4Runtime version of the server, empty if it does not say."""
        try:
            reply = self._call("Capabilities", v1.CapabilitiesRequest(device_id=self.device_id))
        except RpcError as error:
            if error.code is Code.UNIMPLEMENTED:
                return ""
            raise
        return str(reply.p4runtime_api_version)

    # --- pipeline ------------------------------------------------------------------------------------------

    def push(
        self,
        info: bytes | str | Any,
        device_config: bytes,
        *,
        action: str = "VERIFY_AND_COMMIT",
        cookie: int = 0,
    ) -> None:
        """Load a pipeline: P4Info (message, binary or text) and what the target runs.

        The device configuration is bmv2's JSON for bmv2 and the P4 source text for the embedded switch. The
        embedded switch also takes an empty P4Info: it makes its own from the source.
        """
        message = p4info.parse(info) if isinstance(info, bytes | str) else info
        request = v1.SetForwardingPipelineConfigRequest(
            device_id=self.device_id,
            role=self.role,
            election_id=self._election(),
            action=v1.SetForwardingPipelineConfigRequest.Action.Value(action),
        )
        if action != "COMMIT":
            request.config.p4info.CopyFrom(message)
            request.config.p4_device_config = device_config
            request.config.cookie.cookie = cookie
        if action.endswith("COMMIT"):
            self._clear_replication()
        self._call("SetForwardingPipelineConfig", request, timeout_s=max(self.timeout_s, 60.0))
        self._factory = None

    def _clear_replication(self) -> None:
        """Delete multicast groups and clone sessions before another pipeline comes.

        bmv2's server forgets them with the old pipeline while the switch keeps them, so that the next pipeline's
        replicas would be added to theirs.
        """
        group = v1.PacketReplicationEngineEntry(multicast_group_entry=v1.MulticastGroupEntry())
        clone = v1.PacketReplicationEngineEntry(clone_session_entry=v1.CloneSessionEntry())
        for entry in (group, clone):
            with contextlib.suppress(RpcError):  # no pipeline yet, or a target without replication
                self.delete(list(self.read([v1.Entity(packet_replication_engine_entry=entry)])))

    def pipeline(self) -> Any:
        """P4Info of the running pipeline."""
        request = v1.GetForwardingPipelineConfigRequest(
            device_id=self.device_id,
            response_type=v1.GetForwardingPipelineConfigRequest.P4INFO_AND_COOKIE,
        )
        reply = self._call("GetForwardingPipelineConfig", request)
        if not reply.HasField("config"):
            raise OfframpError(f"switch {self.name} device {self.device_id} runs no pipeline; push one first")
        return reply.config.p4info

    @property
    def make(self) -> EntityFactory:
        """Builds entities for the running pipeline."""
        if self._factory is None:
            self._factory = EntityFactory(P4InfoIndex(self.pipeline()))
        return self._factory

    @property
    def index(self) -> P4InfoIndex:
        """Names and ids of the running pipeline."""
        return self.make.index

    # --- writing -------------------------------------------------------------------------------------------

    def table_entry(
        self,
        table: str,
        match: Mapping[str, MatchValue],
        action: str | None = None,
        params: Mapping[str, int] | None = None,
        priority: int = 0,
    ) -> Any:
        """An entity for :meth:`insert`, :meth:`modify`, :meth:`delete`: one table entry.

        Match values are numbers or ``(value, mask)``, ``(value, prefix length)``, ``(low, high)`` by match
        kind. Higher priority wins; 0 where all keys are exact or lpm.
        """
        return self.make.table_entry(table, match, action, params, priority)

    def insert(self, entities: Iterable[Any], batch: int = BATCH) -> None:
        """Insert entities, ``batch`` in one request."""
        self.write((v1.Update(type=v1.Update.INSERT, entity=e) for e in entities), batch)

    def insert_columns(
        self,
        table: str,
        keys: Mapping[str, npt.NDArray[np.int64]],
        action: str,
        params: Mapping[str, npt.NDArray[np.int64]],
    ) -> None:
        """Insert ``(n,)`` entries with exact keys and one action, given by columns; many times faster than one by one.

        Raises:
            RpcError: as :meth:`write`.
            OfframpError: a name is unknown, or a value does not fit.
        """
        from offramp_base.p4rt.columns import Insertions

        insertions = Insertions(self.make, table, keys, action, params)
        head = self._request([], _CONTINUE).SerializeToString()
        done = 0
        for part in insertions.parts(MANY):
            report(f"writing entries of {table}", done, len(insertions))
            self._send(v1.WriteRequest.FromString(head + part))
            done += MANY

    def modify(self, entities: Iterable[Any], batch: int = BATCH) -> None:
        """Change existing entities."""
        self.write((v1.Update(type=v1.Update.MODIFY, entity=e) for e in entities), batch)

    def delete(self, entities: Iterable[Any], batch: int = BATCH) -> None:
        """Remove entities; only their keys count."""
        self.write((v1.Update(type=v1.Update.DELETE, entity=e) for e in entities), batch)

    def write(self, updates: Iterable[Any], batch: int = BATCH, atomicity: str = "CONTINUE_ON_ERROR") -> None:
        """Send ``p4.v1.Update`` messages, ``batch`` in one request.

        ``atomicity`` of each request: CONTINUE_ON_ERROR, ROLLBACK_ON_ERROR or DATAPLANE_ATOMIC (section 12.2).

        Raises:
            RpcError: the message counts the failed ones and names the first; ``errors`` has one for each.
        """
        todo = iter(updates)
        while part := list(itertools.islice(todo, batch)):
            self._send(self._request(part, atomicity))

    def default_action(self, table: str, action: str | None, params: Mapping[str, int] | None = None) -> None:
        """Set the default action of a table; None resets it to the program's."""
        self.modify([self.make.default_entry(table, action, params)])

    def multicast_group(self, group: int, replicas: Iterable[tuple[int, int]]) -> None:
        """Set multicast group ``group`` to ``(port, instance)`` replicas, made if it does not exist."""
        self._put(self.make.multicast_group(group, replicas))

    def clone_session(
        self,
        session: int,
        ports: Iterable[int | tuple[int, int]],
        class_of_service: int = 0,
        max_bytes: int = 0,
    ) -> None:
        """Set clone session ``session`` to ports (or ``(port, instance)``), made if it does not exist."""
        replicas = [(p, 0) if isinstance(p, int) else p for p in ports]
        self._put(self.make.clone_session(session, replicas, class_of_service, max_bytes))

    def write_register(self, register: str, index: int | None, value: int) -> None:
        """Write one cell, or with ``index`` None every cell."""
        self.modify([self.make.register(register, index, value)])

    def write_counter(self, counter: str, index: int | None, packets: int = 0, octets: int = 0) -> None:
        """Set one cell of an indirect counter, or with ``index`` None every cell."""
        self.modify([self.make.counter(counter, index, packets, octets)])

    # --- reading -------------------------------------------------------------------------------------------

    def read(self, entities: Iterable[Any]) -> Iterator[Any]:
        """Entities that the filters match; a filter's zero or unset id matches all of its kind."""
        request = v1.ReadRequest(device_id=self.device_id, role=self.role, entities=list(entities))
        try:
            for response in self._connection.read(request, max(self.timeout_s, 30.0)):
                yield from response.entities
        except RpcError as error:
            raise self._explain(error) from None

    def read_table(self, table: str) -> list[Any]:
        """All entries of a table as ``p4.v1.TableEntry``, without the default entry."""
        return [e.table_entry for e in self.read([self.table_entry(table, {})])]

    def read_counter(self, counter: str, index: int | None = None) -> dict[int, tuple[int, int]]:
        """Cells of an indirect counter: index to ``(packets, bytes)``."""
        cells = (e.counter_entry for e in self.read([self.make.counter(counter, index)]))
        return {c.index.index: (c.data.packet_count, c.data.byte_count) for c in cells}

    def read_register(self, register: str, index: int | None = None) -> dict[int, int]:
        """Cells of a register: index to value."""
        cells = (e.register_entry for e in self.read([self.make.register(register, index)]))
        return {c.index.index: register_value(c.data, register) for c in cells}

    # --- packets -------------------------------------------------------------------------------------------

    def packet_out(self, payload: bytes, metadata: Mapping[str, int] | None = None) -> None:
        """Send a packet into the switch with the fields of its ``packet_out`` header."""
        fields = self.make.packet_metadata("packet_out", metadata or {})
        self.stream.send(packet=v1.PacketOut(payload=payload, metadata=fields))

    def packet_in(self, timeout_s: float) -> tuple[bytes, dict[str, int]] | None:
        """The next packet for the controller and its ``packet_in`` metadata, or None after ``timeout_s``."""
        message = self.stream.next("packet", timeout_s)
        if message is None:
            return None
        names = {}
        if "packet_in" in self.index.controller_packet_metadata:
            header = self.index.controller_packet_metadata["packet_in"]
            names = {f.id: f.name for f in header.metadata}
        values = {
            names.get(m.metadata_id, str(m.metadata_id)): int.from_bytes(m.value, "big") for m in message.metadata
        }
        return message.payload, values

    def digest_list(self, timeout_s: float) -> Any | None:
        """The next DigestList of a digest that has been enabled, acknowledged; None after ``timeout_s``."""
        digest = self.stream.next("digest", timeout_s)
        if digest is not None:
            self.stream.send(digest_ack=v1.DigestListAck(digest_id=digest.digest_id, list_id=digest.list_id))
        return digest

    # --- inside --------------------------------------------------------------------------------------------

    def _require_primary(self, answer: Any) -> None:
        if answer.status.code != Code.OK:
            highest = answer.election_id.high << 64 | answer.election_id.low
            raise OfframpError(
                f"switch {self.name} device {self.device_id}: another controller is primary "
                f"(election id {highest}; ours is {self.election_id})"
            )

    def _put(self, entity: Any) -> None:
        try:
            self.insert([entity])
        except RpcError as error:
            if [e.canonical_code for e in error.errors] != [Code.ALREADY_EXISTS]:
                raise
            self.modify([entity])

    def _request(self, updates: Sequence[Any], atomicity: str) -> Any:
        return v1.WriteRequest(
            device_id=self.device_id,
            role=self.role,
            election_id=self._election(),
            updates=updates,
            atomicity=v1.WriteRequest.Atomicity.Value(atomicity),
        )

    def _send(self, request: Any) -> None:
        try:
            self._call("Write", request, timeout_s=max(self.timeout_s, 30.0))
        except RpcError as error:
            if not error.errors:
                raise
            message = describe_failure(self.index, request.updates, error)
            raise RpcError(error.code, f"switch {self.name} refused {message}", error.errors) from None

    def _election(self) -> Any:
        return v1.Uint128(high=self.election_id >> 64, low=self.election_id & (2**64 - 1))

    def _call(self, method: str, request: Any, timeout_s: float | None = None) -> Any:
        try:
            return self._connection.unary(method, request, timeout_s or self.timeout_s)
        except RpcError as error:
            raise self._explain(error) from None

    def _explain(self, error: RpcError) -> RpcError:
        reasons: dict[Code, Callable[[], str]] = {
            Code.UNAVAILABLE: lambda: f"switch {self.name} does not answer: {error.message}",
            Code.DEADLINE_EXCEEDED: lambda: f"switch {self.name} does not answer within {self.timeout_s:g} s",
        }
        reason = reasons.get(error.code, lambda: f"switch {self.name}: {error.message}")
        return RpcError(error.code, reason(), error.errors)
