# SPDX-License-Identifier: Apache-2.0
"""The responder at the other end of a link: where it is, whether it lives, who starts it again."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Protocol, runtime_checkable

from offramp.leo.transports.link import Link
from offramp_base.listening import Token, parse_address


@runtime_checkable
class Revivable(Protocol):
    """A responder that its requester may start again (:class:`offramp.leo.runtime.process.ResponderProcess`)."""

    address: str
    token: Token | None

    def revive(self) -> bool:
        """Start it again where it has ended by itself; does not wait. Whether it is on its way up.

        Raises:
            OfframpError: it may not be started again, or does not come up; says how it ended.
        """


class Peer:
    """A responder.

    Attributes:
        address, token: how it is reached.
        pid: its process, as it said; 0 where unknown.
        barred: it broke the rules and is not spoken to again.
        retry_at: when it is to be connected again, seconds of the monotonic clock.
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
        """Note that the responder has answered a greeting."""
        self.pid = pid if type(pid) is int else 0
        self._lost_at = self._silent_since = None
        self._heard = 0

    def lost(self, reason: str, now: float, *, barred: bool) -> None:
        """The link is down."""
        self._lost_at, self._reason, self.barred = now, reason, barred
        self.retry_at = now

    def revive(self) -> bool:
        """Have the responder restarted, if possible; whether it is on its way up, which does not count as absence.

        Raises:
            OfframpError: as :meth:`Revivable.revive`.
        """
        if self._process is None or self.barred or not self._process.revive():
            return False
        self.address = self._process.address
        self._lost_at = time.monotonic()
        return True

    def watch(self, link: Link, now: float, *, unanswered: bool) -> None:
        """Look whether something has come since the last call; ``unanswered``: requests have waited for long."""
        heard = link.received.position
        if heard != self._heard:
            self._heard, self._silent_since = heard, None
        elif unanswered and self._silent_since is None:
            self._silent_since = now

    def dead(self, now: float, lost_s: float, silent_s: float) -> bool:
        """Whether it has been away for ``lost_s`` without being restarted, or silent for ``silent_s``."""
        if self._lost_at is not None:
            return self.barred or now - self._lost_at > lost_s
        return self._silent_since is not None and now - self._silent_since > silent_s

    def obituary(self, silence_s: float) -> str:
        """What is the matter with it, in one line."""
        who = f"responder at {self.address}" + (f" (pid {self.pid})" if self.pid else "")
        if self._lost_at is not None:
            return f"{who} is gone: {self._reason}"
        return f"{who} {'is stopped and ' if self._stopped() else ''}has answered nothing for {silence_s:g} s"

    def _stopped(self) -> bool:
        """Whether its process is on this machine and was stopped by a signal."""
        if not self.pid or not parse_address(self.address).local:
            return False
        with contextlib.suppress(OSError, IndexError):
            return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
        return False
