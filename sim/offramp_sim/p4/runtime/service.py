"""The P4Runtime service without a wire: requests in, responses or RpcError out."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from offramp.errors import OfframpError
from offramp.switch.p4rt.schema import v1
from offramp.switch.p4rt.status import Code, RpcError
from offramp_sim.p4.runtime.arbitration import Controller, election_number
from offramp_sim.p4.runtime.device import Device, check_device
from offramp_sim.p4.runtime.entities.base import as_rpc_error, invalid
from offramp_sim.p4.runtime.pipeline import Pipeline, compile_config
from offramp_sim.p4.runtime.streams import StreamEnd

API_VERSION = "1.5.0"
CHUNK = 128
"""Updates done, or entities read, in one hold of the data plane's lock."""
RESPONSE_ENTITIES = 1000
_GET = v1.GetForwardingPipelineConfigRequest
_SET = v1.SetForwardingPipelineConfigRequest


class Service:
    """P4Runtime for one device; methods may be called from many threads."""

    def __init__(self, device: Device) -> None:
        self.device = device
        device.to_controller = self._packet_in
        device.digest_list = self._digest_list

    # --- one request, one response -------------------------------------------------------------------------

    def unary(self, method: str, request: Any) -> Any:
        """Call a method of the service by name.

        Raises:
            RpcError: with the status of the call.
        """
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
        self._check_primary(request)
        if request.atomicity != v1.WriteRequest.CONTINUE_ON_ERROR:
            names = {number: name for name, number in v1.WriteRequest.Atomicity.items()}
            name = names.get(request.atomicity, request.atomicity)
            raise RpcError(Code.UNIMPLEMENTED, f"atomicity {name} is not supported, only CONTINUE_ON_ERROR")
        with self.device.control():
            pipeline = self._pipeline()
            errors: list[Any] = []
            updates = iter(request.updates)
            while part := list(itertools.islice(updates, CHUNK)):
                with self.device.exclusive():
                    errors += [_apply(pipeline, update) for update in part]
        failed = sum(error is not None for error in errors)
        if failed:
            messages = [v1.Error() if e is None else _error(e) for e in errors]
            raise RpcError(Code.UNKNOWN, f"{failed} of {len(errors)} updates failed", messages)
        return v1.WriteResponse()

    def set_pipeline(self, request: Any) -> Any:
        """SetForwardingPipelineConfig (section 14)."""
        self._check_primary(request)
        action = request.action
        if action in {_SET.UNSPECIFIED, _SET.RECONCILE_AND_COMMIT} or action not in _SET.Action.values():
            if action == _SET.RECONCILE_AND_COMMIT:
                raise RpcError(Code.UNIMPLEMENTED, "RECONCILE_AND_COMMIT is not supported")
            raise invalid("the action must be VERIFY, VERIFY_AND_SAVE, VERIFY_AND_COMMIT or COMMIT")
        if action == _SET.COMMIT:
            if request.HasField("config"):
                raise invalid("COMMIT takes no configuration")
            self._commit()
            return v1.SetForwardingPipelineConfigResponse()
        if not request.HasField("config"):
            raise invalid("the configuration is missing")
        name = request.config.p4info.pkg_info.name or f"device{self.device.id}.p4"
        made = self._load(request.config, name)
        with self.device.control(), self.device.exclusive():
            if action == _SET.VERIFY_AND_SAVE:
                self.device.saved = made
            elif action == _SET.VERIFY_AND_COMMIT:
                self.device.pipeline, self.device.saved = made, None
        return v1.SetForwardingPipelineConfigResponse()

    def get_pipeline(self, request: Any) -> Any:
        """GetForwardingPipelineConfig (section 15)."""
        check_device(self.device, request.device_id)
        reply = v1.GetForwardingPipelineConfigResponse()
        pipeline = self.device.saved or self.device.pipeline
        if pipeline is None:
            return reply
        given, made = pipeline.config, reply.config
        made.SetInParent()
        if request.response_type in {_GET.ALL, _GET.P4INFO_AND_COOKIE}:
            made.p4info.CopyFrom(given.p4info)
        if request.response_type in {_GET.ALL, _GET.DEVICE_CONFIG_AND_COOKIE}:
            made.p4_device_config = given.p4_device_config
        if given.HasField("cookie"):
            made.cookie.CopyFrom(given.cookie)
        return reply

    # --- streams -------------------------------------------------------------------------------------------

    def read(self, request: Any) -> Iterator[Any]:
        """Read (section 13): ReadResponse messages, then RpcError if any filter was bad."""
        check_device(self.device, request.device_id)
        pipeline = self._pipeline()
        errors: list[Any] = []
        entities: list[Any] = []
        with self.device.control():
            for wanted in request.entities:
                try:
                    kind = wanted.WhichOneof("entity")
                    found = pipeline.handler(kind).read(getattr(wanted, kind))
                    while part := self._take(found):
                        entities += part
                    errors.append(None)
                except OfframpError as error:
                    errors.append(error)
        for at in range(0, len(entities), RESPONSE_ENTITIES):
            yield v1.ReadResponse(entities=entities[at : at + RESPONSE_ENTITIES])
        if any(error is not None for error in errors):
            messages = [v1.Error() if e is None else _error(e) for e in errors]
            raise RpcError(Code.UNKNOWN, f"{sum(e is not None for e in errors)} of the reads failed", messages)

    def open_stream(self, send: Callable[[Any], None]) -> StreamEnd:
        """StreamChannel (section 16); ``send`` takes responses and must not block."""
        return StreamEnd(self.device, Controller(send))

    def _take(self, found: Iterator[Any]) -> list[Any]:
        with self.device.exclusive():
            return list(itertools.islice(found, CHUNK))

    def _packet_in(self, frame: bytes) -> None:
        pipeline = self.device.pipeline
        unpacked = pipeline.packet_in.unpack(frame) if pipeline is not None else None
        if unpacked is None:
            return
        metadata, payload = unpacked
        self._to_primaries(packet=v1.PacketIn(payload=payload, metadata=metadata))

    def _digest_list(self, message: Any) -> None:
        self._to_primaries(digest=message)

    def _to_primaries(self, **update: Any) -> None:
        message = v1.StreamMessageResponse(**update)
        for controller in self.device.arbitration.primaries():
            controller.send(message)

    # --- checks --------------------------------------------------------------------------------------------

    def _check_primary(self, request: Any) -> None:
        check_device(self.device, request.device_id)
        self.device.arbitration.check_primary(request.role, election_number(request))

    def _pipeline(self) -> Pipeline:
        pipeline = self.device.saved or self.device.pipeline
        if pipeline is None:
            raise RpcError(Code.FAILED_PRECONDITION, "no forwarding pipeline is loaded")
        return pipeline

    def _load(self, given: Any, name: str) -> Pipeline:
        try:
            return Pipeline(compile_config(given, name), self.device.make_switch, given)
        except RpcError:
            raise
        except OfframpError as error:
            raise invalid(str(error)) from None

    def _commit(self) -> None:
        with self.device.control(), self.device.exclusive():
            if self.device.saved is None:
                raise RpcError(Code.NOT_FOUND, "no configuration has been saved by VERIFY_AND_SAVE")
            self.device.pipeline, self.device.saved = self.device.saved, None


def _apply(pipeline: Pipeline, update: Any) -> OfframpError | None:
    """Do one update; what went wrong, or None."""
    try:
        kind = update.entity.WhichOneof("entity")
        handler = pipeline.handler(kind)
        if update.type not in {v1.Update.INSERT, v1.Update.MODIFY, v1.Update.DELETE}:
            return invalid("the update has no type")
        handler.write(update.type, getattr(update.entity, kind))
    except OfframpError as error:
        return error
    return None


def _error(error: OfframpError) -> Any:
    status = as_rpc_error(error)
    return v1.Error(canonical_code=status.code, message=status.message, space="offramp")
