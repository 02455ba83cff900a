# SPDX-License-Identifier: Apache-2.0
"""The gRPC channel below a BF-RT session."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

from offramp_base.bfrt.schema import SERVICE, UNARY, bf, rpc
from offramp_base.errors import OfframpError
from offramp_base.p4rt.answers import details_of, one_line, reader
from offramp_base.p4rt.status import Code, RpcError, code_of

MAX_MESSAGE = 256 << 20
"""Bytes that are sent: a program for a chip among them."""

MAX_ANSWER = 64 << 20


class BfrtConnection:
    """A channel to ``host:port`` or ``unix:PATH``."""

    def __init__(self, address: str) -> None:
        import grpc

        self.name = address
        self._channel = grpc.insecure_channel(
            address,
            [
                ("grpc.max_receive_message_length", MAX_ANSWER),
                ("grpc.max_send_message_length", MAX_MESSAGE),
                ("grpc.enable_http_proxy", 0),
                ("grpc.use_local_subchannel_pool", 1),
            ],
        )
        self._unary = {
            method: self._channel.unary_unary(
                f"/{SERVICE}/{method}",
                request_serializer=request.SerializeToString,
                response_deserializer=reader(response),
            )
            for method, (request, response) in UNARY.items()
        }
        self._read = self._channel.unary_stream(
            f"/{SERVICE}/Read",
            request_serializer=bf.ReadRequest.SerializeToString,
            response_deserializer=reader(bf.ReadResponse),
        )
        self._stream = self._channel.stream_stream(
            f"/{SERVICE}/StreamChannel",
            request_serializer=bf.StreamMessageRequest.SerializeToString,
            response_deserializer=reader(bf.StreamMessageResponse),
        )
        self._outgoing: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._answers: Any = None

    def unary(self, method: str, request: Any, timeout_s: float) -> Any:
        """Call one of :data:`offramp_base.bfrt.schema.UNARY`.

        Raises:
            RpcError: the call failed.
        """
        import grpc

        try:
            return self._unary[method](request, timeout=timeout_s)
        except grpc.RpcError as error:
            raise _translate(error) from None

    def read(self, request: Any, timeout_s: float) -> Iterator[Any]:
        """Entities that are read.

        Raises:
            RpcError: the call failed.
        """
        import grpc

        try:
            for response in self._read(request, timeout=timeout_s):
                yield from response.entities
        except grpc.RpcError as error:
            raise _translate(error) from None

    def subscribe(self, client_id: int, device_id: int, timeout_s: float) -> None:
        """Announce the client; the stream stays open until :meth:`close`.

        Raises:
            OfframpError: the device refuses the client, or does not answer.
        """
        import grpc

        subscription = bf.Subscribe(device_id=device_id, notifications=bf.Subscribe.Notifications())
        self._outgoing.put(bf.StreamMessageRequest(client_id=client_id, subscribe=subscription))
        # Kept: gRPC ends a stream that nobody refers to, and the device then forgets the client.
        answers = self._answers = self._stream(iter(self._outgoing.get, None), timeout=None)
        late = threading.Timer(timeout_s, answers.cancel)
        late.daemon = True
        try:
            grpc.channel_ready_future(self._channel).result(timeout_s)
            late.start()
            answer = next(answers, None)
        except grpc.FutureTimeoutError:
            raise OfframpError(f"switch {self.name}: does not answer within {timeout_s:g} s") from None
        except grpc.RpcError as error:
            if answers.cancelled():
                raise OfframpError(f"switch {self.name}: does not answer within {timeout_s:g} s") from None
            raise _translate(error) from None
        finally:
            late.cancel()
        if answer is None or not answer.HasField("subscribe"):
            raise OfframpError(f"switch {self.name}: client {client_id}: no answer to its subscription")
        if answer.subscribe.status.code != Code.OK:
            reason = one_line(answer.subscribe.status.message)
            raise OfframpError(f"switch {self.name}: client {client_id}: {reason}")

    def close(self) -> None:
        """Release the channel; the device forgets the client."""
        self._outgoing.put(None)
        self._channel.close()


def _translate(error: Any) -> RpcError:
    """A gRPC error as ours; the device's words on each update of a batch follow its own."""
    parts = [error.details() or ""]
    for number, one in enumerate(details_of(error, rpc.Status, bf.Error)):
        if one.canonical_code != Code.OK:
            parts.append(f"update {number}: {code_of(one.canonical_code).name}: {one.message}")
    return RpcError(code_of(error.code().value[0]), one_line("; ".join(filter(None, parts))))
