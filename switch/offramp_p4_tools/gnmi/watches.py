# SPDX-License-Identifier: Apache-2.0
"""The watches of a STREAM, and when each has something to report (gNMI specification, section 3.5.1.5.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from offramp_base.gnmi.schema import gnmi
from offramp_base.p4rt.status import Code, RpcError
from offramp_p4_tools.gnmi.model import InterfaceLeaf, Scalar
from offramp_p4_tools.gnmi.selection import Selected
from offramp_p4_tools.gnmi.tree import NotificationContext
from offramp_p4_tools.gnmi.values import Known

NS: Final = 1_000_000_000
LEAST_NS: Final = NS // 10
"""Shortest interval between samples."""
FASTEST_RATE: Final = 2_000
"""Values per second of a path whose client wants samples as often as the switch can."""
OWN_NS: Final = 10 * NS
"""Nanoseconds between samples of counters where the switch chooses the mode."""
LOOK_NS: Final = NS
"""Nanoseconds between looks at counters whose changes are reported; event-driven values are reported at once."""
_MOST_NS: Final = 1 << 60
_TARGET_DEFINED, _ON_CHANGE, _SAMPLE = 0, 1, 2


class WatchedLeaves:
    """Leaves that are sampled, or told when they change.

    Args:
        interval_ns: interval between samples; None: changes are told.
        heartbeat_ns: period of updates even of unchanged values; None: none are sent.
        suppress: tell only those samples that have changed.
        now_ns: when it begins.
    """

    def __init__(
        self,
        selected: Sequence[Selected],
        interval_ns: int | None,
        heartbeat_ns: int | None,
        now_ns: int,
        *,
        suppress: bool = False,
    ) -> None:
        self.selected = selected
        self._sampled, self._heartbeat_ns = interval_ns is not None, heartbeat_ns
        self._only_changes = suppress or interval_ns is None
        looks = any(each.leaf.counts for each in selected)
        self._interval_ns = interval_ns if interval_ns is not None else LOOK_NS if looks else None
        self._next_ns = _MOST_NS if self._interval_ns is None else now_ns + self._interval_ns
        self._next_beat_ns = _MOST_NS if heartbeat_ns is None else now_ns + heartbeat_ns
        self._last_sent: dict[tuple[int, InterfaceLeaf], Scalar] = {}

    @property
    def rate(self) -> float:
        """Values that it reads per second."""
        least = min(self._interval_ns or _MOST_NS, self._heartbeat_ns or _MOST_NS)
        return len(self.selected) * NS / least

    @property
    def next_ns(self) -> int:
        """Time at which it has something to do even if nothing changes."""
        return min(self._next_ns, self._next_beat_ns)

    def begin(self, reply: NotificationContext) -> Iterator[Known]:
        """All values there are now."""
        return self._changes(reply, everything=True)

    def due(self, reply: NotificationContext, now_ns: int, *, event: bool) -> Iterator[Known]:
        """Values that are to be sent now; ``event``: a port has changed."""
        beat = now_ns >= self._next_beat_ns
        sample = now_ns >= self._next_ns
        if beat and self._heartbeat_ns is not None:
            self._next_beat_ns = _after(self._next_beat_ns, self._heartbeat_ns, now_ns)
        if sample and self._interval_ns is not None:
            self._next_ns = _after(self._next_ns, self._interval_ns, now_ns)
        if beat or sample or (event and not self._sampled):
            yield from self._changes(reply, everything=beat or (sample and not self._only_changes))

    def _changes(self, reply: NotificationContext, *, everything: bool) -> Iterator[Known]:
        for port, leaf, value in reply.known(self.selected):
            key = port, leaf
            if everything or self._last_sent.get(key) != value:
                self._last_sent[key] = value
                yield port, leaf, value


def _after(at_ns: int, interval_ns: int, now_ns: int) -> int:
    """The next time of a rhythm that is not past; what was missed is left out."""
    return at_ns + ((now_ns - at_ns) // interval_ns + 1) * interval_ns


def watches(subscription: Any, selected: Sequence[Selected], now_ns: int) -> Iterator[WatchedLeaves]:
    """The watches that one ``gnmi.Subscription`` of a STREAM asks for.

    Raises:
        RpcError: INVALID_ARGUMENT, an interval is too short, or is given where the switch chooses.
    """
    mode, interval = subscription.mode, subscription.sample_interval
    heartbeat = subscription.heartbeat_interval or None
    if mode not in gnmi.SubscriptionMode.values():
        raise _invalid(f"subscription mode {mode} is unknown")
    for name, value in (("sample_interval", interval), ("heartbeat_interval", heartbeat or 0)):
        if value and not LEAST_NS <= value < _MOST_NS:
            raise _invalid(f"{name} {value}: expected at least {LEAST_NS} ns")
    if mode == _TARGET_DEFINED and interval:
        raise _invalid("sample_interval is for SAMPLE; with TARGET_DEFINED the switch chooses it")
    if mode == _SAMPLE:
        suppress = subscription.suppress_redundant
        fastest_ns = max(LEAST_NS, len(selected) * NS // FASTEST_RATE)
        yield WatchedLeaves(selected, interval or fastest_ns, heartbeat, now_ns, suppress=suppress)
        return
    counters = [each for each in selected if each.leaf.counts and mode == _TARGET_DEFINED]
    others = [each for each in selected if not (each.leaf.counts and mode == _TARGET_DEFINED)]
    if others:
        yield WatchedLeaves(others, None, heartbeat, now_ns)
    if counters:
        yield WatchedLeaves(counters, OWN_NS, heartbeat, now_ns)


def _invalid(message: str) -> RpcError:
    return RpcError(Code.INVALID_ARGUMENT, message)
