# SPDX-License-Identifier: Apache-2.0
"""The gRPC server: a thin adapter from the wire to an :class:`~offramp_p4.runtime.wire.Endpoint`."""

from __future__ import annotations

import logging
import os
import queue
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, Self

import grpc
from google.protobuf.message import DecodeError

from offramp_base.errors import OfframpError
from offramp_base.listening import Access, Address, parse_address
from offramp_base.p4rt.schema import rpc, wellknown
from offramp_base.p4rt.status import Code, RpcError
from offramp_base.p4rt.tls import Tls
from offramp_p4.runtime.calls import MAX_SILENT, InHand, Refusals, Silent
from offramp_p4.runtime.wire import Endpoint, Stream

MAX_STREAMS: Final = 32
"""StreamChannels of controllers; each holds two threads for its life."""
MAX_READS: Final = 16
"""Reads at one time; one whose client does not take the answer holds a thread until its deadline."""
UNARY_THREADS: Final = 4
"""Other requests that are parsed and worked on at one time."""
PENDING_CALLS: Final = 1 << 16
"""Calls that wait for a thread; gRPC by itself cancels at random beyond a thousand."""
OUTBOX: Final = 4096
OUTBOX_BYTES: Final = 16 << 20
"""Responses kept for a client that does not read; packets beyond that are lost, arbitration is not."""
MAX_MESSAGE: Final = 4 << 20
"""Bytes of a message from anybody."""
MAX_KNOWN_MESSAGE: Final = 64 << 20
"""Bytes of a message where clients show certificates."""
_ROOM: Final = 64
"""Threads for calls that make silent ones give way."""
_IN_HAND: Final = 16
"""Messages of the greatest size that may be under way at one time."""
MAX_ANSWER: Final = 256 << 20
HANDSHAKE_MS: Final = 5_000
IDLE_MS: Final = 60_000
"""How long a connection may take for its handshakes, and be without any call."""
GRACE_S = 1.0

_LOG = logging.getLogger(__name__)
_STATUS = {code.value[0]: code for code in grpc.StatusCode}
_END = object()


class Server:
    """Serves P4Runtime or BF-RT at ``host:port`` or ``unix:PATH``; a context manager.

    Port 0 takes a free one; ``address`` then names it. With ``tls`` the connections are encrypted, and with its
    ``ca`` clients must show a certificate. A Unix socket gets mode 0600.

    Args:
        insecure: serve an address that other machines reach although clients show no certificate.
        max_message: bytes of a request; None: :data:`MAX_MESSAGE`, or :data:`MAX_KNOWN_MESSAGE` where clients show
            certificates.

    Attributes:
        refusals: what has been refused.

    Raises:
        OfframpError: the address is in use, cannot be bound or is open to strangers, or a certificate is none.
    """

    def __init__(
        self,
        service: Endpoint,
        address: str,
        tls: Tls | None = None,
        *,
        insecure: bool = False,
        max_message: int | None = None,
    ) -> None:
        certificates = tls is not None and tls.ca is not None
        where = parse_address(address)
        Access(certificates=certificates, insecure=insecure).check(where, "gRPC")
        if max_message is None:
            max_message = MAX_KNOWN_MESSAGE if certificates else MAX_MESSAGE
        if not 1 << 10 <= max_message <= 1 << 30:
            raise OfframpError(f"messages of at most {max_message} bytes: expected 1 KB to 1 GB")
        self._service, self._wire = service, service.wire
        service.limit(MAX_STREAMS)
        self.refusals = Refusals(self._wire.name)
        self._silent = Silent(self.refusals)
        self._in_hand = InHand(_IN_HAND * max_message)
        self._reads = threading.Semaphore(MAX_READS)
        self._working = threading.Semaphore(UNARY_THREADS)
        options = [
            ("grpc.so_reuseport", 0),
            ("grpc.max_receive_message_length", max_message),
            ("grpc.max_send_message_length", MAX_ANSWER),
            ("grpc.server.max_pending_requests", PENDING_CALLS),
            ("grpc.server.max_pending_requests_hard_limit", PENDING_CALLS),
            ("grpc.server_handshake_timeout_ms", HANDSHAKE_MS),
            ("grpc.max_connection_idle_ms", IDLE_MS),
            # The window of a call does not grow beyond what its handler asks for.
            ("grpc.http2.bdp_probe", 0),
        ]
        most = MAX_SILENT + _ROOM + MAX_STREAMS + MAX_READS + UNARY_THREADS
        workers = ThreadPoolExecutor(most, thread_name_prefix=self._wire.name)
        self._server = grpc.server(workers, options=options)
        self._server.add_generic_rpc_handlers((self._handlers(),))
        self.address = self._bind(address, where, tls)

    def _bind(self, address: str, where: Address, tls: Tls | None) -> str:
        credentials = None if tls is None else tls.server_credentials()
        local = where.family == socket.AF_UNIX
        before = os.umask(0o177) if local else None
        try:
            if credentials is None:
                port = self._server.add_insecure_port(str(where))
            else:
                port = self._server.add_secure_port(str(where), credentials)
        except RuntimeError:
            port = 0
        finally:
            if before is not None:
                os.umask(before)
        if port == 0:
            raise OfframpError(f"gRPC address {address}: cannot be bound; is it in use?")
        if local:
            Path(where.where).chmod(0o600)
        return address if local else f"{address.rpartition(':')[0]}:{port}"

    def start(self) -> None:
        """Begin to answer."""
        self._server.start()
        threading.Thread(target=self._silent.watch, name=f"{self._wire.name}-silent", daemon=True).start()

    def stop(self) -> None:
        """Stop answering and end all streams."""
        self._server.stop(GRACE_S).wait()
        self._silent.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _handlers(self) -> grpc.GenericRpcHandler:
        # Requests come as streams of one message, so that a handler knows of a call before its message has come;
        # they are parsed in the handlers, so that garbage ends in a status that says so.
        methods = {
            name: grpc.stream_unary_rpc_method_handler(
                self._unary(name, request), response_serializer=response.SerializeToString
            )
            for name, (request, response) in self._wire.unary.items()
        }
        methods["Read"] = grpc.stream_stream_rpc_method_handler(
            self._read, response_serializer=self._wire.read[1].SerializeToString
        )
        methods["StreamChannel"] = grpc.stream_stream_rpc_method_handler(
            self._stream, response_serializer=self._wire.stream[1].SerializeToString
        )
        return grpc.method_handlers_generic_handler(self._wire.service, methods)

    def _unary(self, name: str, request_class: Any) -> Callable[[Iterator[bytes], Any], Any]:
        def handle(requests: Iterator[bytes], context: Any) -> Any:
            with _Failures(context):
                data = self._request(requests, context)
                with self._in_hand.holding(len(data), self._refuse(context)), self._working:
                    return self._service.unary(name, _parse(request_class, data), _metadata(context))

        return handle

    def _read(self, requests: Iterator[bytes], context: Any) -> Iterator[Any]:
        with _Failures(context):
            data = self._request(requests, context)
            if not self._reads.acquire(blocking=False):
                self._refuse(context)("a read beyond the limit")
                raise RpcError(Code.RESOURCE_EXHAUSTED, f"more than {MAX_READS} reads at a time")
            try:
                yield from self._service.read(_parse(self._wire.read[0], data), _metadata(context))
            finally:
                self._reads.release()

    def _request(self, requests: Iterator[bytes], context: Any) -> bytes:
        """The only message of a call."""
        with self._silent.waiting(context):
            data = next(requests, None)
        if data is None:
            raise RpcError(Code.INVALID_ARGUMENT, "the call has no request")
        return data

    def _stream(self, requests: Iterator[bytes], context: Any) -> Iterator[Any]:
        outbox = _Outbox(self._wire.kept)
        with _Failures(context), self._silent.waiting(context):
            # Tells the loop below, which may be waiting, that the client has gone.
            context.add_callback(outbox.finish)
            end = self._service.open_stream(outbox.put, outbox.finish)
            try:
                while not end.arbitrated:
                    first = next(requests, None)
                    if first is None:
                        return
                    end.receive(_parse(self._wire.stream[0], first))
                    yield from outbox.waiting()
                self._silent.spoke(context)
                pump = (self._wire.stream[0], requests, end, outbox)
                threading.Thread(target=_pump, args=pump, daemon=True).start()
                yield from outbox
            finally:
                end.close()

    def _refuse(self, context: Any) -> Callable[[str], None]:
        return lambda reason: self.refusals.note(reason, context.peer())


class _Outbox:
    """Responses waiting for the client; putting never blocks."""

    def __init__(self, kept: str) -> None:
        self._kept = kept
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._bytes = 0
        self.lost = 0

    def put(self, message: Any) -> None:
        size, count = message.ByteSize(), self._queue.qsize()
        if count >= OUTBOX or self._bytes + size > OUTBOX_BYTES:
            if message.WhichOneof("update") != self._kept:
                self.lost += 1
                return
            if count >= 2 * OUTBOX:
                self.finish(RpcError(Code.RESOURCE_EXHAUSTED, "the client does not read what it asks for"))
                return
        with self._lock:
            self._bytes += size
        self._queue.put(message)

    def finish(self, error: RpcError | None = None) -> None:
        self._queue.put(error or _END)

    def waiting(self) -> Iterator[Any]:
        """What there is now."""
        while not self._queue.empty():
            message = self._next()
            if message is _END:
                return
            yield message

    def __iter__(self) -> Iterator[Any]:
        while (message := self._next()) is not _END:
            yield message

    def _next(self) -> Any:
        message = self._queue.get()
        if isinstance(message, RpcError):
            raise message
        if message is not _END:
            with self._lock:
                self._bytes -= message.ByteSize()
        return message


def _pump(request_class: Any, requests: Iterator[bytes], end: Stream, outbox: _Outbox) -> None:
    """Hand the client's messages to the service until either side ends the stream."""
    try:
        for data in requests:
            end.receive(_parse(request_class, data))
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
            _LOG.exception("gRPC call failed", exc_info=error)
            self._context.abort(_STATUS[Code.INTERNAL], f"{type(error).__name__}: {error}")


def _metadata(context: Any) -> Mapping[str, str]:
    """What stands beside a request, text only."""
    return {key: value for key, value in context.invocation_metadata() or () if isinstance(value, str)}


def _parse(request_class: Any, data: bytes) -> Any:
    try:
        return request_class.FromString(data)
    except DecodeError:
        name = request_class.DESCRIPTOR.full_name
        raise RpcError(Code.INVALID_ARGUMENT, f"the request is no {name} message") from None
