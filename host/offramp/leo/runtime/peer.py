# SPDX-License-Identifier: Apache-2.0
"""The responder at the other end of a link: its address, whether it is alive, and who restarts it."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Protocol, runtime_checkable

from offramp.leo.transports.link import Link
from offramp_base.listening import Token, parse_address


@runtime_checkable
class Revivable(Protocol):
    """A responder that its requester may restart (:class:`offramp.leo.runtime.process.ResponderProcess`)."""

    address: str
    token: Token | None

    def revive(self) -> bool:
        """Restart it, without waiting, if it has ended by itself; returns whether it is starting.

        Raises:
            OfframpError: it may not be restarted, or fails to start; says how it ended.
        """


class Peer:
    """A responder as its requester sees it.

    Attributes:
        address, token: how it is reached.
        pid: id of its process, as it reported; 0 if unknown.
        barred: whether it violated the protocol and is not contacted again.
        retry_at: time of the next attempt to connect, seconds of the monotonic clock.
    """

    def __init__(self, responder: str | Revivable, token: Token | None) -> None:
        self._process = None if isinstance(responder, str) else responder
        self.address = responder if isinstance(responder, str) else responder.address
        self.token = token if isinstance(responder, str) else responder.token
        self.pid = 0
        self.barred = False
        self.retry_at = 0.0
        self._lost_at: float | None = None
        self._silent_since: float | None = None
        self._heard = 0
        self._reason = ""

    def connected(self, pid: object) -> None:
        """Record that it answered a greeting."""
        self.pid = pid if type(pid) is int else 0
        self._lost_at = self._silent_since = None
        self._heard = 0

    def lost(self, reason: str, now: float, *, barred: bool) -> None:
        """Record that the link is down."""
        self._lost_at, self._reason, self.barred = now, reason, barred
        self.retry_at = now

    @property
    def revivable(self) -> bool:
        """Whether its process is known, which may be restarted."""
        return self._process is not None

    def revive(self) -> bool:
        """Have it restarted, if possible; returns whether it is starting, which does not count as absence.

        Raises:
            OfframpError: as :meth:`Revivable.revive`.
        """
        if self._process is None or self.barred or not self._process.revive():
            return False
        self.address = self._process.address
        self._lost_at = time.monotonic()
        return True

    def watch(self, link: Link, now: float, *, unanswered: bool) -> bool:
        """Check whether anything has arrived since the last call; returns whether a silence begins.

        ``unanswered``: requests have waited for long.
        """
        heard = link.received.position
        if heard != self._heard:
            self._heard, self._silent_since = heard, None
        elif unanswered and self._silent_since is None:
            self._silent_since = now
            return True
        return False

    def dead(self, now: float, lost_s: float, silent_s: float) -> bool:
        """Whether it has been away for ``lost_s`` without a restart, or has been silent for ``silent_s``."""
        if self._lost_at is not None:
            return self.barred or now - self._lost_at > lost_s
        return self._silent_since is not None and now - self._silent_since > silent_s

    def obituary(self, silence_s: float) -> str:
        """Description of its failure, in one line."""
        who = f"responder at {self.address}" + (f" (pid {self.pid})" if self.pid else "")
        if self._lost_at is not None:
            return f"{who} is gone: {self._reason}"
        return f"{who} {'is stopped and ' if self._stopped() else ''}has answered nothing for {silence_s:g} s"

    def _stopped(self) -> bool:
        """Whether its process is on this machine and stopped by a signal."""
        if not self.pid or not parse_address(self.address).local:
            return False
        with contextlib.suppress(OSError, IndexError):
            return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
        return False
