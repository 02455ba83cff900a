# SPDX-License-Identifier: Apache-2.0
"""The server's end of a StreamChannel (P4Runtime specification, section 16)."""

from __future__ import annotations

from typing import Any

from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.status import Code, RpcError
from offramp_base.wire.batch import PacketBatch
from offramp_p4.runtime.arbitration import Controller
from offramp_p4.runtime.device import P4Device, check_device
from offramp_p4.runtime.entities.base import invalid


class StreamEnd:
    """One controller's stream."""

    def __init__(self, device: P4Device, controller: Controller) -> None:
        self._device = device
        self._controller = controller

    def receive(self, request: Any) -> None:
        """Handle one StreamMessageRequest.

        Raises:
            RpcError: the stream must end with this status.
        """
        match request.WhichOneof("update"):
            case "arbitration":
                self._arbitrate(request.arbitration)
            case "packet":
                self._packet_out(request.packet)
            case "digest_ack":
                self._acknowledge(request.digest_ack)
            case kind:
                self._refuse(invalid(f"stream message of kind {kind or 'none'} is not supported"), other={})

    def close(self) -> None:
        """The client has gone, or its stream ends."""
        self._device.arbitration.leave(self._controller)

    @property
    def arbitrated(self) -> bool:
        """Whether the stream has identified itself."""
        return self._controller.device_id is not None

    def _arbitrate(self, update: Any) -> None:
        known = self._controller.device_id
        if known is not None and update.device_id != known:
            message = f"the stream is for device {known}; open another one for device {update.device_id}"
            raise RpcError(Code.FAILED_PRECONDITION, message)
        check_device(self._device, update.device_id)
        with self._device.control():  # what the primary is writing is finished first
            self._device.arbitration.update(self._controller, update)

    def _packet_out(self, packet: Any) -> None:
        try:
            batch = self._frame(packet)
        except RpcError as error:
            self._refuse(error, packet_out={"packet_out": packet})
        else:
            self._device.inject(batch)

    def _acknowledge(self, ack: Any) -> None:
        pipeline = self._device.pipeline
        try:
            if pipeline is not None:
                with self._device.exclusive():
                    pipeline.digests.acknowledge(ack)
        except RpcError as error:
            self._refuse(error, digest_list_ack={"digest_list_ack": ack})

    def _frame(self, packet: Any) -> PacketBatch:
        device = self._device
        if not device.arbitration.is_primary(self._controller):
            raise RpcError(Code.PERMISSION_DENIED, "only the primary controller may send packets")
        if device.cpu_port is None:
            raise RpcError(Code.FAILED_PRECONDITION, "the switch has no CPU port")
        if device.pipeline is None:
            raise RpcError(Code.FAILED_PRECONDITION, "no forwarding pipeline is loaded")
        frame = device.pipeline.packet_out.pack(packet.metadata) + packet.payload
        return PacketBatch.of([(device.cpu_port, frame)])

    def _refuse(self, error: RpcError, **details: Any) -> None:
        message = v1.StreamError(canonical_code=error.code, message=error.message, **details)
        self._controller.send(v1.StreamMessageResponse(error=message))
