# SPDX-License-Identifier: Apache-2.0
"""The methods of one protocol for a gRPC server, each call within the limits that all of the server share."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Protocol, cast

import grpc
from google.protobuf.message import DecodeError

from offramp_base.p4rt.schema import rpc, wellknown
from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.runtime.calls import InHand, Refusals, Silent
from offramp_p4.runtime.outbox import Outbox
from offramp_p4.runtime.wire import ControlEndpoint, Pair, ServiceEndpoint, TelemetryEndpoint

MAX_STREAMS: Final = 32
"""StreamChannels of controllers, and as many Subscribes; each holds two threads for its life."""
MAX_READS: Final = 16
"""Reads at one time; one whose client does not take the answer holds a thread until its deadline."""
UNARY_THREADS: Final = 4
"""Other requests that are parsed and worked on at one time."""

_LOG = logging.getLogger(__name__)
_STATUS = {code.value[0]: code for code in grpc.StatusCode}


class ServerLimits:
    """Limits that the calls of a server share, whichever service they use."""

    def __init__(self, name: str, most_bytes: int) -> None:
        self.refusals = Refusals(name)
        self.silent = Silent(self.refusals)
        self.in_hand = InHand(most_bytes)
        self.reads = threading.Semaphore(MAX_READS)
        self.working = threading.Semaphore(UNARY_THREADS)
        self.subscriptions = threading.Semaphore(MAX_STREAMS)


class _RequestReceiver(Protocol):
    def receive(self, request: Any) -> None: ...


def handlers(service: ServiceEndpoint, limits: ServerLimits) -> grpc.GenericRpcHandler:
    """The gRPC handlers of a service's methods."""
    # Requests come as streams of one message, so that a handler knows of a call before its message has come;
    # they are parsed in the handlers, so that garbage ends in an error status.
    wire = service.wire
    calls = _Calls(limits)
    methods = {
        name: grpc.stream_unary_rpc_method_handler(
            calls.unary(service, name, request), response_serializer=response.SerializeToString
        )
        for name, (request, response) in wire.unary.items()
    }
    streaming: list[tuple[str, Pair, Callable[[Iterator[bytes], Any], Iterator[Any]]]] = []
    if wire.read is not None and wire.stream is not None:
        control = cast("ControlEndpoint", service)
        control.limit(MAX_STREAMS)
        streaming.append(("Read", wire.read, calls.read(control, wire.read[0])))
        streaming.append(("StreamChannel", wire.stream, calls.stream(control, wire.stream[0])))
    if wire.subscribe is not None:
        telemetry = cast("TelemetryEndpoint", service)
        streaming.append(("Subscribe", wire.subscribe, calls.subscribe(telemetry, wire.subscribe[0])))
    for name, (_, response), behaviour in streaming:
        methods[name] = grpc.stream_stream_rpc_method_handler(behaviour, response_serializer=response.SerializeToString)
    return grpc.method_handlers_generic_handler(wire.service, methods)


class _Calls:
    """A handler for each kind of method."""

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits

    def unary(self, service: ServiceEndpoint, name: str, request_class: Any) -> Callable[[Iterator[bytes], Any], Any]:
        limits = self._limits

        def handle(requests: Iterator[bytes], context: Any) -> Any:
            with _Failures(context):
                data = self._request(requests, context)
                with limits.in_hand.holding(len(data), self._refuse(context)), limits.working:
                    return service.unary(name, parse(request_class, data), _metadata(context))

        return handle

    def read(self, service: ControlEndpoint, request_class: Any) -> Callable[[Iterator[bytes], Any], Iterator[Any]]:
        def handle(requests: Iterator[bytes], context: Any) -> Iterator[Any]:
            with _Failures(context):
                data = self._request(requests, context)
                if not self._limits.reads.acquire(blocking=False):
                    self._refuse(context)("a read beyond the limit")
                    raise RpcError(Code.RESOURCE_EXHAUSTED, f"more than {MAX_READS} reads at a time")
                try:
                    yield from service.read(parse(request_class, data), _metadata(context))
                finally:
                    self._limits.reads.release()

        return handle

    def stream(self, service: ControlEndpoint, request_class: Any) -> Callable[[Iterator[bytes], Any], Iterator[Any]]:
        silent = self._limits.silent

        def handle(requests: Iterator[bytes], context: Any) -> Iterator[Any]:
            outbox = Outbox(service.wire.kept)
            with _Failures(context), silent.waiting(context):
                # Tells the loop below, which may be waiting, that the client has gone.
                context.add_callback(outbox.finish)
                end = service.open_stream(outbox.put, outbox.finish)
                try:
                    while not end.arbitrated:
                        first = next(requests, None)
                        if first is None:
                            return
                        with silent.heard(context):  # it may wait until a program is compiled that another one pushes
                            end.receive(parse(request_class, first))
                        yield from outbox.waiting()
                    silent.spoke(context)
                    _pump(request_class, requests, end, outbox.finish, outbox.finish)
                    yield from outbox
                finally:
                    end.close()

        return handle

    def subscribe(
        self, service: TelemetryEndpoint, request_class: Any
    ) -> Callable[[Iterator[bytes], Any], Iterator[Any]]:
        def handle(requests: Iterator[bytes], context: Any) -> Iterator[Any]:
            with _Failures(context):
                data = self._request(requests, context)
                if not self._limits.subscriptions.acquire(blocking=False):
                    self._refuse(context)("a subscription beyond the limit")
                    raise RpcError(Code.RESOURCE_EXHAUSTED, f"more than {MAX_STREAMS} subscribing calls at a time")
                try:
                    subscription = service.subscribe(parse(request_class, data))
                    context.add_callback(subscription.finish)
                    _pump(request_class, requests, subscription, subscription.finish, subscription.exhausted)
                    yield from subscription
                finally:
                    self._limits.subscriptions.release()

        return handle

    def _request(self, requests: Iterator[bytes], context: Any) -> bytes:
        """The first message of a call."""
        with self._limits.silent.waiting(context):
            data = next(requests, None)
        if data is None:
            raise RpcError(Code.INVALID_ARGUMENT, "the call has no request")
        return data

    def _refuse(self, context: Any) -> Callable[[str], None]:
        return lambda reason: self._limits.refusals.note(reason, context.peer())


def _pump(
    request_class: Any,
    requests: Iterator[bytes],
    end: _RequestReceiver,
    finish: Callable[[RpcError | None], None],
    exhausted: Callable[[], None],
) -> None:
    """Have a thread hand the client's messages to the service until either side ends the stream.

    ``finish`` is told of what the client did wrong, or None where it has vanished; ``exhausted`` is called when it says
    no more, and may still listen.
    """

    def run() -> None:
        try:
            for data in requests:
                end.receive(parse(request_class, data))
        except RpcError as error:
            finish(error)
        except Exception:
            # gRPC raises a bare Exception when the client vanishes in the middle of its stream.
            finish(None)
        else:
            exhausted()

    threading.Thread(target=run, daemon=True).start()


class _Failures:
    """Turns errors into the status of a call."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, RpcError):
            if error.errors:
                status = rpc.Status(code=error.code, message=error.message)
                for detail in error.errors:
                    packed = wellknown.Any()
                    packed.Pack(detail)
                    status.details.append(packed)
                packed_status = status.SerializeToString()
                self._context.set_trailing_metadata((("grpc-status-details-bin", packed_status),))
            self._context.abort(_STATUS[error.code], error.message)
        if isinstance(error, Exception) and self._context.is_active():
            _LOG.exception("gRPC call failed", exc_info=error)
            self._context.abort(_STATUS[Code.INTERNAL], f"{type(error).__name__}: {error}")


def _metadata(context: Any) -> Mapping[str, str]:
    """The metadata of a request, values of text only."""
    return {key: value for key, value in context.invocation_metadata() or () if isinstance(value, str)}


def parse(request_class: Any, data: bytes) -> Any:
    """A request from its bytes.

    Raises:
        RpcError: INVALID_ARGUMENT, they are no such message.
    """
    try:
        return request_class.FromString(data)
    except DecodeError:
        name = request_class.DESCRIPTOR.full_name
        raise RpcError(Code.INVALID_ARGUMENT, f"the request is no {name} message") from None
