# SPDX-License-Identifier: Apache-2.0
"""Connection set-up: the requester sends a greeting, the responder answers, and a link is up."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from offramp.leo.transports.greeting import VERSION, RequesterHello, parse_hello
from offramp.leo.transports.link import PROTOCOL, TRANSPORTS, Fields, Guest, Link, RequesterGreeting
from offramp_base import listening
from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError
from offramp_base.listening import Access, ConnectionLimits, Token, parse_address

_LIMITS: Final = ConnectionLimits(pending=64, descriptors=1, accepts=2)
"""Limits for peers that have not greeted, so that one look at them does not delay connected requesters."""


def connect(address: str, transport: str, hello: dict[str, Any], token: Token | None = None) -> tuple[Link, Fields]:
    """A link to the responder at ``address``, and its answer to ``hello`` (:mod:`offramp.leo.transports.greeting`).

    Raises:
        OfframpError: the transport or address is unknown, the address does not support the transport, or the responder
            refuses.
        LinkDown: no responder is there.
    """
    content = {**hello, "leo": VERSION, "transport": transport}
    return TRANSPORTS.get(transport).connect(RequesterGreeting(parse_address(address), token, content))


class RequesterListener:
    """Listens for requesters; without an address, at a Unix socket in a private folder.

    Attributes:
        address: address at which it is reached.
        refused: greetings that were refused, by reason.
    """

    def __init__(self, address: str | None = None, access: Access | None = None) -> None:
        """Listen.

        Raises:
            OfframpError: the address is not available, or must not be served without a token.
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
        """Number of connections that have not been answered."""
        return self._listener.pending + len(self._waiting)

    def accept(self, admit: Callable[[RequesterHello], dict[str, Any]]) -> tuple[Link, RequesterHello] | None:
        """The link and greeting of the next requester that ``admit`` answers; None if there is none now.

        It never waits, and accepts one requester at a time. ``admit`` raises OfframpError to refuse; the requester gets
        the message.
        """
        self._waiting.extend(self._listener.poll())
        if not self._waiting:
            return None
        greeting = self._waiting.popleft()
        try:
            hello = parse_hello(greeting.content)
            answer = {"pid": os.getpid(), **admit(hello)}
            guest = Guest(greeting, hello, answer, self._local, self._access.insecure)
            return TRANSPORTS.get(hello.transport).accept(guest), hello
        except OfframpError as error:
            greeting.refuse(str(error))
        except MemoryError:
            greeting.refuse("the responder has no memory for it")
        except OSError:
            self.refused["gone before its greeting was answered"] += 1
        return None

    def close(self) -> None:
        """Accept no more requesters."""
        for greeting in self._waiting:
            greeting.refuse("the responder ends")
        self._waiting.clear()
        self._listener.close()
        self._clean()

    def _clean(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()
