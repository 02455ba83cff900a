"""The gRPC server: a thin adapter from the wire to :class:`Service`."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import grpc
from google.protobuf.message import DecodeError

from offramp.errors import OfframpError
from offramp.switch.p4rt import schema
from offramp.switch.p4rt.schema import rpc, v1, wellknown
from offramp.switch.p4rt.status import Code, RpcError
from offramp.switch.p4rt.tls import Tls
from offramp_sim.p4.runtime.service import Service

MAX_STREAMS = 32
"""Open StreamChannels; each holds a thread for its life."""
MAX_READS = 16
"""Reads at one time; one whose client does not take the answer holds a thread until its deadline."""
UNARY_THREADS = 4
PENDING_CALLS = 1 << 16
"""Calls that wait for a thread; gRPC by itself cancels at random beyond a thousand."""
OUTBOX = 4096
"""Responses kept for a client that does not read; packets beyond that are lost, arbitration is not."""
MAX_MESSAGE = 256 << 20
GRACE_S = 1.0

_LOG = logging.getLogger(__name__)
_STATUS = {code.value[0]: code for code in grpc.StatusCode}
_END = object()


class Server:
    """Serves a :class:`Service` at ``host:port`` or ``unix:PATH``; a context manager.

    Port 0 takes a free one; ``address`` then names it. With ``tls`` the connections are encrypted, and with its
    ``ca`` clients must show a certificate.

    Raises:
        OfframpError: the address is in use or cannot be bound, or a certificate is none.
    """

    def __init__(self, service: Service, address: str, tls: Tls | None = None) -> None:
        self._service = service
        self._streams = threading.Semaphore(MAX_STREAMS)
        self._reads = threading.Semaphore(MAX_READS)
        options = [
            ("grpc.so_reuseport", 0),
            ("grpc.max_receive_message_length", MAX_MESSAGE),
            ("grpc.max_send_message_length", MAX_MESSAGE),
            ("grpc.server.max_pending_requests", PENDING_CALLS),
            ("grpc.server.max_pending_requests_hard_limit", PENDING_CALLS),
        ]
        workers = ThreadPoolExecutor(MAX_STREAMS + MAX_READS + UNARY_THREADS, thread_name_prefix="p4runtime")
        self._server = grpc.server(workers, options=options)
        self._server.add_generic_rpc_handlers((self._handlers(),))
        try:
            if tls is None:
                port = self._server.add_insecure_port(address)
            else:
                port = self._server.add_secure_port(address, tls.server_credentials())
        except RuntimeError:
            port = 0
        if port == 0:
            raise OfframpError(f"gRPC address {address}: cannot be bound; is it in use?")
        self.address = address if address.startswith("unix:") else f"{address.rpartition(':')[0]}:{port}"

    def start(self) -> None:
        """Begin to answer."""
        self._server.start()

    def stop(self) -> None:
        """Stop answering and end all streams."""
        self._server.stop(GRACE_S).wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _handlers(self) -> grpc.GenericRpcHandler:
        methods = {
            # Requests are parsed in the handlers, so that garbage ends in a status that says so.
            name: grpc.unary_unary_rpc_method_handler(
                self._unary(name, request), response_serializer=response.SerializeToString
            )
            for name, (request, response) in schema.UNARY.items()
        }
        methods["Read"] = grpc.unary_stream_rpc_method_handler(
            self._read, response_serializer=v1.ReadResponse.SerializeToString
        )
        methods["StreamChannel"] = grpc.stream_stream_rpc_method_handler(
            self._stream, response_serializer=v1.StreamMessageResponse.SerializeToString
        )
        return grpc.method_handlers_generic_handler(schema.SERVICE, methods)

    def _unary(self, name: str, request_class: Any) -> Callable[[bytes, Any], Any]:
        def handle(data: bytes, context: Any) -> Any:
            with _Failures(context):
                return self._service.unary(name, _parse(request_class, data))

        return handle

    def _read(self, data: bytes, context: Any) -> Iterator[Any]:
        if not self._reads.acquire(blocking=False):
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, f"more than {MAX_READS} reads at a time")
        try:
            with _Failures(context):
                yield from self._service.read(_parse(v1.ReadRequest, data))
        finally:
            self._reads.release()

    def _stream(self, requests: Iterator[bytes], context: Any) -> Iterator[Any]:
        if not self._streams.acquire(blocking=False):
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, f"more than {MAX_STREAMS} open streams")
        outbox = _Outbox()
        end = self._service.open_stream(outbox.put)
        # Tells the generator below, which may be waiting, that the client has gone.
        context.add_callback(outbox.finish)
        threading.Thread(target=_pump, args=(requests, end, outbox), daemon=True).start()
        try:
            with _Failures(context):
                yield from outbox
        finally:
            end.close()
            self._streams.release()


class _Outbox:
    """Responses waiting for the client; putting never blocks."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.lost = 0

    def put(self, message: Any) -> None:
        if self._queue.qsize() >= OUTBOX and message.WhichOneof("update") != "arbitration":
            self.lost += 1
            return
        self._queue.put(message)

    def finish(self, error: RpcError | None = None) -> None:
        self._queue.put(error or _END)

    def __iter__(self) -> Iterator[Any]:
        while (message := self._queue.get()) is not _END:
            if isinstance(message, RpcError):
                raise message
            yield message


def _pump(requests: Iterator[bytes], end: Any, outbox: _Outbox) -> None:
    """Hand the client's messages to the service until either side ends the stream."""
    try:
        for data in requests:
            end.receive(_parse(v1.StreamMessageRequest, data))
    except RpcError as error:
        outbox.finish(error)
    except Exception:
        # gRPC raises a bare Exception when the client vanishes in the middle of its stream.
        outbox.finish()
    else:
        outbox.finish()


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
            _LOG.exception("P4Runtime call failed", exc_info=error)
            self._context.abort(_STATUS[Code.INTERNAL], f"{type(error).__name__}: {error}")


def _parse(request_class: Any, data: bytes) -> Any:
    try:
        return request_class.FromString(data)
    except DecodeError:
        name = request_class.DESCRIPTOR.full_name
        raise RpcError(Code.INVALID_ARGUMENT, f"the request is no {name} message") from None
