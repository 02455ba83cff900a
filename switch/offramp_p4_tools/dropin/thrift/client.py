# SPDX-License-Identifier: Apache-2.0
"""A client of bmv2's run-time services, ours or bmv2's."""

from __future__ import annotations

import socket
from typing import Any, Final, Self

from offramp_base.errors import OfframpError
from offramp_p4_tools.dropin.thrift.protocol import (
    CALL,
    EXCEPTION,
    ThriftError,
    ThriftMessage,
    ThriftReader,
    ThriftWriter,
)
from offramp_p4_tools.dropin.thrift.services import SERVICES, STRUCTS, RequestRefused, RequestUnsupported

TIMEOUT_S: Final = 30.0


class ThriftClient:
    """A connection; a context manager.

    Raises:
        OfframpError: there is no answer.
    """

    def __init__(self, host: str, port: int) -> None:
        self._where = f"{host}:{port}"
        try:
            self._socket = socket.create_connection((host, port), TIMEOUT_S)
        except OSError as error:
            raise OfframpError(f"{self._where}: no switch answers: {error.strerror or error}") from None
        self._sequence = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def call(self, service: str, name: str, **arguments: Any) -> Any:
        """The result of a method; its context is 0.

        Raises:
            RequestRefused: the switch refuses, with a code.
            RequestUnsupported: it cannot.
            OfframpError: the connection is lost.
        """
        method = SERVICES[service][name]
        if any(field == "cxt_id" for _, field, _ in method.arguments):
            arguments["cxt_id"] = 0
        self._sequence += 1
        writer = ThriftWriter(STRUCTS)
        writer.message(ThriftMessage(f"{service}:{name}", CALL, self._sequence))
        writer.fields(method.arguments, arguments)
        try:
            self._socket.sendall(writer.data)
            reader = ThriftReader(STRUCTS, self._take)
            head = reader.message()
        except OSError as error:
            raise OfframpError(f"{self._where}: {error.strerror or error}") from None
        if head.kind == EXCEPTION:
            fault = reader.fields(((1, "message", "string"), (2, "type", "i32")))
            raise RequestUnsupported(str(fault.get("message", "the switch cannot do this")))
        result = () if method.result == "void" else ((0, "success", method.result),)
        answer = reader.fields((*result, (1, "ouch", "Code")))
        if "ouch" in answer:
            raise RequestRefused(answer["ouch"].get("code", 0), f"{name}: refused")
        return answer.get("success")

    def _take(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self._socket.recv(size - len(data))
            if not part:
                raise ThriftError(f"{self._where}: the switch has closed the connection")
            data += part
        return data
