# SPDX-License-Identifier: Apache-2.0
"""The client's side of StreamChannel: arbitration, packets, digests (P4Runtime specification, section 16)."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

from offramp_base.errors import OfframpError
from offramp_base.p4rt.connection import Connection
from offramp_base.p4rt.schema import rpc, v1
from offramp_base.p4rt.status import Code, RpcError, code_of

INBOX = 65536
"""Messages of one kind kept for a reader that falls behind; the oldest go first."""


class StreamClient:
    """One StreamChannel with a thread that sorts what arrives."""

    def __init__(self, connection: Connection) -> None:
        self._requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._changed = threading.Condition()
        self._arbitration: Any = None
        self._inbox: dict[str, deque[Any]] = {
            kind: deque(maxlen=INBOX) for kind in ("packet", "digest", "idle_timeout_notification", "error")
        }
        self._failure: OfframpError | None = None
        self._name = connection.name
        self._stream = connection.stream(self._outgoing())
        self._thread = threading.Thread(target=self._receive, name="p4runtime-stream", daemon=True)
        self._thread.start()

    def send(self, **update: Any) -> None:
        """Send one StreamMessageRequest, ``send(packet=v1.PacketOut(...))``.

        Raises:
            OfframpError: the stream is gone.
        """
        if self._failure is not None:
            raise self._failure
        self._requests.put(v1.StreamMessageRequest(**update))

    def arbitrate(
        self, device_id: int, election_id: int, role: str, timeout_s: float, role_config: Any | None = None
    ) -> Any:
        """Ask to be primary; returns the server's first answer, a MasterArbitrationUpdate.

        Raises:
            OfframpError: the server ended the stream or did not answer in time.
        """
        update = v1.MasterArbitrationUpdate(device_id=device_id)
        update.election_id.high, update.election_id.low = election_id >> 64, election_id & (2**64 - 1)
        if role:
            update.role.name = role
        if role_config is not None:
            update.role.config.Pack(role_config)
        with self._changed:
            self._arbitration = None
            self.send(arbitration=update)
            self._await(lambda: self._arbitration is not None, timeout_s)
            if self._arbitration is None:
                raise self._failure or OfframpError(
                    f"switch {self._name}: no answer to the arbitration within {timeout_s:g} s"
                )
            return self._arbitration

    def status(self) -> tuple[Code, int]:
        """Code and highest election id of the last arbitration notice (OK: this client is primary)."""
        with self._changed:
            update = self._arbitration or v1.MasterArbitrationUpdate(status=rpc.Status(code=Code.UNAVAILABLE))
        return code_of(update.status.code), update.election_id.high << 64 | update.election_id.low

    def next(self, kind: str, timeout_s: float) -> Any | None:
        """The next message of a kind (field of StreamMessageResponse), or None after ``timeout_s``.

        Raises:
            OfframpError: the stream is gone and nothing of this kind is left.
        """
        inbox = self._inbox[kind]
        with self._changed:
            self._await(lambda: bool(inbox), timeout_s)
            if inbox:
                return inbox.popleft()
            if self._failure is not None:
                raise self._failure
            return None

    def close(self) -> None:
        """End the stream; the server sees the client leave."""
        self._requests.put(None)
        self._stream.cancel()
        self._thread.join(timeout=5)

    def _await(self, condition: Any, timeout_s: float) -> None:
        self._changed.wait_for(lambda: condition() or self._failure is not None, timeout_s)

    def _outgoing(self) -> Iterator[Any]:
        while (request := self._requests.get()) is not None:
            yield request

    def _receive(self) -> None:
        failure = OfframpError(f"switch {self._name}: the stream ended")
        try:
            for response in self._stream:
                kind = response.WhichOneof("update")
                with self._changed:
                    if kind == "arbitration":
                        self._arbitration = response.arbitration
                    elif kind in self._inbox:
                        self._inbox[kind].append(getattr(response, kind))
                    self._changed.notify_all()
        except RpcError as error:
            failure = OfframpError(f"switch {self._name} ended the stream: {error}")
        with self._changed:
            self._failure = failure
            self._changed.notify_all()
