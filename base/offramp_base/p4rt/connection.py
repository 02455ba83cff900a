# SPDX-License-Identifier: Apache-2.0
"""The channel below a session: gRPC, or anything else that speaks the same messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Protocol

from offramp_base.p4rt import schema
from offramp_base.p4rt.answers import details_of, one_line, reader
from offramp_base.p4rt.status import Code, RpcError, code_of
from offramp_base.p4rt.tls import Tls

MAX_MESSAGE = 256 << 20
MAX_METADATA = 16 << 20  # every update of a failing batch has its status in the trailing metadata


class ResponseStream(Protocol):
    """The responses of a StreamChannel."""

    def __iter__(self) -> Iterator[Any]:
        """StreamMessageResponse messages; RpcError when the server ends the stream with an error."""

    def cancel(self) -> None:
        """End the stream."""


class Connection(Protocol):
    """A session's connection to a P4Runtime server; every call may raise :class:`RpcError`."""

    name: str

    def unary(self, method: str, request: Any, timeout_s: float) -> Any:
        """Call one of :data:`offramp_base.p4rt.schema.UNARY`."""

    def read(self, request: Any, timeout_s: float) -> Iterator[Any]:
        """Read: ReadResponse messages."""

    def stream(self, requests: Iterator[Any]) -> ResponseStream:
        """StreamChannel: sends ``requests`` as they come."""

    def close(self) -> None:
        """Release the channel."""


def open_channel(address: str, tls: Tls | None = None) -> Any:
    """A ``grpc.Channel`` of its own to ``host:port`` or ``unix:PATH``.

    Raises:
        OfframpError: a file of ``tls`` is missing or is not a certificate or key.
    """
    import grpc

    options: list[tuple[str, int | str]] = [
        ("grpc.max_receive_message_length", MAX_MESSAGE),
        ("grpc.max_send_message_length", MAX_MESSAGE),
        ("grpc.max_metadata_size", MAX_METADATA),
        ("grpc.absolute_max_metadata_size", MAX_METADATA),
        ("grpc.enable_http_proxy", 0),
        # Several sessions of one process are several controllers, each with a connection of its own.
        ("grpc.use_local_subchannel_pool", 1),
    ]
    if tls is None:
        return grpc.insecure_channel(address, options)
    if tls.server_name:
        options.append(("grpc.ssl_target_name_override", tls.server_name))
    return grpc.secure_channel(address, tls.channel_credentials(), options)


class GrpcConnection:
    """A gRPC channel to ``host:port`` or ``unix:PATH``, with TLS if ``tls`` is given."""

    def __init__(self, address: str, tls: Tls | None = None) -> None:
        self.name = address
        self._channel = open_channel(address, tls)
        self._unary = {
            method: self._channel.unary_unary(
                f"/{schema.SERVICE}/{method}",
                request_serializer=request.SerializeToString,
                response_deserializer=reader(response),
            )
            for method, (request, response) in schema.UNARY.items()
        }
        self._read = self._channel.unary_stream(
            f"/{schema.SERVICE}/Read",
            request_serializer=schema.v1.ReadRequest.SerializeToString,
            response_deserializer=reader(schema.v1.ReadResponse),
        )
        self._stream = self._channel.stream_stream(
            f"/{schema.SERVICE}/StreamChannel",
            request_serializer=schema.v1.StreamMessageRequest.SerializeToString,
            response_deserializer=reader(schema.v1.StreamMessageResponse),
        )

    def unary(self, method: str, request: Any, timeout_s: float) -> Any:
        """Call one of :data:`offramp_base.p4rt.schema.UNARY`."""
        import grpc

        try:
            return self._unary[method](request, timeout=timeout_s)
        except grpc.RpcError as error:
            raise rpc_error(error) from None

    def read(self, request: Any, timeout_s: float) -> Iterator[Any]:
        """Read: ReadResponse messages."""
        return _translated(self._read(request, timeout=timeout_s))

    def stream(self, requests: Iterator[Any]) -> ResponseStream:
        """StreamChannel: sends ``requests`` as they come."""
        return _GrpcStream(self._stream(requests))

    def close(self) -> None:
        """Release the channel."""
        self._channel.close()


class _GrpcStream:
    def __init__(self, call: Any) -> None:
        self._call = call

    def __iter__(self) -> Iterator[Any]:
        return _translated(self._call)

    def cancel(self) -> None:
        self._call.cancel()


def _translated(call: Any) -> Iterator[Any]:
    import grpc

    try:
        yield from call
    except grpc.RpcError as error:
        raise rpc_error(error) from None


def rpc_error(error: Any) -> RpcError:
    """A gRPC error as ours, in P4Runtime with the ``p4.v1.Error`` of each update."""
    code = code_of(error.code().value[0])
    errors = details_of(error, schema.rpc.Status, schema.v1.Error)
    message = one_line(error.details() or "")
    if code is Code.UNAVAILABLE:
        # gRPC wraps the reason of the operating system in addresses and times.
        reason = re.search(
            r"Connection refused|No such file or directory|Connection reset|Socket closed|"
            r"CERTIFICATE_VERIFY_FAILED|WRONG_VERSION_NUMBER|CERTIFICATE_REQUIRED|Hostname Verification|"
            r"Ssl handshake failed",
            message,
        )
        message = reason[0].lower().replace("_", " ") if reason else message
    return RpcError(code, message, errors)
