# SPDX-License-Identifier: Apache-2.0
"""A client's connection to the agent's control socket."""

from __future__ import annotations

import array
import contextlib
import os
import socket
import struct
from pathlib import Path
from typing import Any, Final

from offramp.nic import wire
from offramp_base.errors import OfframpError
from offramp_base.listening.objects import parse_object
from offramp_base.sealed_memory import SharedMemory
from offramp_base.unreachable import UnreachableError
from offramp_base.wire.structures import StructFormat

ANSWER_S: Final = 10.0
MOST_ANSWER: Final = 1 << 20
"""Largest answer in bytes."""


class AgentConnection:
    """A connection to the agent and the requests that it answers.

    Attributes:
        cores, ports: numbers of its cores and ports.
        functions: names of its functions.

    Raises:
        OfframpError: nobody listens at ``path``, permission is denied, or the version differs; later: the agent's
            error.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        limit = struct.pack("@ll", int(ANSWER_S), 0)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)  # where others wait to be let in, too
        self._regions = 0
        try:
            self._socket.connect(self.path)
            self._socket.settimeout(ANSWER_S)
        except OSError as error:
            self._socket.close()
            raise UnreachableError(f"agent {self.path}: {error.strerror}; is `offramp nic run` running?") from None
        try:
            body = self.ask(wire.ControlMessageType.HELLO, wire.HELLO.pack(wire.VERSION))[0]
            _, self.cores, _, self.ports = self._unpack(wire.HELLO_REPLY, body[: wire.HELLO_REPLY.size])
        except OfframpError:
            self._socket.close()
            raise
        self.functions = body[wire.HELLO_REPLY.size :].decode(errors="replace").split("\n")

    def ask(self, kind: int, body: bytes = b"", fd: int | None = None) -> tuple[bytes, int | None]:
        """Send a request; returns the agent's answer and the descriptor that came with it, if any.

        Raises:
            OfframpError: the agent reported an error and closed this connection, or it is gone.
        """
        got = None
        rights = [] if fd is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
        try:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # why, it has said before it hung up
                self._socket.sendmsg([wire.HEADER.pack(wire.MAGIC, kind, len(body)), body], rights)
            header, got = self._receive(wire.HEADER.size)
            magic, reply_kind, length = wire.HEADER.unpack(header)
            if magic != wire.MAGIC or length > MOST_ANSWER:
                raise ConnectionError("the listener there is not an agent")
            answer = self._receive(length)[0] if length else b""
            if reply_kind == wire.ERROR:
                raise ConnectionError("".join(c if c.isprintable() else "?" for c in answer.decode(errors="replace")))
            if reply_kind != wire.REPLY | kind:
                raise ConnectionError(f"answered {reply_kind:#x} to message {kind}")
        except OSError as error:
            if got is not None:
                os.close(got)
            raise OfframpError(f"agent {self.path}: {error.strerror or error}") from None
        return answer, got

    def share(self, memory: SharedMemory) -> int:
        """Make the agent map ``memory``; returns the number of the region."""
        answer, _ = self.ask(wire.ControlMessageType.MAP, wire.MAP.pack(memory.size), memory.fd)
        return int(self._unpack(wire.NUMBER, answer)[0])

    def queue(self, region: int, offset: int, entries: int) -> tuple[int, socket.socket]:
        """Make the agent serve rings in a region; returns the number of the queue, and its bell."""
        answer, fd = self.ask(wire.ControlMessageType.QUEUE, wire.QUEUE.pack(region, entries, offset))
        if fd is None:
            raise OfframpError(f"agent {self.path}: gave no bell for a queue")
        try:
            bell = socket.socket(fileno=fd)
        except OSError:
            os.close(fd)
            raise OfframpError(f"agent {self.path}: gave a bell that is not a socket") from None
        bell.setblocking(False)
        return int(self._unpack(wire.NUMBER, answer)[0]), bell

    def stats(self) -> dict[str, Any]:
        """The agent's statistics."""
        return parse_object(self.ask(wire.ControlMessageType.STATS)[0], f"agent {self.path}: statistics")

    def close(self) -> None:
        """Disconnect; the agent forgets everything of this client."""
        self._socket.close()

    def _unpack(self, layout: StructFormat, answer: bytes) -> tuple[Any, ...]:
        if len(answer) != layout.size:
            raise OfframpError(f"agent {self.path}: an answer of {len(answer)} bytes, expected {layout.size}")
        return layout.unpack(answer)

    def _receive(self, length: int) -> tuple[bytes, int | None]:
        parts, got = b"", None
        while len(parts) < length:
            data, rights, _, _ = self._socket.recvmsg(length - len(parts), socket.CMSG_SPACE(4))
            for level, kind, content in rights:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    for fd in array.array("i", content[: len(content) // 4 * 4]):
                        if got is None:
                            got = fd
                        else:
                            os.close(fd)
            if not data:
                raise ConnectionError("the agent closed the connection")
            parts += data
        return parts, got
