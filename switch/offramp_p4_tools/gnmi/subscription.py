# SPDX-License-Identifier: Apache-2.0
"""The server's end of one Subscribe (gNMI specification, section 3.5).

What a client is sent is read when gRPC has room for it, and never queued: one that reads slowly gets fewer samples,
and of values that changed twice in between the last.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any, Final

from offramp_base.gnmi.schema import gnmi
from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.ports.panel import FrontPanel
from offramp_p4_tools.gnmi.requests import check_extensions, models_of
from offramp_p4_tools.gnmi.selection import Selected, TreeView, pattern
from offramp_p4_tools.gnmi.tree import NotificationContext
from offramp_p4_tools.gnmi.values import check_encoding
from offramp_p4_tools.gnmi.watches import NS, WatchedLeaves, watches

MOST_SUBSCRIPTIONS: Final = 1024
"""Paths of one call."""
MOST_RATE: Final = 20_000
"""Values that one call may have read per second."""
MOST_POLLS: Final = 64
"""Polls that have not been answered yet."""
_LIST: Final = gnmi.SubscriptionList
_SYNC: Final = gnmi.SubscribeResponse(sync_response=True)
_LONGEST_WAIT_S: Final = 3600.0


class GnmiSubscription:
    """One Subscribe.

    Args:
        request: the first message.

    Raises:
        RpcError: the call must end with this status.
    """

    def __init__(self, panel: FrontPanel, request: Any) -> None:
        check_extensions(request)
        if request.WhichOneof("request") != "subscribe":
            raise _invalid("the first message of Subscribe has no subscription list")
        wanted = request.subscribe
        _check(wanted)
        self._panel = panel
        self._mode, self._updates_only = wanted.mode, wanted.updates_only
        self._reply = NotificationContext(panel, wanted.prefix, wanted.encoding)
        self._changed = threading.Condition()
        self._event = self._ended = self._exhausted = False
        self._polls = 0
        self._error: RpcError | None = None
        self._watches: list[WatchedLeaves] = []
        selector, now_ns = TreeView(panel.ports, models_of(wanted.use_models)), time.monotonic_ns()
        self._selected: list[Selected] = []
        for subscription in wanted.subscription:
            selected = selector.select(pattern(wanted.prefix, subscription.path))
            self._reply.count(len(selected))
            self._selected += selected
            if self._mode == _LIST.STREAM:
                self._watches += watches(subscription, selected, now_ns)
        rate = sum(watch.rate for watch in self._watches)
        if rate > MOST_RATE:
            message = f"{rate:.0f} values per second; expected at most {MOST_RATE}, by longer intervals"
            raise RpcError(Code.RESOURCE_EXHAUSTED, message)

    def receive(self, request: Any) -> None:
        """Handle a further message: a poll.

        Raises:
            RpcError: the call must end with this status.
        """
        check_extensions(request)
        if request.WhichOneof("request") != "poll":
            raise _invalid("expected polls after the subscription list; another list needs a call of its own")
        if self._mode != _LIST.POLL:
            raise _invalid("a poll of a subscription that is not of mode POLL")
        with self._changed:
            self._polls += 1
            if self._polls > MOST_POLLS:
                raise RpcError(Code.RESOURCE_EXHAUSTED, f"more than {MOST_POLLS} polls wait for their answers")
            self._changed.notify()

    def exhausted(self) -> None:
        """The client has closed its side: it polls no more, but still receives the updates of a STREAM."""
        with self._changed:
            self._exhausted = True
            self._changed.notify()

    def finish(self, error: RpcError | None = None) -> None:
        """End the iteration: the client has gone, or has made a mistake."""
        with self._changed:
            self._ended = True
            self._error = self._error or error
            self._changed.notify()

    def __iter__(self) -> Iterator[Any]:
        """The responses, until a ONCE is done or the call ends; waits for further ones."""
        if self._mode != _LIST.STREAM:
            yield from self._all()
            while self._mode == _LIST.POLL and self._wait_for_poll():
                yield from self._all()
            return
        self._panel.watch(self._port_changed)
        try:
            yield from self._stream()
        finally:
            self._panel.unwatch(self._port_changed)

    def _all(self) -> Iterator[Any]:
        """All values, once."""
        if not self._updates_only:
            yield from map(_response, self._reply.notifications(self._reply.known(self._selected)))
        yield _SYNC

    def _stream(self) -> Iterator[Any]:
        for watch in self._watches:
            known = watch.begin(self._reply)
            if self._updates_only:
                list(known)  # remembered, not told
            else:
                yield from map(_response, self._reply.notifications(known))
        yield _SYNC
        while (event := self._wait_until_due()) is not None:
            now_ns = time.monotonic_ns()
            for watch in self._watches:
                yield from map(_response, self._reply.notifications(watch.due(self._reply, now_ns, event=event)))

    def _wait_until_due(self) -> bool | None:
        """Wait for a port to change (True) or for the next time of a watch (False); None: the call ends."""
        with self._changed:
            while not self._over():
                next_ns = min((watch.next_ns for watch in self._watches), default=None)
                left_s = _LONGEST_WAIT_S if next_ns is None else (next_ns - time.monotonic_ns()) / NS
                if self._event or left_s <= 0:
                    event, self._event = self._event, False
                    return event
                self._changed.wait(min(left_s, _LONGEST_WAIT_S))
        return None

    def _wait_for_poll(self) -> bool:
        """Wait for a poll; False: the call ends, or there will be none."""
        with self._changed:
            while not self._over():
                if self._polls:
                    self._polls -= 1
                    return True
                if self._exhausted:
                    return False
                self._changed.wait()
        return False

    def _over(self) -> bool:
        if self._error is not None:
            raise self._error
        return self._ended

    def _port_changed(self) -> None:
        with self._changed:
            self._event = True
            self._changed.notify()


def _check(wanted: Any) -> None:
    """Check that this server supports all that a SubscriptionList asks for.

    Raises:
        RpcError: it does not.
    """
    if wanted.mode not in _LIST.Mode.values():
        raise _invalid(f"subscription list mode {wanted.mode} is unknown")
    if not wanted.subscription:
        raise _invalid("the subscription list is empty")
    if len(wanted.subscription) > MOST_SUBSCRIPTIONS:
        count = len(wanted.subscription)
        raise RpcError(Code.RESOURCE_EXHAUSTED, f"{count} subscriptions in one call; at most {MOST_SUBSCRIPTIONS}")
    if wanted.use_aliases:
        raise RpcError(Code.UNIMPLEMENTED, "aliases are not supported")
    if wanted.qos.marking:
        raise RpcError(Code.UNIMPLEMENTED, "marking of packets (qos) is not supported")
    check_encoding(wanted.encoding)


def _response(notification: Any) -> Any:
    return gnmi.SubscribeResponse(update=notification)


def _invalid(message: str) -> RpcError:
    return RpcError(Code.INVALID_ARGUMENT, message)
