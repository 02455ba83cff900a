"""A client's connection to the agent's control socket."""

from __future__ import annotations

import array
import contextlib
import json
import socket
from pathlib import Path
from typing import Any, Final

from offramp.errors import OfframpError
from offramp.nic import wire
from offramp.sealed_memory import SharedMemory

ANSWER_S: Final = 10.0


class Connection:
    """What can be asked of the agent.

    Attributes:
        cores, ports: that it has.
        functions: names of what it can do.

    Raises:
        OfframpError: nobody listens at ``path``, no permission, another version; later: what the agent complained of.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(ANSWER_S)
        self._regions = 0
        try:
            self._socket.connect(self.path)
        except OSError as error:
            self._socket.close()
            raise OfframpError(f"agent {self.path}: {error.strerror}; is `offramp nic run` running?") from None
        try:
            body = self.ask(wire.Kind.HELLO, wire.HELLO.pack(wire.VERSION))[0]
        except OfframpError:
            self._socket.close()
            raise
        _, self.cores, _, self.ports = wire.HELLO_REPLY.unpack_from(body)
        self.functions = body[wire.HELLO_REPLY.size :].decode().split("\n")

    def ask(self, kind: int, body: bytes = b"", fd: int | None = None) -> tuple[bytes, int | None]:
        """The agent's answer and a descriptor that came with it.

        Raises:
            OfframpError: what it complained of, after which it has cut this connection off; or it is gone.
        """
        rights = [] if fd is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
        try:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # why, it has said before it hung up
                self._socket.sendmsg([wire.HEADER.pack(wire.MAGIC, kind, len(body)), body], rights)
            header, got = self._receive(wire.HEADER.size)
            _, found, length = wire.HEADER.unpack(header)
            answer = self._receive(length)[0] if length else b""
        except OSError as error:
            raise OfframpError(f"agent {self.path}: {error.strerror or error}") from None
        if found == wire.ERROR:
            raise OfframpError(f"agent {self.path}: {answer.decode(errors='replace')}")
        if found != wire.REPLY | kind:
            raise OfframpError(f"agent {self.path}: answered {found:#x} to message {kind}")
        return answer, got

    def share(self, memory: SharedMemory) -> int:
        """Have the agent map ``memory``; the number of the region."""
        answer, _ = self.ask(wire.Kind.MAP, wire.MAP.pack(memory.size), memory.fd)
        return int(wire.NUMBER.unpack(answer)[0])

    def queue(self, region: int, offset: int, entries: int) -> tuple[int, socket.socket]:
        """Have the agent serve rings there; the number of the queue, and its bell."""
        answer, fd = self.ask(wire.Kind.QUEUE, wire.QUEUE.pack(region, entries, offset))
        if fd is None:
            raise OfframpError(f"agent {self.path}: gave no bell for a queue")
        bell = socket.socket(fileno=fd)
        bell.setblocking(False)
        return int(wire.NUMBER.unpack(answer)[0]), bell

    def stats(self) -> dict[str, Any]:
        """What the agent counts."""
        found: dict[str, Any] = json.loads(self.ask(wire.Kind.STATS)[0])
        return found

    def close(self) -> None:
        """Leave: the agent forgets everything of this client."""
        self._socket.close()

    def _receive(self, length: int) -> tuple[bytes, int | None]:
        parts, got = b"", None
        while len(parts) < length:
            data, rights, _, _ = self._socket.recvmsg(length - len(parts), socket.CMSG_SPACE(4))
            for level, kind, content in rights:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    got = array.array("i", content[:4])[0]
            if not data:
                raise ConnectionError("the agent closed the connection")
            parts += data
        return parts, got
