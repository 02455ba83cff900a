# SPDX-License-Identifier: Apache-2.0
"""A protocol over gRPC, as P4Runtime, BF-RT and gNMI are some, for the server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from offramp_base.p4rt.status import RpcError

Pair = tuple[Any, Any]
"""The message classes of request and response."""


@dataclass(frozen=True)
class WireProtocol:
    """Names and messages of one protocol.

    Attributes:
        name: name in messages to people.
        service: service name in the paths of its methods.
        unary: methods of one request and one response.
        read, stream: methods Read and StreamChannel of a protocol whose service is a :class:`ControlEndpoint`.
        kept: the stream message that reaches even a client that does not read.
        subscribe: method Subscribe of a protocol whose service is a :class:`TelemetryEndpoint`.
    """

    name: str
    service: str
    unary: Mapping[str, Pair]
    read: Pair | None = None
    stream: Pair | None = None
    kept: str = ""
    subscribe: Pair | None = None


class ServerStream(Protocol):
    """The server's end of one StreamChannel."""

    @property
    def arbitrated(self) -> bool:
        """Whether the stream has identified itself."""

    def receive(self, request: Any) -> None:
        """Handle one message."""

    def close(self) -> None:
        """The client has gone, or the stream ends."""


class Subscription(Protocol):
    """The server's end of one Subscribe; what it sends is made when the client has room for it."""

    def receive(self, request: Any) -> None:
        """Handle a further message."""

    def exhausted(self) -> None:
        """The client says no more; it may still listen."""

    def finish(self, error: RpcError | None = None) -> None:
        """End the iteration, from any thread: the client has gone, or has made a mistake."""

    def __iter__(self) -> Iterator[Any]:
        """The responses; waits until there is another one."""


class ServiceEndpoint(Protocol):
    """A service without a wire; its methods raise :class:`~offramp_base.p4rt.status.RpcError`."""

    wire: WireProtocol

    def unary(self, method: str, request: Any, metadata: Mapping[str, str]) -> Any:
        """Answer one request."""


class ControlEndpoint(ServiceEndpoint, Protocol):
    """A service that controllers stay connected to."""

    def limit(self, streams: int) -> None:
        """Let in at most ``streams`` clients at a time."""

    def read(self, request: Any, metadata: Mapping[str, str]) -> Iterator[Any]:
        """Answer a Read."""

    def open_stream(self, send: Callable[[Any], None], end: Callable[[RpcError], None]) -> ServerStream:
        """Begin a StreamChannel."""


class TelemetryEndpoint(ServiceEndpoint, Protocol):
    """A service that clients have report to them."""

    def subscribe(self, request: Any) -> Subscription:
        """Begin a Subscribe by its first message."""
