# SPDX-License-Identifier: Apache-2.0
"""The P4Runtime service without a wire: requests in, responses or RpcError out."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from offramp_base.errors import OfframpError
from offramp_base.p4rt.schema import SERVICE, UNARY, v1
from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.runtime import bulk
from offramp_p4.runtime.arbitration import Controller, election_number
from offramp_p4.runtime.device import P4Device, check_device
from offramp_p4.runtime.device_config import device_config
from offramp_p4.runtime.entities.base import as_rpc_error, invalid
from offramp_p4.runtime.pipeline import Pipeline
from offramp_p4.runtime.pushed import build_pushed, file_name
from offramp_p4.runtime.reconcile import carry_over
from offramp_p4.runtime.roles import Role
from offramp_p4.runtime.streams import StreamEnd
from offramp_p4.runtime.transaction import apply_all, apply_each
from offramp_p4.runtime.wire import WireProtocol

API_VERSION = "1.5.0"
CHUNK = 128
"""Updates done, or entities read, in one hold of the data plane's lock."""
RESPONSE_ENTITIES = 1000
READ_ENTITIES = 100_000
"""Entities that a read collects before it begins to answer; a longer one gives way to writes in between."""
WIRE = WireProtocol(
    "P4Runtime",
    SERVICE,
    UNARY,
    (v1.ReadRequest, v1.ReadResponse),
    (v1.StreamMessageRequest, v1.StreamMessageResponse),
    kept="arbitration",
)
_GET = v1.GetForwardingPipelineConfigRequest
_SET = v1.SetForwardingPipelineConfigRequest


class P4RuntimeService:
    """P4Runtime for one device; methods may be called from many threads."""

    wire = WIRE

    def __init__(self, device: P4Device) -> None:
        self.device = device
        device.to_controller = self._packet_in
        device.notify = self._notify

    def limit(self, streams: int) -> None:
        """Limit the number of controllers."""
        self.device.arbitration.max_controllers = streams

    # --- one request, one response -------------------------------------------------------------------------

    def unary(self, method: str, request: Any, metadata: Mapping[str, str] | None = None) -> Any:
        """Call a method of the service by name.

        Raises:
            RpcError: the call failed; it carries the status.
        """
        del metadata
        methods: dict[str, Callable[[Any], Any]] = {
            "Write": self.write,
            "SetForwardingPipelineConfig": self.set_pipeline,
            "GetForwardingPipelineConfig": self.get_pipeline,
            "Capabilities": self.capabilities,
        }
        return methods[method](request)

    def capabilities(self, request: Any) -> Any:
        """Capabilities (section 17)."""
        if request.device_id:  # new in P4Runtime 1.5: older clients leave it out
            check_device(self.device, request.device_id)
        return v1.CapabilitiesResponse(p4runtime_api_version=API_VERSION)

    def write(self, request: Any) -> Any:
        """Write (section 12)."""
        if request.atomicity not in v1.WriteRequest.Atomicity.values():
            raise invalid(f"atomicity {request.atomicity} is unknown")
        with self.device.control():
            role = self._check_primary(request)
            pipeline = self._pipeline()
            errors: list[OfframpError | None] = []
            whole = request.atomicity == v1.WriteRequest.DATAPLANE_ATOMIC  # packets may meet a batch half done
            if not whole and bulk.insert_all(pipeline, request, role.check_write):
                return v1.WriteResponse()
            if request.atomicity == v1.WriteRequest.CONTINUE_ON_ERROR:
                for at in range(0, len(request.updates), CHUNK):
                    with self.device.exclusive():
                        errors += apply_each(pipeline, request.updates[at : at + CHUNK], role.check_write)
            else:
                with self.device.exclusive():
                    errors = apply_all(pipeline, request.updates, role.check_write)
        failed = sum(error is not None for error in errors)
        if failed:
            raise RpcError(Code.UNKNOWN, f"{failed} of {len(errors)} updates failed", _messages(errors))
        return v1.WriteResponse()

    def set_pipeline(self, request: Any) -> Any:
        """SetForwardingPipelineConfig (section 14)."""
        if not self._check_primary(request).pipeline:
            raise RpcError(Code.PERMISSION_DENIED, f"role {request.role!r} may not set the pipeline")
        action = request.action
        if action == _SET.UNSPECIFIED or action not in _SET.Action.values():
            raise invalid(
                "the action must be VERIFY, VERIFY_AND_SAVE, VERIFY_AND_COMMIT, COMMIT or RECONCILE_AND_COMMIT"
            )
        if action == _SET.COMMIT:
            if request.HasField("config"):
                raise invalid("COMMIT takes no configuration")
        elif not request.HasField("config"):
            raise invalid("the configuration is missing")
        loaded = None if action == _SET.COMMIT else self._load(request.config)
        if action != _SET.VERIFY:
            with self.device.control(), self.device.exclusive():
                self._check_primary(request)  # the compilation took its time
                self._install(action, loaded)
        return v1.SetForwardingPipelineConfigResponse()

    def _install(self, action: int, loaded: Pipeline | None) -> None:
        device = self.device
        if action == _SET.VERIFY_AND_SAVE:
            device.saved = loaded
            return
        if action == _SET.COMMIT:
            loaded = device.saved
            if loaded is None:
                raise RpcError(Code.NOT_FOUND, "no configuration has been saved by VERIFY_AND_SAVE")
        elif action == _SET.RECONCILE_AND_COMMIT and device.pipeline is not None:
            assert loaded is not None
            carry_over(device.pipeline, loaded)
        device.pipeline, device.saved = loaded, None

    def get_pipeline(self, request: Any) -> Any:
        """GetForwardingPipelineConfig (section 15)."""
        check_device(self.device, request.device_id)
        reply = v1.GetForwardingPipelineConfigResponse()
        pipeline = self.device.saved or self.device.pipeline
        if pipeline is None:
            return reply
        source, config = pipeline.config, reply.config
        config.SetInParent()
        if request.response_type in {_GET.ALL, _GET.P4INFO_AND_COOKIE}:
            config.p4info.CopyFrom(source.p4info)
        if request.response_type in {_GET.ALL, _GET.DEVICE_CONFIG_AND_COOKIE}:
            config.p4_device_config = source.p4_device_config
        if source.HasField("cookie"):
            config.cookie.CopyFrom(source.cookie)
        return reply

    # --- streams -------------------------------------------------------------------------------------------

    def read(self, request: Any, metadata: Mapping[str, str] | None = None) -> Iterator[Any]:
        """Read (section 13): ReadResponse messages, then RpcError if any filter was bad."""
        del metadata
        check_device(self.device, request.device_id)
        pipeline = self._pipeline()
        rights = self.device.arbitration.rights(request.role)
        errors: list[OfframpError | None] = []
        reply_entities = _matching(pipeline, rights, request.entities, errors)
        more = True
        while more:
            entities: list[Any] = []
            with self.device.control():
                while more and len(entities) < READ_ENTITIES:
                    part = self._take(reply_entities)
                    more = bool(part)
                    entities += [entity for entity in part if entity is not None]
            for at in range(0, len(entities), RESPONSE_ENTITIES):
                yield v1.ReadResponse(entities=entities[at : at + RESPONSE_ENTITIES])
        failed = sum(error is not None for error in errors)
        if failed:
            raise RpcError(Code.UNKNOWN, f"{failed} of the reads failed", _messages(errors))

    def open_stream(self, send: Callable[[Any], None], end: Callable[[RpcError], None] = lambda _: None) -> StreamEnd:
        """StreamChannel (section 16); ``send`` takes responses and must not block.

        ``end`` is called when the stream has to make room for another controller.
        """
        return StreamEnd(self.device, Controller(send, end))

    def _take(self, entities: Iterator[Any]) -> list[Any]:
        with self.device.exclusive():
            return list(itertools.islice(entities, CHUNK))

    def _packet_in(self, pipeline: Pipeline, frame: bytes) -> None:
        unpacked = pipeline.packet_in.unpack(frame)
        if unpacked is None:
            return
        metadata, payload = unpacked
        message = v1.StreamMessageResponse(packet=v1.PacketIn(payload=payload, metadata=metadata))
        for controller, rights in self.device.arbitration.primaries():
            if rights.takes_packet(metadata):
                controller.send(message)

    def _notify(self, identifier: int, update: Mapping[str, Any]) -> None:
        message = v1.StreamMessageResponse(**update)
        for controller, rights in self.device.arbitration.primaries():
            if rights.hears_of(identifier):
                controller.send(message)

    # --- checks --------------------------------------------------------------------------------------------

    def _check_primary(self, request: Any) -> Role:
        check_device(self.device, request.device_id)
        return self.device.arbitration.check_primary(request.role, election_number(request))

    def _pipeline(self) -> Pipeline:
        pipeline = self.device.saved or self.device.pipeline
        if pipeline is None:
            raise RpcError(Code.FAILED_PRECONDITION, "no forwarding pipeline is loaded")
        return pipeline

    def _load(self, config: Any) -> Pipeline:
        """The pipeline of a configuration."""
        name = file_name(config.p4info.pkg_info.name) or f"device{self.device.id}.p4"
        return build_pushed(self.device, device_config(config), name, config)


def _matching(pipeline: Pipeline, rights: Role, filters: Any, errors: list[OfframpError | None]) -> Iterator[Any]:
    """The entities that each filter matches, and None behind them; what was wrong with each goes to ``errors``."""
    for wanted in filters:
        try:
            kind = wanted.WhichOneof("entity")
            yield from rights.readable(pipeline.handler(kind).read(getattr(wanted, kind or "")))
            errors.append(None)
        except OfframpError as error:
            errors.append(error)
        yield None


def _messages(errors: Sequence[OfframpError | None]) -> list[Any]:
    """A ``p4.v1.Error`` for each update or filter."""
    statuses = (None if error is None else as_rpc_error(error) for error in errors)
    return [
        v1.Error() if s is None else v1.Error(canonical_code=s.code, message=s.message, space="offramp")
        for s in statuses
    ]
