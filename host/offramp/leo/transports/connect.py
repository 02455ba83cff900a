"""Connections: the requester says who it is and what it needs, the responder answers, and a link is up."""

from __future__ import annotations

import contextlib
import select
import socket
from collections.abc import Callable
from typing import Any, Final

from offramp.errors import OfframpError
from offramp.leo.transports import shared
from offramp.leo.transports.link import TRANSPORTS, Control, Link, LinkDown
from offramp.leo.transports.tcp import TcpLink

VERSION: Final = 1


def _family(address: str) -> tuple[socket.AddressFamily, Any]:
    if address.startswith("unix:"):
        return socket.AF_UNIX, address.removeprefix("unix:")
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 0xFFFF:
        raise OfframpError(f"address {address}: expected HOST:PORT or unix:PATH")
    return socket.AF_INET, (host, int(port))


def connect(address: str, transport: str, hello: dict[str, Any]) -> tuple[Link, dict[str, Any]]:
    """A link to the responder at ``address``, and its answer to ``hello``, which has ``ring_bytes``.

    Raises:
        OfframpError: no such transport or address, or the responder refuses.
        LinkDown: nobody is there.
    """
    if transport not in TRANSPORTS:
        raise OfframpError(f"transport {transport}: expected {', '.join(TRANSPORTS)}")
    family, where = _family(address)
    sock = socket.socket(family, socket.SOCK_STREAM)
    control = Control(sock)
    link: Link | None = None
    try:
        try:
            sock.connect(where)
        except OSError as error:
            raise LinkDown(f"{address}: {error.strerror or error}") from None
        size = int(hello["ring_bytes"])
        content = {**hello, "leo": VERSION, "transport": transport}
        if transport == "shm":
            offered, link = shared.offer(control, size)
            content |= offered
        elif transport == "ucx":
            from offramp.leo.transports.ucx import UcxLink

            made = UcxLink(control, size)
            link, content = made, content | made.offer()
        control.send(content)
        answer = _accepted(control.receive())
        if transport == "tcp":
            link = TcpLink(control, size)
        elif transport == "ucx":
            made.attach(answer)
        assert link is not None
    except BaseException:
        if link is not None:
            link.close()
        control.close()
        raise
    return link, answer


def _accepted(answer: dict[str, Any]) -> dict[str, Any]:
    if "error" in answer:
        raise OfframpError(str(answer["error"]))
    return answer


def _check(hello: dict[str, Any]) -> None:
    if hello.get("leo") != VERSION or hello.get("transport") not in TRANSPORTS:
        raise OfframpError(f"requester speaks version {hello.get('leo')}: expected {VERSION}")


class Listener:
    """Where a responder waits for requesters.

    Attributes:
        address: what it is reached at.
    """

    def __init__(self, address: str = "127.0.0.1:0") -> None:
        """Wait at an address; port 0 takes a free one.

        Raises:
            OfframpError: it cannot be had.
        """
        family, where = _family(address)
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        try:
            if family == socket.AF_INET:
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind(where)
            self._socket.listen(64)
        except OSError as error:
            self._socket.close()
            raise OfframpError(f"address {address}: {error.strerror}") from None
        name = self._socket.getsockname()
        self.address = address if family == socket.AF_UNIX else f"{name[0]}:{name[1]}"

    def accept(self, admit: Callable[[dict[str, Any]], dict[str, Any]]) -> tuple[Link, dict[str, Any]] | None:
        """The link and greeting of the next requester that waits and that ``admit`` answers; None if there is none.

        ``admit`` raises OfframpError to refuse; the requester sees its line.
        """
        if not select.select([self._socket], [], [], 0)[0]:
            return None
        sock, _ = self._socket.accept()
        control = Control(sock)
        try:
            hello = control.receive()
            _check(hello)
            return self._open(control, hello, admit(hello)), hello
        except OfframpError as error:
            with contextlib.suppress(LinkDown):
                control.send({"error": str(error)})
            control.close()
        except LinkDown:
            control.close()
        return None

    @staticmethod
    def _open(control: Control, hello: dict[str, Any], answer: dict[str, Any]) -> Link:
        size = int(hello["ring_bytes"])
        if hello["transport"] == "shm":
            link: Link = shared.accept(control, hello, size)
        elif hello["transport"] == "ucx":
            from offramp.leo.transports.ucx import UcxLink

            made = UcxLink(control, size)
            answer = answer | made.offer()
            made.attach(hello)
            link = made
        else:
            control.send(answer)
            return TcpLink(control, size)
        control.send(answer)
        return link

    def close(self) -> None:
        """Take no more requesters."""
        self._socket.close()
