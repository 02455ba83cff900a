# SPDX-License-Identifier: Apache-2.0
"""Subscribed clients, what they want to be told, and the program that each is bound to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from offramp_base.bfrt.schema import bf, rpc
from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.runtime.entities.base import invalid

_KINDS = ("learn", "idletimeout", "port_status_change", "entry_active")


@dataclass
class SubscribedClient:
    """One subscribed client; ``send`` takes StreamMessageResponse messages and does not block."""

    id: int
    send: Callable[[Any], None]
    hears_of: frozenset[str]
    bound: str | None = None


class Clients:
    """All subscribed clients by id.

    Attributes:
        most: most clients at a time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clients: dict[int, SubscribedClient] = {}
        self.most = 32

    def add(self, client: SubscribedClient) -> None:
        """A client subscribes.

        Raises:
            RpcError: its id is in use, or there are too many clients.
        """
        with self._lock:
            if client.id in self._clients:
                raise RpcError(Code.ALREADY_EXISTS, f"client id {client.id} is in use")
            if len(self._clients) >= self.most:
                raise RpcError(Code.RESOURCE_EXHAUSTED, f"more than {self.most} clients")
            self._clients[client.id] = client

    def remove(self, client: SubscribedClient) -> None:
        """A client's stream has ended."""
        with self._lock:
            if self._clients.get(client.id) is client:
                del self._clients[client.id]

    def find(self, identifier: int) -> SubscribedClient | None:
        """The client with an id."""
        with self._lock:
            return self._clients.get(identifier)

    def bind(self, identifier: int, program: str) -> None:
        """Make a client the one in charge of a program.

        Raises:
            RpcError: it has not subscribed, is bound already, or another client is in charge.
        """
        with self._lock:
            client = self._clients.get(identifier)
            if client is None:
                raise unknown(identifier)
            if client.bound not in {None, program}:
                raise RpcError(Code.ALREADY_EXISTS, f"client {identifier} is bound to {client.bound}")
            owner = next((c.id for c in self._clients.values() if c.bound == program and c is not client), None)
            if owner is not None and program != SHARED:
                raise RpcError(Code.ALREADY_EXISTS, f"client {owner} is bound to {program} already")
            client.bound = program

    def unbind_all(self) -> None:
        """Unbind all clients, as another program runs."""
        with self._lock:
            for client in self._clients.values():
                client.bound = None

    def tell(self, kind: str, **update: Any) -> None:
        """Send a message to the clients that subscribe to its kind; to all clients if the kind is ``"all"``."""
        with self._lock:
            listeners = [c for c in self._clients.values() if kind == "all" or kind in c.hears_of]
        message = bf.StreamMessageResponse(**update)
        for client in listeners:
            client.send(message)


SHARED = "$SHARED"
"""The program to which clients bind that want the chip's tables alone."""


def unknown(identifier: int) -> RpcError:
    """A client that has not subscribed."""
    return RpcError(Code.FAILED_PRECONDITION, f"client {identifier} has not subscribed")


class ClientStream:
    """The server's end of one StreamChannel."""

    def __init__(self, clients: Clients, device_id: int, send: Callable[[Any], None]) -> None:
        self._clients, self._device_id, self._send = clients, device_id, send
        self._client: SubscribedClient | None = None

    @property
    def arbitrated(self) -> bool:
        """Whether the client has identified itself."""
        return self._client is not None

    def receive(self, request: Any) -> None:
        """Handle one StreamMessageRequest.

        Raises:
            RpcError: the stream must end with this status.
        """
        match request.WhichOneof("update"):
            case "subscribe":
                self._subscribe(request)
            case "digest_ack":
                pass  # lists are sent once
            case _:
                raise invalid("the stream message is empty")

    def close(self) -> None:
        """The client has gone, or its stream ends."""
        if self._client is not None:
            self._clients.remove(self._client)

    def _subscribe(self, request: Any) -> None:
        wanted, status = request.subscribe, rpc.Status()
        try:
            self._client = self._joined(request.client_id, wanted)
        except RpcError as error:
            status = rpc.Status(code=error.code, message=error.message)
        answer = bf.Subscribe(device_id=self._device_id, notifications=wanted.notifications, status=status)
        self._send(bf.StreamMessageResponse(subscribe=answer))

    def _joined(self, identifier: int, wanted: Any) -> SubscribedClient:
        if wanted.device_id != self._device_id:
            raise RpcError(Code.NOT_FOUND, f"no device {wanted.device_id}; this switch is device {self._device_id}")
        if self._client is not None:
            raise RpcError(Code.ALREADY_EXISTS, f"the stream is client {self._client.id}'s")
        hears = frozenset(k for k in _KINDS if getattr(wanted.notifications, f"enable_{k}_notifications"))
        client = SubscribedClient(identifier, self._send, hears)
        self._clients.add(client)
        return client
