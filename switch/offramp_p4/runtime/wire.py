# SPDX-License-Identifier: Apache-2.0
"""A protocol of unary calls, one Read and one StreamChannel, as P4Runtime and BF-RT have them, for the server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from offramp_base.p4rt.status import RpcError


@dataclass(frozen=True)
class Wire:
    """Names and messages of one protocol.

    Attributes:
        name: in messages to people.
        service: in the paths of its methods.
        unary, read, stream: message classes of request and response.
        kept: the stream message that reaches even a client that does not read.
    """

    name: str
    service: str
    unary: Mapping[str, tuple[Any, Any]]
    read: tuple[Any, Any]
    stream: tuple[Any, Any]
    kept: str


class Stream(Protocol):
    """The server's end of one StreamChannel."""

    @property
    def arbitrated(self) -> bool:
        """Whether the stream has said who it is."""

    def receive(self, request: Any) -> None:
        """Handle one message."""

    def close(self) -> None:
        """The client has gone, or the stream ends."""


class Endpoint(Protocol):
    """A service without a wire; its methods raise :class:`~offramp_base.p4rt.status.RpcError`."""

    wire: Wire

    def limit(self, streams: int) -> None:
        """Let at most so many clients in at one time."""

    def unary(self, method: str, request: Any, metadata: Mapping[str, str]) -> Any:
        """Answer one request."""

    def read(self, request: Any, metadata: Mapping[str, str]) -> Iterator[Any]:
        """Answer a Read."""

    def open_stream(self, send: Callable[[Any], None], end: Callable[[RpcError], None]) -> Stream:
        """Begin a StreamChannel."""
