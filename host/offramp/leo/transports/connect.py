# SPDX-License-Identifier: Apache-2.0
"""Connections: the requester says who it is and what it needs, the responder answers, and a link is up."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from offramp.leo.transports.greeting import PROTOCOL, VERSION, Hello, parse_hello, parse_memory
from offramp.leo.transports.link import TRANSPORTS, Control, Link, LinkDown
from offramp.leo.transports.shared import SharedLink, memory_bytes
from offramp.leo.transports.tcp import TcpLink
from offramp_base import listening
from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError
from offramp_base.listening import Access, Limits, Token, parse_address
from offramp_base.sealed_memory import SharedMemory

_TIMEOUT_S: Final = 10.0
_LIMITS: Final = Limits(pending=64, descriptors=1, accepts=2)
"""Of peers that have not greeted: little enough that one look at them does not hold up who is served."""


def connect(
    address: str, transport: str, hello: dict[str, Any], token: Token | None = None
) -> tuple[Link, dict[str, Any]]:
    """A link to the responder at ``address``, and its answer to ``hello`` (:mod:`offramp.leo.transports.greeting`).

    Raises:
        OfframpError: no such transport or address, it cannot have this transport, or the responder refuses.
        LinkDown: nobody is there.
    """
    if transport not in TRANSPORTS:
        raise OfframpError(f"transport {transport}: expected {', '.join(TRANSPORTS)}")
    place = parse_address(address)
    content = {**hello, "leo": VERSION, "transport": transport}
    size = int(hello["ring_bytes"])
    if transport == "tcp":
        control, answer = _dial(place, token, content)
        return TcpLink(control, size, None), answer
    if transport == "ucx":
        return _connect_ucx(place, token, content, size)
    if not address.startswith("unix:"):
        raise OfframpError(f"transport shm at {address}: shared memory goes over a Unix socket, unix:PATH")
    memory = SharedMemory(memory_bytes(size), "offramp-leo")
    try:
        control, answer = _dial(place, token, content, memory.fd)
    except BaseException:
        memory.close()
        raise
    return SharedLink(control, memory, size, None, requester=True), answer


def _connect_ucx(
    place: listening.Address, token: Token | None, content: dict[str, Any], size: int
) -> tuple[Link, dict[str, Any]]:
    from offramp.leo.transports.ucx import UcxLink

    link = UcxLink(size, None, local=place.local)
    try:
        link.control, answer = _dial(place, token, content | {"ucx": link.offer()})
        try:
            link.attach(parse_memory(answer.get("ucx")))
        except ValueError as error:
            raise OfframpError(f"responder at {place}: its answer's field ucx: expected {error}") from None
    except BaseException:
        link.close()
        raise
    return link, answer


def _dial(
    place: listening.Address, token: Token | None, content: dict[str, Any], *descriptors: int
) -> tuple[Control, dict[str, Any]]:
    try:
        sock, answer = listening.connect(place, token, PROTOCOL, content, timeout_s=_TIMEOUT_S, descriptors=descriptors)
    except OSError as error:
        raise LinkDown(f"{place}: {error.strerror or error}") from None
    return Control(sock), answer


class Listener:
    """Where a responder waits for requesters; without an address at a Unix socket in a folder of its own.

    Attributes:
        address: what it is reached at.
        refused: greetings that were refused, by reason.
    """

    def __init__(self, address: str | None = None, access: Access | None = None) -> None:
        """Listen.

        Raises:
            OfframpError: the address cannot be had, or must not be served without a token.
        """
        self._folder: TemporaryDirectory[str] | None = None
        self._access = access or Access()
        if address is None:
            self._folder = temporary_folder()
            address = f"unix:{Path(self._folder.name) / 'responder'}"
        try:
            self._listener = listening.Listener(address, self._access, PROTOCOL, _LIMITS)
        except BaseException:
            self._clean()
            raise
        self.address = self._listener.address
        self._local = parse_address(self.address).local
        self._waiting: deque[listening.Greeting] = deque()

    @property
    def refused(self) -> Counter[str]:
        """Greetings that were refused, by reason."""
        return self._listener.refused

    @property
    def pending(self) -> int:
        """Connections that have not been answered."""
        return self._listener.pending + len(self._waiting)

    def accept(self, admit: Callable[[Hello], dict[str, Any]]) -> tuple[Link, Hello] | None:
        """The link and greeting of the next requester that ``admit`` answers; None if there is none now.

        It never waits, and takes one requester at a time. ``admit`` raises OfframpError to refuse; the requester sees
        its line.
        """
        self._waiting.extend(self._listener.poll())
        if not self._waiting:
            return None
        greeting = self._waiting.popleft()
        try:
            hello = parse_hello(greeting.content)
            answer = {"pid": os.getpid(), **admit(hello)}
            return self._open(greeting, hello, answer), hello
        except OfframpError as error:
            greeting.refuse(str(error))
        except MemoryError:
            greeting.refuse("the responder has no memory for it")
        except OSError:
            self.refused["gone before its greeting was answered"] += 1
        return None

    def _open(self, greeting: listening.Greeting, hello: Hello, answer: dict[str, Any]) -> Link:
        if hello.transport == "tcp":
            return TcpLink(Control(greeting.accept(answer)), hello.ring_bytes, hello.longest)
        if hello.transport == "ucx":
            return self._open_ucx(greeting, hello, answer)
        if len(greeting.descriptors) != 1:
            raise OfframpError("transport shm: expected one descriptor with the greeting")
        memory = SharedMemory.attach(greeting.descriptors.pop(), memory_bytes(hello.ring_bytes), "the requester")
        try:
            control = Control(greeting.accept(answer))
        except BaseException:
            memory.close()
            raise
        return SharedLink(control, memory, hello.ring_bytes, hello.longest, requester=False)

    def _open_ucx(self, greeting: listening.Greeting, hello: Hello, answer: dict[str, Any]) -> Link:
        from offramp.leo.transports.ucx import UcxLink

        if not (self._local or self._access.insecure):
            raise OfframpError(
                "transport ucx: UCX itself proves nothing; a responder for other machines needs --insecure"
            )
        link = UcxLink(hello.ring_bytes, hello.longest, local=self._local)
        try:
            answer["ucx"] = link.offer()
            assert hello.ucx is not None
            link.attach(hello.ucx)
            link.control = Control(greeting.accept(answer))
        except BaseException:
            link.close()
            raise
        return link

    def close(self) -> None:
        """Take no more requesters."""
        for greeting in self._waiting:
            greeting.refuse("the responder ends")
        self._waiting.clear()
        self._listener.close()
        self._clean()

    def _clean(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()
